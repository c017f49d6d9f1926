"""Steps that a playbook may include by name."""

"""Bundled playbooks; ``playbooks.bundled`` finds them by name."""

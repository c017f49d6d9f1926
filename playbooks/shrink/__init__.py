"""From a session that went wrong to the shortest playbook that still goes wrong in the same way."""

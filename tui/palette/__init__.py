"""What the command palette offers beside faults, keys and times."""

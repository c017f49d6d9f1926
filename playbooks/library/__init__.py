"""Bundled playbooks; ``playbooks.library.bundled`` finds them by name."""

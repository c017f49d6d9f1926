"""Root cause."""

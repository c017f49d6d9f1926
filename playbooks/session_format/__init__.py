"""Session format."""

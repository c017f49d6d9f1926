"""Model checking."""

"""Exhaustive exploration of small clusters: every order of events within bounds, on the protocol's own objects."""

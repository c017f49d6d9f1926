"""Fetch."""

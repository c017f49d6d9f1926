"""Modes."""

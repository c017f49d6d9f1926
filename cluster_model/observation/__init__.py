"""Observation."""

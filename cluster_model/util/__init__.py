"""Util."""

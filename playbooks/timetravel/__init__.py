"""Timetravel."""

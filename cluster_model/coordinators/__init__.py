"""Coordinators."""

"""Tests of the import of existing clusters."""

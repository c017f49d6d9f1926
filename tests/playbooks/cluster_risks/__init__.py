"""Tests of the risks of a placement."""

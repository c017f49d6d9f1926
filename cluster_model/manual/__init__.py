"""A cluster stepped by hand: the same protocol objects, with every message and every answer an act of its own."""

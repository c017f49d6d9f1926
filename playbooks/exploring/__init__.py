"""Explorations: their files, and what they find as playbooks that are stepped by hand."""

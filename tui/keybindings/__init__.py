"""Keybindings."""

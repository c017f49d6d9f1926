"""The user's settings of the TUI.

schema: options, allowed values and defaults; does not import the model.
settings_file: location, reading and changing of the settings file; the list of terms already explained.

Builds on ``tui.keybindings`` (keys can be remapped) and ``tui.terminal``.
"""

__all__ = [
    "schema",
    "settings_file",
]

"""The user's settings of the screen.

schema: what can be set, what each setting takes, and its default; needs nothing of the model.
settings_file: where the file is, reading it, changing single values, an example, and words that were explained.

Builds on ``tui.keybindings`` (keys can be remapped) and ``tui.terminal``.
"""

__all__ = [
    "schema",
    "settings_file",
]

"""The user's settings of the screen.

schema: what can be set, what each setting takes, and its default; needs nothing of the model.
settings_file: where the file is, and reading it with a line for each mistake.
settings_edit: changing single values in place, and the words that were explained before.

Builds on ``tui.keybindings`` (keys can be remapped) and ``tui.terminal``.
"""

__all__ = [
    "schema",
    "settings_edit",
    "settings_file",
]

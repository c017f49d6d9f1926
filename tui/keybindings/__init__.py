"""Tables of all keys of the TUI, from which bindings, key bars, help page and manual are made.

keymap: names of keys, the modes and their digits, the table of all keys of the main screen.
scopes: where keys work (modes, pages, sheets), the keys of each, and the user's own keys without conflicts.
sheet_keys: letters of the fault and operation sheets; apart because it loads the fault catalogue.

The package imports no screen: a mode names the class of its screen as text.
"""

__all__ = [
    "keymap",
    "scopes",
]

"""An example file of settings: everything is as it is without the file, commented out."""

from textwrap import wrap

from tui.keybindings.keymap import ALLOWED, GROUPS, KEYS, Key, in_file
from tui.keybindings.scopes import scopes
from tui.settings.schema import KEYS as KEY_TABLE
from tui.settings.schema import OPTIONS, SCREEN, quoted, written

HEAD = """# Settings of floodmark's screen. Every line is as it is without this file: take the # off to change one.
# A line that is wrong is told at the start, and the rest is in force.
"""


def example() -> str:
    """The whole file."""
    lines = [HEAD, f"[{SCREEN}]"]
    for each in OPTIONS:
        lines += ["", f"# {each.words} Takes {each.allowed}.", f"# {each.name} = {written(each.default)}"]
    lines += ["", f"[{KEY_TABLE}]", *[f"# {line}" for line in wrap(f"Each takes {ALLOWED}.", 110)]]
    lines.append(
        "# Escape, enter, tab and ctrl+c can be given to nothing else; escape stays the way out whatever is set."
    )
    for group, title in GROUPS.items():
        lines += ["", f"# {title}"]
        lines += [_line(key) for key in KEYS if key.group == group]
    for scope in scopes():
        lines += ["", f"# {scope.title}", *(_line(key) for key in scope.keys)]
    return "\n".join(lines) + "\n"


def _line(key: Key) -> str:
    return f"# {key.id} = {_keys(key.keys)}  # {key.words}"


def _keys(keys: str) -> str:
    names = [_quoted(in_file(each)) for each in keys.split(",")]
    return names[0] if len(names) == 1 else f"[{', '.join(names)}]"


def _quoted(text: str) -> str:
    return f"'{text}'" if text in ("\\", '"') else quoted(text)

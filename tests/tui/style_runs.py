"""A screen's colours as text that can be reviewed: for each line its runs of one style, by the names of their roles."""

from itertools import groupby

from tui.terminal.theme import ROLES, Appearance

OVERS = ("", "row", "cell")


def told(style):
    """A style in words: attributes, colour, and what is behind it."""
    attributes = [name for name in ("bold", "dim", "italic", "underline", "reverse") if getattr(style, name)]
    colour = "" if style.color is None or style.color.is_default else style.color.name
    context = "" if style.bgcolor is None or style.bgcolor.is_default else f"on {style.bgcolor.name}"
    return " ".join(each for each in (*attributes, colour, context) if each) or "plain"


def names(appearance):
    """What each style is called: the role that has it, of several the first by name; what no role has is told whole."""
    found = {}
    for over in OVERS:
        for role in sorted(ROLES):
            found.setdefault(told(appearance.style(role, over)), f"{role}/{over}" if over else role)
    return found


def lines(app):
    """The runs of every line of the screen: (style in words, text)."""
    for strip in app.screen._compositor.render_strips():
        pieces = [(told(segment.style), segment.text) for segment in strip if segment.style and segment.text]
        yield [(style, "".join(text for _, text in run)) for style, run in groupby(pieces, key=lambda each: each[0])]


def runs(app, appearance: Appearance):
    """The golden: which styles there are, then the runs of every line as their names and lengths."""
    called = names(appearance)
    every = [*lines(app)]
    used = dict.fromkeys(style for line in every for style, _text in line)
    legend = sorted(f"{called[style]}: {style}" for style in used if style in called)
    body = [
        f"{number:>2} " + " ".join(f"{called.get(style, f'({style})')}*{len(text)}" for style, text in line)
        for number, line in enumerate(every, 1)
    ]
    return "\n".join([*legend, "", *body])

"""The program on the terminal: one Textual app over one live or recorded session.

app: the app itself (frames, signals, export, explanation of words); its stylesheet is ``tui.tcss`` beside it.
program: one run of the program (what is opened after what).
screen_choice: how the screen is to be drawn, by options and settings.
startup: no garbage collection until the first picture, and modules that are read ahead of it.
launcher: from a playbook or a recording to the app, and from there to a sealed session; needs the whole model.
welcome: the page that is shown first; nothing of the model is loaded for it.
tour: the guide through the bundled playbook ``tour``.
palette: what the command palette offers.
gateway_session: the app over a session that real clients use (``floodmark serve --tui``).

The packages, lowest first:
terminal, keybindings, settings: glyphs, colours and formats; every key; the user's settings.
output: plain text on stdout and stderr.
viewmodel, session: pages as plain data; the session behind the screen.
widgets, screens: what is painted, and the screens made of it.
cli: the ``floodmark`` command line.

Of these only ``cli`` imports the modules of this package.
"""

__all__ = [
    "gateway_session",
    "program",
    "screen_choice",
]

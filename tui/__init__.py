"""Terminal user interface and command line of floodmark: one Textual app over one live or recorded session.

app: the app itself (frames, signals, export, hints on terms); its stylesheet is ``tui.tcss`` beside it.
program: one run of the program, with the sequence of destinations.
screen_choice: theme, glyphs and speed from options and settings.
startup: no garbage collection before the first paint, and modules imported ahead.
launcher: from a playbook or a recording to the app, and from there to a sealed session; needs the whole model.
welcome: the welcome page, which does not import the model.
tour: the guided tour through the bundled playbook ``tour``.
palette: entries of the command palette.
imported: the viewer of a session that was imported from the logs of a real cluster.
web_server: the server of the TUI in a browser (``floodmark web``); its page is ``web.html`` beside it.
gateway_session: the app over a session with real clients (``floodmark serve --tui``).

The packages, lowest first:
terminal, keybindings, settings: glyphs, colours and formats; every key; the user's settings.
output: plain text on stdout and stderr.
viewmodel, session: pages as plain data; the session behind the TUI.
widgets, screens: panes that are painted, and the screens made of them.
cli: the ``floodmark`` command line.

Of these only ``cli`` imports the modules of this package.
"""

__all__ = [
    "gateway_session",
    "program",
    "screen_choice",
    "web_server",
]

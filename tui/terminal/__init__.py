"""Terminal support for TUI and command line, independent of sessions.

glyphs: every character that is not plain text, with its ASCII replacement.
theme: all colours, by meaning.
terminal: the terminal's title, a driver that saves bytes, a stylesheet that caches its parse.
browser_driver: the driver of a terminal in a browser, for several apps in one process.
format: formatting of times, numbers, names and config values, and parsing of typed times.
frame_clock: real seconds for frames, the frame rate, the steps of speed.
self_command: the command line to start floodmark in a child process.

It imports no other package of ``tui``; only format needs playbooks and faults.
"""

__all__ = [
    "format",
    "frame_clock",
    "glyphs",
    "self_command",
    "terminal",
    "theme",
]

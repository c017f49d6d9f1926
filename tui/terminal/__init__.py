"""What both the screen and the command line need, and what knows nothing of a session.

glyphs: every character that is not plain text, with its ASCII stand-in.
theme: all colours, by what they mean.
terminal: what writes the terminal's title, a driver that saves bytes, a stylesheet that parses nothing twice.
format: how times, numbers, names and the values of configurations are written, and a typed time read.
frame_clock: real seconds for frames, the frame rate, the steps of speed.
self_command: how floodmark starts itself in a process of its own.

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

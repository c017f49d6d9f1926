"""Commands over one session.

recorded: ``replay``, ``recover``, ``peek``, ``groups``, ``export`` and ``import`` of recorded sessions.
live: ``floodmark live``, a session without a screen, printed line by line, with commands typed on stdin.
serve: ``floodmark serve``, a gateway for real clients with faults typed on stdin; ``--tui`` opens the screen
  over it.
"""

__all__ = [
    "live",
    "recorded",
    "serve",
]

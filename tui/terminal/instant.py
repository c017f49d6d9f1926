"""A time of the session as somebody types it."""

import re
from typing import Final

from playbooks.units import UnitError, duration_us
from tui.terminal.format import clock

ALLOWED: Final = "12.5s, 1m or 00:12.5"
_CLOCK: Final = re.compile(r"(?:([0-9]{1,5}):)?([0-9]{1,5}):([0-5][0-9])(?:\.([0-9]{1,6}))?", re.ASCII)


class InstantError(ValueError):
    """Not a time that can be gone to; the message says what is."""


def instant_us(text: str, first_us: int, last_us: int) -> int:
    """Microseconds of ``12.5s``, ``1m``, or ``00:12.5`` as the status line writes it.

    Raises:
        InstantError: that is no time, or the session was not there, or is not there yet.
    """
    allowed = f"allowed is a time from {clock(first_us)} to {clock(last_us)}, such as {ALLOWED}"
    written = _CLOCK.fullmatch(text)
    if written is not None:
        hours, minutes, seconds, rest = written.groups()
        whole = (int(hours or 0) * 60 + int(minutes)) * 60 + int(seconds)
        at_us = whole * 1_000_000 + int((rest or "0").ljust(6, "0"))
    else:
        try:
            at_us = duration_us(text)
        except UnitError as error:
            raise InstantError(f"found {text!r}, {allowed}") from error
    if not first_us <= at_us <= last_us:
        raise InstantError(f"{text} is not there{' yet' if at_us > last_us else ''}: {allowed}")
    return at_us

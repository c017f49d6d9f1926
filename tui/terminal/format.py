"""Formatting of times, numbers, names and config values at stable widths; parsing of typed times."""

import re
from typing import Final

from cluster_model.protocol.config_defs import INT_MAX, ConfigKey
from cluster_model.util.quantities import clock, compact_count, compact_duration
from faults.catalogue import CATALOGUE
from faults.declarations import NUMERIC, Param
from playbooks.model import value_text
from playbooks.units import UnitError, duration_us


def records(number: int, kind: str = "") -> str:
    """Return a number of records: ``1 record``, ``204 acked records``."""
    return f"{compact_count(number)} {f'{kind} ' if kind else ''}record{'' if number == 1 else 's'}"


def speed(value: float) -> str:
    """Return a speed factor without the sign ×: ``0.25``, ``1``, ``312``."""
    return f"{value:.0f}" if value >= 10 else f"{value:.2f}".rstrip("0").rstrip(".")


def parameters(fault: str, detail: str) -> str:
    """Return a fault's parameters as text: ``latency=200000 jitter=0`` becomes ``latency 200ms``.

    Parameters without effect (default or zero) are left out.
    """
    known = CATALOGUE.get(fault)
    texts = []
    for part in detail.split():
        name, _equals, value = part.partition("=")
        param = known.param(name) if known else None
        if param is None:
            texts.append(part)
        elif value != str(param.default) or (param.type == "duration" and value != "0"):
            texts.append(f"{param.name} {_written(param, value)}")
    return ", ".join(texts)


def _written(param: Param, value: str) -> str:
    if param.type == "duration":
        return compact_duration(int(value)).replace(".0s", "s")
    return value_text(param.type, int(value)) if param.type in NUMERIC else value


def wrap(text: str, width: int) -> list[str]:
    """Return ``text`` in lines of at most ``width`` characters, wrapped at spaces."""
    lines: list[str] = []
    for word in text.split():
        if lines and len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


# The allowed values of a Kafka config as text.


def allowed_values(key: ConfigKey) -> str:
    """Return the allowed values of a config as text."""
    if key.type == "bool":
        return "true or false"
    if key.type == "ratio":
        return "0 to 1"
    if key.type == "str":
        return key.form or " | ".join(key.choices)
    return f"{key.low} or more" if key.high >= INT_MAX else f"{key.low} to {key.high}"


# A typed time of the session.


ALLOWED: Final = "12.5s, 1m or 00:12.5"
_CLOCK: Final = re.compile(r"(?:([0-9]{1,5}):)?([0-9]{1,5}):([0-5][0-9])(?:\.([0-9]{1,6}))?", re.ASCII)


class InstantError(ValueError):
    """Invalid time; the message has what is allowed."""


def instant_us(text: str, first_us: int, last_us: int) -> int:
    """Return the microseconds of ``12.5s``, ``1m``, or ``00:12.5`` as in the status bar.

    Raises:
        InstantError: not a time, or outside of the session.
    """
    allowed = f"expected a time from {clock(first_us)} to {clock(last_us)}, such as {ALLOWED}"
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
        raise InstantError(f"{text} is {'after the present' if at_us > last_us else 'before the start'}: {allowed}")
    return at_us

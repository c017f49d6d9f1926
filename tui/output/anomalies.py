"""What clients could see of a session, for a terminal."""

from collections.abc import Sequence
from typing import Final

from rich.console import Console

from cluster_model.checker.anomalies.checker import Seen
from playbooks.engine.expectations import seconds
from playbooks.errors import counted
from tui.output.wrapping import say_wrapped

WHERE_SHOWN: Final = 3
"""Clients and partitions of an anomaly that are named."""


def print_anomalies(console: Console, anomalies: Sequence[Seen]) -> None:
    """What must not be line by line, and what may be in one."""
    for line in illegal_lines(anomalies):
        say_wrapped(console, f"anomaly  {line}", " " * 9, "red")
    legal = legal_words(anomalies)
    if legal:
        say_wrapped(console, f"seen     {legal}", " " * 9, "dim")


def illegal_lines(anomalies: Sequence[Seen]) -> list[str]:
    """Each that must not be, with an example: ``lost-write (8) of checkout at orders-0: ...``."""
    return [
        f"{each.name} ({each.found}){_where(each)} at {seconds(each.examples[0].at_us)}: {each.examples[0].words}"
        for each in anomalies
        if not each.legal
    ]


def _where(seen: Seen) -> str:
    named = [" at ".join(part for part in where if part) for where in seen.where if any(where)]
    rest = len(named) - WHERE_SHOWN
    more = [f"{rest} more"] if rest > 0 else []
    return f" of {', '.join([*named[:WHERE_SHOWN], *more])}" if named else ""


def legal_words(anomalies: Sequence[Seen]) -> str:
    """All that may be, in one line; empty for none."""
    told = [f"{each.name} {each.found} ({each.reason})" for each in anomalies if each.legal]
    return f"{counted(len(told), 'kind')} that may be: {', '.join(told)}" if told else ""

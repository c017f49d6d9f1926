"""What somebody wants done: a playbook step and a key press become the same plain value."""

from dataclasses import dataclass, field
from typing import Any, Literal

Verb = Literal["inject", "heal", "admin", "wire"]
Value = int | str | bool | tuple[Any, ...]
"""Tuples are lists of brokers or keys, placements, and configurations as (key, value) pairs."""


@dataclass(frozen=True, slots=True)
class Action:
    """A verb, what it names, the target selector as text, and parameters in model units (times in microseconds).

    ``inject`` names a fault of the catalogue; ``heal`` names a fault, a fault's number or ``all``; ``admin`` names an
    operation of the administrator (``elect_leaders``). ``for_us`` is how long a fault lasts, -1 until healed.
    """

    verb: Verb
    name: str
    target: str = ""
    params: dict[str, Value] = field(default_factory=dict)
    for_us: int = -1
    if_any: bool = False
    """Whether an injection that finds nobody to strike is skipped, and not refused."""

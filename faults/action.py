"""What somebody wants done: a playbook step and a key press become the same plain value."""

from dataclasses import dataclass, field
from typing import Literal

Verb = Literal["inject", "heal", "admin"]
Value = int | str | bool


@dataclass(frozen=True, slots=True)
class Action:
    """A verb, what it names, the target selector as text, and parameters in model units (times in microseconds).

    ``inject`` names a fault of the catalogue; ``heal`` names a fault, a fault's number or ``all``; ``admin`` names an
    administrative operation (``elect_leaders``). ``for_us`` is how long a fault lasts, -1 until healed.
    """

    verb: Verb
    name: str
    target: str = ""
    params: dict[str, Value] = field(default_factory=dict)
    for_us: int = -1

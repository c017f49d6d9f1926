"""What is known of one of Kafka's configurations: its type, its range, and who may change it when."""

from dataclasses import dataclass
from typing import Final, Literal

ConfigValue = int | str | bool
Dynamic = Literal["read-only", "per-broker", "cluster-wide"]
"""Whether a setting may change while the cluster runs, and for whom it is meant to (KIP-226)."""

LONG_MAX: Final = 2**63 - 1
INT_MAX: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """One configuration: its type, the range of an ``int``, the choices of a ``str``, and what it does.

    A ``str`` without choices takes what ``pattern`` matches; ``form`` says in words what that is.
    """

    name: str
    type: Literal["int", "bool", "str", "ratio"]
    """``ratio``: a number from 0 to 1 with at most six decimals, kept as its text."""
    doc: str
    low: int = 0
    high: int = INT_MAX
    choices: tuple[str, ...] = ()
    pattern: str = ""
    form: str = ""
    dynamic: Dynamic = "read-only"

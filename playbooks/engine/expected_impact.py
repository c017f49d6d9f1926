"""What is expected of a fault, a line for each kind of thing that it would hit."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from cluster_model.spec import INTERNAL
from faults.declarations import Expectation

DOWN: Final = "brokers down"
"""What the line of brokers that are lost is about."""

MOST: Final = 6
"""Names told one by one; the rest is counted."""


def expected_lines(expected: Expectation, most: int = MOST) -> list[tuple[str, str]]:
    """What is hit and its names, such as ``another leader`` and ``orders-0, orders-3``; nothing for what is not."""
    lines = [
        (DOWN, _named([f"broker {each}" for each in expected.down], most)),
        ("another leader", _partitions(expected.leaders_moved, most)),
        ("no leader", _partitions(expected.offline, most)),
        ("smaller ISR", _partitions(expected.shrunk, most)),
        ("under min ISR", _partitions(expected.under_min_isr, most)),
        ("clients hit", _named(expected.clients, most)),
        ("coordinators", _named([*[f"of {group}" for group in expected.groups], *_of(expected.transactional)], most)),
        ("control plane", _control(expected)),
    ]
    return [(label, text) for label, text in lines if text]


def expected_json(expected: Expectation) -> dict[str, Any]:
    """All of it as plain values."""
    return {
        "sentence": expected.sentence,
        "brokers_down": list(expected.down),
        "leaders_moved": list(expected.leaders_moved),
        "offline": list(expected.offline),
        "shrunk": list(expected.shrunk),
        "under_min_isr": list(expected.under_min_isr),
        "clients": list(expected.clients),
        "groups": list(expected.groups),
        "transactional": list(expected.transactional),
        "controller_moves": expected.controller_moves,
        "quorum_lost": expected.quorum_lost,
    }


def _of(transactional: Sequence[str]) -> list[str]:
    return [f"of the transactions of {name}" for name in transactional]


def _control(expected: Expectation) -> str:
    if expected.quorum_lost:
        return "no majority: nothing can be decided"
    return "another controller" if expected.controller_moves else ""


def _partitions(names: Sequence[str], most: int) -> str:
    """Kafka's own by their topic and number, for they are many and nobody knows them by heart."""
    own = [name for name in names if name.rpartition("-")[0] not in INTERNAL]
    internal = Counter(name.rpartition("-")[0] for name in names if name.rpartition("-")[0] in INTERNAL)
    return _named(
        [*own[:most], *_rest(own, most), *[f"{count} of {topic}" for topic, count in internal.items()]], 1 << 30
    )


def _rest(names: Sequence[str], most: int) -> list[str]:
    return [f"{len(names) - most} more"] if len(names) > most else []


def _named(names: Sequence[str], most: int) -> str:
    return ", ".join([*names[:most], *_rest(names, most)])

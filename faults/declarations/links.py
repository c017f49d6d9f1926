"""Which links a fault of the network is about: between its target and another side, one way or both."""

from collections.abc import Sequence
from typing import Final

from faults.declarations.fault import Aim, FaultError, Param, Stage

DIRECTION: Final = Param(
    "direction",
    "choice",
    "Which way is struck: out of the target, into it, or both.",
    default="both",
    choices=("both", "out", "in"),
)


def between(nodes: Sequence[int], others: Sequence[int], direction: str) -> tuple[tuple[int, int], ...]:
    """(source, target) of each link between the two sides, once each, in a stable order."""
    found: dict[tuple[int, int], None] = {}
    for node in nodes:
        for other in others:
            if other != node:
                if direction in ("both", "out"):
                    found[node, other] = None
                if direction in ("both", "in"):
                    found[other, node] = None
    return tuple(found)


def links_of(stage: Stage, aim: Aim, fault: str, *, others_only: bool = False) -> Aim:
    """The aim with its links, by its parameters ``to`` and ``direction``; without the latter, both ways.

    ``others_only``: without ``to``, links among the targets themselves are left alone.

    Raises:
        FaultError: there is no link between the two sides.
    """
    if aim.params["to"]:
        others = stage.targets(str(aim.params["to"]))
    else:
        others = stage.cluster.nodes()
        if others_only:
            others = tuple(other for other in others if other not in aim.nodes)
    found = between(aim.nodes, others, str(aim.params.get("direction", "both")))
    if not found:
        raise FaultError(f"{fault} needs two different ends, found only one")
    return Aim(aim.nodes, aim.params, found)

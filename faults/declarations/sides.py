"""A target with two sides, ``link(A, B)``: for a fault of links that stands for target A, and B on the other side."""

from dataclasses import replace

from faults.declarations.action import Action
from faults.declarations.fault import Fault, FaultError
from faults.declarations.target_language import LINK, SelectorError, parse

OTHER_SIDE = "to"
"""The parameter of faults of links that names the other side."""


def two_sided(fault: Fault, action: Action) -> Action:
    """The action with its two sides apart; the same one where its target has only one.

    Raises:
        FaultError: the fault is for nodes, or the other side is named twice.
    """
    try:
        selector = parse(action.target) if action.target else None
    except SelectorError as error:
        raise FaultError(f"target {action.target!r}: {error}") from None
    if selector is None or selector.kind != LINK:
        return action
    if fault.param(OTHER_SIDE) is None:
        raise FaultError(f"{fault.title} strikes nodes, not links: found {action.target!r}")
    if action.params.get(OTHER_SIDE):
        raise FaultError(f"{action.target!r} names both sides, so that {OTHER_SIDE} has nothing to say")
    one, other = map(str, selector.parts)
    return replace(action, target=one, params={**action.params, OTHER_SIDE: other})

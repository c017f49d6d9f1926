"""Declarations of faults and operations, their targets, and their predicted impact.

fault: `Fault`, its parameters and behaviour, and `Action`, which both a playbook step and a key press produce.
operation: every admin operation, with usual parameters for one partition.
parameters: validation of given parameters against the declaration, and defaults.
targets: the language of target selectors, such as `leader(orders-0)` or `random(2, isr(orders-0))`, the nodes that a
  selector resolves to in a live cluster, and the links that a network fault affects.
impact: predicted impact of losing nodes or links now: leaders, min.insync.replicas, quorums, clients.

The lowest package of `faults`: it builds on `cluster_model` only.
"""

from faults.declarations.fault import (
    ACCEPTS,
    FAMILIES,
    NUMERIC,
    SECOND,
    Action,
    Alias,
    ExpectedImpact,
    Fault,
    FaultError,
    NoTargetError,
    Param,
    Value,
    Verb,
)
from faults.declarations.operation import OPERATIONS, Operation, default_action
from faults.declarations.parameters import LISTS, with_tuples, written
from faults.declarations.targets import (
    DIFFERENCE,
    DRAWING_SELECTORS,
    INTERSECTION,
    LINK,
    OTHER_SIDE,
    PARTITION_SELECTORS,
    SELECTORS,
    UNION,
    NoMatchError,
    Selector,
    SelectorError,
    parse,
    resolve,
    selector_of,
)

__all__ = [
    "ACCEPTS",
    "DIFFERENCE",
    "DRAWING_SELECTORS",
    "FAMILIES",
    "INTERSECTION",
    "LINK",
    "LISTS",
    "NUMERIC",
    "OPERATIONS",
    "OTHER_SIDE",
    "PARTITION_SELECTORS",
    "SECOND",
    "SELECTORS",
    "UNION",
    "Action",
    "Alias",
    "ExpectedImpact",
    "Fault",
    "FaultError",
    "NoMatchError",
    "NoTargetError",
    "Operation",
    "Param",
    "Selector",
    "SelectorError",
    "Value",
    "Verb",
    "default_action",
    "parse",
    "resolve",
    "selector_of",
    "with_tuples",
    "written",
]

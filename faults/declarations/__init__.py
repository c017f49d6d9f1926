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
    NobodyError,
    Param,
    Value,
    Verb,
)
from faults.declarations.operation import OPERATIONS, Operation, usual
from faults.declarations.parameters import LISTS, frozen, written
from faults.declarations.targets import (
    COMMON,
    JOIN,
    LINK,
    OF_OTHERS,
    OTHER_SIDE,
    PARTITION_SELECTORS,
    SELECTORS,
    WITHOUT,
    NobodyFoundError,
    Selector,
    SelectorError,
    parse,
    resolve,
    selector_of,
)

__all__ = [
    "ACCEPTS",
    "COMMON",
    "FAMILIES",
    "JOIN",
    "LINK",
    "LISTS",
    "NUMERIC",
    "OF_OTHERS",
    "OPERATIONS",
    "OTHER_SIDE",
    "PARTITION_SELECTORS",
    "SECOND",
    "SELECTORS",
    "WITHOUT",
    "Action",
    "Alias",
    "ExpectedImpact",
    "Fault",
    "FaultError",
    "NobodyError",
    "NobodyFoundError",
    "Operation",
    "Param",
    "Selector",
    "SelectorError",
    "Value",
    "Verb",
    "frozen",
    "parse",
    "resolve",
    "selector_of",
    "usual",
    "written",
]

"""What a fault or an operation is, what it may target, and what it would do.

fault: `Fault`, its parameters and behaviour, and `Action`: what a playbook step and a key press both become.
operation: every operation of an administrator, declared once, with sensible parameters for one partition.
parameters: given parameters, checked against the declaration and completed with defaults.
targets: the language of target selectors, such as `leader(orders-0)` or `random(2, isr(orders-0))`, what a selector
  finds in a live cluster, and which links a fault of the network is about.
impact: what losing nodes or links would mean now: leaders, min.insync.replicas, quorums, clients.

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

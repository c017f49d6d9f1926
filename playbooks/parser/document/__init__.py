"""The document of a playbook: YAML with positions, typed fields, variables, includes and grids.

yaml_source: YAML parsed safely, with line and column of every key and value.
context: errors found so far, and the names that later parts may refer to.
field_types: types of values in the tables of keys, also brokers, partitions, conditions and versions.
variables: `${name}` in values, their scopes and keys, and parts that apply only with certain settings (`given`).
includes: fragments: their sources, and their merging with the document.
grid: `vary`: axes and their values, and the parser of grids.

This package does not know clusters, steps or expectations.
"""

from playbooks.parser.document.context import ErrorNotes, PlaybookNames
from playbooks.parser.document.grid import MAX_CELLS, GridNodes, check_size, from_option
from playbooks.parser.document.includes import is_fragment, is_fragment_file, playbooks_under, walk
from playbooks.parser.document.yaml_source import Mapping, Node, Scalar, compose

__all__ = [
    "MAX_CELLS",
    "ErrorNotes",
    "GridNodes",
    "Mapping",
    "Node",
    "PlaybookNames",
    "Scalar",
    "check_size",
    "compose",
    "field_types",
    "from_option",
    "is_fragment",
    "is_fragment_file",
    "playbooks_under",
    "walk",
]

"""The document under a playbook: YAML with positions, typed fields, variables, includes and grids.

yaml_source: YAML read safely, with the place of every key and value.
context: mistakes found so far, and the names that later parts may refer to.
field_types: types of values of which the tables of keys are made, also brokers, partitions,
  conditions and versions.
variables: `${name}` in values, their scopes and keys, and parts that count only with
  certain settings (`given`).
includes: fragments: where their texts come from, and how what they bring is joined with the document.
grid: `vary`: axes, their values, and how a grid is read.

Knows nothing of clusters, steps or expectations.
"""

from playbooks.parser.document.context import Notes, PlaybookNames
from playbooks.parser.document.grid import MAX_CELLS, GridNodes, check_size, from_option
from playbooks.parser.document.includes import is_fragment, playbooks_under, walk
from playbooks.parser.document.yaml_source import Mapping, Node, Scalar, compose

__all__ = [
    "MAX_CELLS",
    "GridNodes",
    "Mapping",
    "Node",
    "Notes",
    "PlaybookNames",
    "Scalar",
    "check_size",
    "compose",
    "field_types",
    "from_option",
    "is_fragment",
    "playbooks_under",
    "walk",
]

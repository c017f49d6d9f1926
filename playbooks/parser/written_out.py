"""A playbook written out: variables put in, fragments in the place of their includes, one file that needs no other.

Comments and the author's line breaks are not kept. What it means is the same, down to the digest of its run. What is
``given`` by a variable is decided here.
"""

from collections.abc import Mapping as Table
from dataclasses import replace
from typing import Any, Final

import yaml

from playbooks.errors import PlaybookError
from playbooks.parser.document.context import Notes
from playbooks.parser.document.fragments import Kept
from playbooks.parser.document.given import GIVEN
from playbooks.parser.document.includes import Includer
from playbooks.parser.document.yaml_source import Mapping, Node, Scalar, Sequence, compose
from playbooks.parser.playbook_keys import FRAGMENT, PLAYBOOK

_LEFT_OUT: Final = ("vars", "include")
_TEXT: Final = "tag:yaml.org,2002:str"
_WIDE: Final = 118


def written_out(text: str, path: str, fragments: Table[str, str]) -> str:
    """The playbook in one file without variables; a text that has neither those nor includes as it is.

    Raises:
        PlaybookError: mistakes in it.
    """
    root, _problems = compose(text, path)
    if not isinstance(root, Mapping) or not (any(name in root.entries for name in _LEFT_OUT) or _includes(root)):
        return text
    return rewritten(text, path, fragments)


def rewritten(text: str, path: str, fragments: Table[str, str]) -> str:
    """The same for any playbook: also one that has neither becomes a block of keys.

    Raises:
        PlaybookError: mistakes in it.
    """
    root, problems = compose(text, path)
    notes = Notes(path, problems)
    includer = Includer(notes, Kept(path, fragments), PLAYBOOK, FRAGMENT)
    whole = includer.whole(root, unused=False, written=True)
    if isinstance(whole, Mapping):
        notes.root, notes.variables = whole, includer.variables
        entries = {name: (where, _decided(value, notes)) for name, (where, value) in whole.entries.items()}
        whole = replace(whole, entries=entries)
    if notes.told or not isinstance(whole, Mapping):
        raise PlaybookError(notes.told)
    left = {name: whole.entries[name] for name in PLAYBOOK.keys if name in whole.entries and name not in _LEFT_OUT}
    written: str = yaml.serialize(_node(Mapping(1, 1, left)), Dumper=yaml.SafeDumper, width=_WIDE, allow_unicode=True)
    return written


def _decided(node: Node, notes: Notes) -> Node:
    """A list of steps or expectations without those that count for other values of variables, which are gone then."""
    if not isinstance(node, Sequence):
        return node
    items: list[Node] = []
    for item in node.items:
        entries = dict(item.entries) if isinstance(item, Mapping) else {}
        given = item.get("given") if isinstance(item, Mapping) else None
        if isinstance(given, Mapping):
            own = {name: entry for name, entry in given.entries.items() if name in notes.variables}
            if own and GIVEN.kind.read(replace(given, entries=own), "given", notes) is not True:
                continue
            others = {name: entry for name, entry in given.entries.items() if name not in own}
            entries["given"] = (entries["given"][0], replace(given, entries=others))
            if not others:
                del entries["given"]
        if "steps" in entries:
            entries["steps"] = (entries["steps"][0], _decided(entries["steps"][1], notes))
        items.append(replace(item, entries=entries) if isinstance(item, Mapping) else item)
    return replace(node, items=tuple(items))


def _includes(node: Node) -> bool:
    """Whether a fragment is included anywhere."""
    if isinstance(node, Mapping):
        return "include" in node.entries or any(_includes(value) for _, value in node.entries.values())
    return isinstance(node, Sequence) and any(map(_includes, node.items))


def _node(node: Node) -> Any:
    if isinstance(node, Sequence):
        flow = all(isinstance(item, Scalar) for item in node.items)
        return yaml.SequenceNode("tag:yaml.org,2002:seq", [_node(item) for item in node.items], flow_style=flow)
    if isinstance(node, Mapping):
        pairs = [(_node(where), _node(value)) for where, value in node.entries.values()]
        return yaml.MappingNode("tag:yaml.org,2002:map", pairs, flow_style=False)
    if node.plain:
        return yaml.ScalarNode(_RESOLVER.resolve(yaml.ScalarNode, node.text, (True, False)), node.text)
    return yaml.ScalarNode(_TEXT, node.text, style='"')


_RESOLVER: Final[Any] = yaml.resolver.Resolver()

"""A fragment read alone, as far as that can be done: it is no playbook, and what it speaks of may be in another file.

Its form is checked as it would be in a playbook about which nothing is known: keys, units, ranges, faults and
conditions are; whether there is such a broker, topic or rack cannot be. Variables count with their defaults, and what
depends on one that must be given is taken as right.
"""

from collections.abc import Mapping as Table
from dataclasses import dataclass
from pathlib import Path

from cluster_model.manual.verbs import MANUAL_VERBS
from playbooks.errors import PlaybookError, keeping_text
from playbooks.parser.document.context import Notes
from playbooks.parser.document.fragments import OnDisk
from playbooks.parser.document.includes import Includer
from playbooks.parser.document.yaml_source import Mapping, Node, Scalar, Sequence, compose
from playbooks.parser.loader import read_text
from playbooks.parser.playbook_keys import FRAGMENT, PLAYBOOK
from playbooks.parser.sections.expectations import read_expectations
from playbooks.parser.steps.step_groups import read_steps
from playbooks.parser.steps.timed_steps import TIMED_VERBS


@dataclass(frozen=True, slots=True)
class Fragment:
    """What a fragment says of itself."""

    path: str
    name: str
    title: str
    story: str
    variables: Table[str, str]
    """Its variables with their defaults as they are written; empty: must be given."""
    steps: int
    source: str


def read_fragment(path: str | Path) -> Fragment:
    """The fragment in a file.

    Raises:
        PlaybookError: with every mistake that can be told without the playbook that includes it.
    """
    return fragment_of(read_text(path), str(path))


@keeping_text
def fragment_of(text: str, path: str) -> Fragment:
    """The fragment in ``text``; raises :class:`PlaybookError` as :func:`read_fragment` does."""
    root, problems = compose(text, path)
    notes = Notes(path, problems)
    fields = FRAGMENT.open(root, "", notes)
    if fields is None:
        raise PlaybookError(notes.told)
    whole = Includer(notes, OnDisk(path), PLAYBOOK, FRAGMENT).whole(root, unused=False, fragment=True)
    assert isinstance(whole, Mapping)  # the root is one
    fields.node = whole
    for name in FRAGMENT.keys:
        FRAGMENT.fill(fields, name, notes)
    steps, expect = whole.get("steps"), whole.get("expect")
    manual = fields.get("stepping", "manual" if _by_hand(steps) else "timed") == "manual"
    read_steps(steps, notes, manual=manual)
    if expect is not None:
        read_expectations(expect, notes, manual=manual)
    if notes.told:
        raise PlaybookError(notes.told)
    count = len(steps.items) if isinstance(steps, Sequence) else 0
    title, story = fields.get("title", ""), " ".join(fields.get("story", "").split())
    return Fragment(path, fields.get("fragment", ""), title, story, _defaults(root), count, text)


def _by_hand(node: Node | None) -> bool:
    """Whether the first step that has a verb at all has one of those by hand."""
    for item in node.items if isinstance(node, Sequence) else ():
        verbs = item.entries if isinstance(item, Mapping) else {item.text: item} if isinstance(item, Scalar) else {}
        if any(verb in TIMED_VERBS for verb in verbs):
            return False
        if any(verb in MANUAL_VERBS for verb in verbs):
            return True
    return False


def _defaults(root: Node) -> dict[str, str]:
    declared = root.get("vars") if isinstance(root, Mapping) else None
    return {
        name: _written(value)
        for name, (_, value) in (declared.entries if isinstance(declared, Mapping) else {}).items()
    }


def _written(node: Node) -> str:
    if isinstance(node, Scalar):
        return "" if node.empty else node.text
    children = node.items if isinstance(node, Sequence) else ()
    return "[" + ", ".join(map(_written, children)) + "]"

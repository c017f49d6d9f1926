"""Loads a file to a :class:`~playbooks.model.playbook.Playbook`, or to every mistake in it at once, by tables of keys.

Order matters inside: cluster, topics and clients are read first, so that steps and expectations can be checked against
the brokers, partitions and groups that there will be. What could not be read is never the ground for a second mistake.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from cluster_model.manual.verbs import MANUAL_VERBS
from playbooks.errors import PlaybookError, Problem, keeping_text
from playbooks.model.playbook import Grid, Playbook
from playbooks.parser.document.context import Notes
from playbooks.parser.document.field_types import (
    DURATION,
    NAME,
    NAME_PATTERN,
    ByShape,
    ChoiceType,
    Fields,
    FieldSpec,
    FieldType,
    Integer,
    ListOf,
    Profiles,
    Record,
    Schema,
    TextType,
)
from playbooks.parser.document.grid import VARY, read_grid
from playbooks.parser.document.includes import BROUGHT, FragmentStore, Includer, OnDisk
from playbooks.parser.document.variables import FRAGMENT_NAME, INCLUDE, VARS
from playbooks.parser.document.yaml_source import MAX_BYTES, Node, Scalar, Sequence, compose, decode
from playbooks.parser.document.yaml_source import Mapping as YamlMapping
from playbooks.parser.sections.cluster import CLIENTS, CLUSTER, TOPICS, build_clients, build_cluster, build_topics
from playbooks.parser.sections.expectations import GUARDS, STORM, read_expectations, read_guards, read_storm
from playbooks.parser.settings import apply_settings, cell_text, check_cells
from playbooks.parser.steps.step_groups import read_steps
from playbooks.parser.steps.timed_steps import TIMED_VERBS
from playbooks.session_format import session_files
from playbooks.units import duration_us

# The keys of a playbook and of a fragment: as tables, as text for people, and as JSON Schema.


class Later(FieldType):
    """A value that is read after everything it refers to; here it passes as it is."""

    def _read(self, node: Node, key: str, notes: Notes) -> Node:
        del key, notes
        return node

    def _schema(self) -> Schema:
        return {"type": "array"}


LATER: Final = Later()


ONE_OR_MORE: Final = ByShape("a text or a list of texts", scalar=TextType(), sequence=ListOf(TextType(), 1, 20))


PLAYBOOK: Final = Record(
    {
        "floodmark": FieldSpec(
            Integer(1, 1, "1, the version of the format, without quotes"),
            "Version of the playbook format.",
            required=True,
        ),
        "name": FieldSpec(NAME, "Short name; the file's unless given."),
        "title": FieldSpec(TextType(), "One line that says what happens; the name unless given."),
        "story": FieldSpec(TextType(), "What this shows and why it matters, in a few sentences."),
        "source": FieldSpec(
            ONE_OR_MORE, "Where the story comes from: an improvement proposal, a report, a test; one or a list."
        ),
        "profiles": FieldSpec(
            Profiles(), "Kafka versions under which it is expected to pass; its cluster's unless given."
        ),
        "tags": FieldSpec(ListOf(NAME, 0, 50), "Words to find it by."),
        "vars": VARS,
        "include": INCLUDE,
        "seed": FieldSpec(Integer(0, 2**63 - 1), "Seed of every random stream; 0 unless given."),
        "stepping": FieldSpec(
            ChoiceType(("timed", "manual")), "Manual turns off every timer and delivery: only steps act."
        ),
        "cluster": FieldSpec(CLUSTER, "What to build; three brokers of the newest Kafka unless given."),
        "topics": FieldSpec(TOPICS, "The topics that exist from the start.", required=True),
        "clients": FieldSpec(CLIENTS, "Who writes and who reads."),
        "guards": FieldSpec(GUARDS, "Limits that refuse a fault, or heal what is active once they are crossed."),
        "steps": FieldSpec(LATER, "What happens, in order."),
        "vary": FieldSpec(
            VARY, "Settings to run it over: axes with the values of each, or cases that are written out."
        ),
        "storm": FieldSpec(STORM, "What random storms over it draw from, see: floodmark storm."),
        "settle": FieldSpec(
            DURATION, "Quiet time after the last step, faults healed, before the verdict; 30s unless given."
        ),
        "expect": FieldSpec(LATER, "What must hold for the playbook to pass."),
    }
)
"""Every key of a playbook."""


FRAGMENT: Final = Record(
    {"floodmark": PLAYBOOK.keys["floodmark"], "fragment": FRAGMENT_NAME}
    | {name: PLAYBOOK.keys[name] for name in ("title", "story", "vars", "include")}
    | {name: replace(PLAYBOOK.keys[name], required=False) for name in BROUGHT}
)
"""Every key of a fragment."""


# Loads a file to a :class:`~playbooks.model.playbook.Playbook`, or to every mistake in it at once.


DEFAULT_SETTLE_US: Final = duration_us("30s")


def load(path: str | Path) -> Playbook:
    """The playbook in a file. That of a session has its fragments in the session.

    Raises:
        PlaybookError: with every mistake in it; also when the file cannot be read.
    """
    return loads(read_text(path), str(path), _kept_beside(Path(path)))


def read_text(path: str | Path) -> str:
    """The text of a file. Raises :class:`PlaybookError` when it cannot be read, is too large, or is not UTF-8."""
    shown_path = str(path)
    try:
        with Path(path).open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise PlaybookError([Problem(shown_path, 1, 1, "", f"cannot be read: {reason or error}")]) from None
    return decode(data, shown_path)


def _kept_beside(path: Path) -> dict[str, str] | None:
    """The fragments of a session, where the file is its playbook."""
    if path.name != session_files.PLAYBOOK or not (path.parent / session_files.START).is_file():
        return None
    try:
        return session_files.read_fragments(path.parent)
    except session_files.LayoutError as error:
        raise PlaybookError([Problem(str(path), 1, 1, "include", f"its fragments cannot be read: {error}")]) from None


@keeping_text
def loads(text: str, path: str, fragments: Mapping[str, str] | None = None) -> Playbook:
    """The playbook in ``text``; ``path`` stands in messages and gives the name where the text has none.

    Fragments are read from beside ``path``. With ``fragments`` (``Playbook.fragments`` of what was read before, as for
    a session or a changed text) they are read from there and never from the disk, and a variable that nothing uses any
    more is no mistake.

    Raises:
        PlaybookError: with every mistake in it.
    """
    root, problems = compose(text, path)
    notes = Notes(path, problems)
    if isinstance(root, YamlMapping) and "fragment" in root.entries:
        where = root.entries["fragment"][0]
        notes.problem(where, "fragment", "found a fragment, which is no playbook by itself: one that includes it is")
        raise PlaybookError(notes.told)
    source = OnDisk(path) if fragments is None else FragmentStore(path, fragments)
    includer = Includer(notes, source, PLAYBOOK, FRAGMENT)
    whole = includer.whole(root, unused=fragments is None)
    notes.root, notes.variables = whole if isinstance(whole, YamlMapping) else None, includer.variables
    notes.values = includer.values
    playbook = _read(whole, text, notes)
    notes.root = root if isinstance(root, YamlMapping) else None  # axes are settings, which are made in this file
    varied = _vary(text, notes, includer.texts)
    if notes.told or playbook is None:
        raise PlaybookError(notes.told, {source.shown(key): kept for key, kept in includer.texts.items()})
    return replace(playbook, grid=varied, fragments=includer.texts, variables=includer.variables)


def _vary(text: str, notes: Notes, fragments: Mapping[str, str]) -> Grid | None:
    """The grid, with all its cells checked if nothing else is wrong."""
    node = notes.root.get("vary") if notes.root is not None else None
    varied = read_grid(node, notes.root, notes) if node is not None and notes.root is not None else None
    if varied is None:
        return None
    if not notes.told:
        check_cells(*varied, partial(_cell, text, notes, fragments), notes)
    return varied[0]


def _cell(text: str, notes: Notes, fragments: Mapping[str, str], settings: Mapping[str, str]) -> Playbook:
    return loads(cell_text(text, settings, fragments, notes.variables), notes.path, fragments)


def _read(root: Node, text: str, notes: Notes) -> Playbook | None:
    fields = PLAYBOOK.open(root, "", notes)
    if fields is None:
        return None
    for name in (
        "floodmark",
        "name",
        "title",
        "story",
        "source",
        "profiles",
        "tags",
        "seed",
        "stepping",
        "settle",
        "cluster",
    ):
        PLAYBOOK.fill(fields, name, notes)
    manual = fields.get("stepping") == "manual"
    cluster: Fields | None = fields.get("cluster")
    spec = build_cluster(cluster, notes, manual=manual, broken=fields.bad("cluster"))
    if cluster is None or not cluster.bad("kafka"):
        notes.facts = replace(notes.facts, kafka=spec.kafka)
    PLAYBOOK.fill(fields, "topics", notes)
    spec = build_topics(fields.get("topics"), spec, notes)
    PLAYBOOK.fill(fields, "clients", notes)
    spec = build_clients(fields.get("clients"), spec, notes, broken=fields.bad("clients"))
    if manual:
        _refuse_in_manual(fields, notes)
    steps = () if fields.bad("stepping") else read_steps(fields.node.get("steps"), notes, manual=manual)
    PLAYBOOK.fill(fields, "guards", notes)
    guards = read_guards(fields.get("guards"), notes, manual=manual)
    PLAYBOOK.fill(fields, "storm", notes)
    storm = read_storm(fields.get("storm"), notes, manual=manual)
    expect = fields.node.get("expect")
    expectations = read_expectations(expect, notes, manual=manual) if expect is not None else ()
    name = fields.get("name") or _name_of(fields, notes)
    return Playbook(
        path=notes.path,
        name=name,
        title=fields.get("title", name),
        story=" ".join(fields.get("story", "").split()),
        seed=fields.get("seed", 0),
        spec=spec,
        steps=steps,
        settle_us=0 if manual else fields.get("settle", DEFAULT_SETTLE_US),
        expectations=expectations,
        tags=tuple(fields.get("tags", ())),
        source=text,
        guards=guards,
        storm=storm,
        origins=_texts(fields.get("source", ())),
        profiles=fields.get("profiles", (spec.kafka,)),
    )


def _texts(value: str | list[str]) -> tuple[str, ...]:
    """One text or several, each on one line."""
    return tuple(" ".join(text.split()) for text in ([value] if isinstance(value, str) else value))


def _name_of(fields: Fields, notes: Notes) -> str:
    """The name by the file's own, where the playbook gives none."""
    stem = Path(notes.path).stem
    if not fields.given("name") and not re.fullmatch(NAME_PATTERN, stem, re.ASCII):
        notes.problem(fields.node, "", "found no key 'name', which is needed as the file's name would not do for one")
    return stem


def _refuse_in_manual(fields: Fields, notes: Notes) -> None:
    why = {
        "clients": "found clients, allowed are none in 'stepping: manual': 'append' and 'fetch' are the clients there",
        "settle": "found a time, allowed is none in 'stepping: manual', where time stands still",
    }
    for name, message in why.items():
        if fields.given(name):
            notes.problem(fields.at(name), name, message)


# A playbook with some of its values changed, as ``--set`` does it.


def changed(playbook: Playbook, settings: Mapping[str, str]) -> Playbook:
    """The playbook with every setting made; its fragments are those it was read with.

    Raises:
        SettingError: a path that leads nowhere, or a value that is not YAML.
        PlaybookError: mistakes that the settings brought; each says so.
    """
    if not settings:
        return playbook
    text = apply_settings(playbook.source, settings, playbook.fragments, playbook.variables)
    try:
        return loads(text, playbook.path, playbook.fragments)
    except PlaybookError as error:
        options = " ".join(f"--set {path}={value}" for path, value in settings.items())
        raise PlaybookError(
            [replace(problem, message=f"{problem.message} (with {options})") for problem in error.problems], error.texts
        ) from None


# A fragment read alone, as far as possible: what it refers to may be in another file.
#
# Its form is checked as it would be in a playbook about which nothing is known: keys, units, ranges, faults and
# conditions are; whether there is such a broker, topic or rack cannot be. Variables count with their defaults, and
# what depends on one that must be given is taken as right.


@dataclass(frozen=True, slots=True)
class Fragment:
    """What a fragment says of itself."""

    path: str
    name: str
    title: str
    story: str
    variables: Mapping[str, str]
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
    assert isinstance(whole, YamlMapping)  # the root is one
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
        verbs = item.entries if isinstance(item, YamlMapping) else {item.text: item} if isinstance(item, Scalar) else {}
        if any(verb in TIMED_VERBS for verb in verbs):
            return False
        if any(verb in MANUAL_VERBS for verb in verbs):
            return True
    return False


def _defaults(root: Node) -> dict[str, str]:
    declared = root.get("vars") if isinstance(root, YamlMapping) else None
    return {
        name: _written(value)
        for name, (_, value) in (declared.entries if isinstance(declared, YamlMapping) else {}).items()
    }


def _written(node: Node) -> str:
    if isinstance(node, Scalar):
        return "" if node.empty else node.text
    children = node.items if isinstance(node, Sequence) else ()
    return "[" + ", ".join(map(_written, children)) + "]"

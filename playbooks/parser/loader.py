"""Loader of playbooks: a file to a :class:`~playbooks.model.playbook.Playbook`, or to all its errors at once.

The order matters: cluster, topics and clients are parsed first, so that steps and expectations can be checked against
their brokers, partitions and groups. A part with errors never causes a second error elsewhere.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from cluster_model.manual.verbs import MANUAL_VERBS
from playbooks.errors import PlaybookError, Problem, keeping_text
from playbooks.model.playbook import Grid, Playbook
from playbooks.parser.document.context import ErrorNotes
from playbooks.parser.document.field_types import (
    DURATION,
    NAME,
    NAME_PATTERN,
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
    TypeByShape,
)
from playbooks.parser.document.grid import VARY, read_grid
from playbooks.parser.document.includes import BROUGHT, DiskFragments, FragmentStore, Includer, is_fragment
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

# The keys of a playbook and of a fragment, as tables.


class DeferredValue(FieldType):
    """A value that is parsed after everything it refers to; here it is passed through."""

    def _read(self, node: Node, key: str, notes: ErrorNotes) -> Node:
        del key, notes
        return node

    def _schema(self) -> Schema:
        return {"type": "array"}


LATER: Final = DeferredValue()


ONE_OR_MORE: Final = TypeByShape("a string or a list of strings", scalar=TextType(), sequence=ListOf(TextType(), 1, 20))


PLAYBOOK: Final = Record(
    {
        "floodmark": FieldSpec(
            Integer(1, 1, "1, the version of the format, without quotes"),
            "Version of the playbook format.",
            required=True,
        ),
        "name": FieldSpec(NAME, "Short name; default: the file name."),
        "title": FieldSpec(TextType(), "One line with fault, condition and outcome; default: the name."),
        "story": FieldSpec(TextType(), "What the playbook shows and why it matters, in a few sentences."),
        "source": FieldSpec(ONE_OR_MORE, "Source of the story: a KIP, an incident report, a test; one or a list."),
        "profiles": FieldSpec(Profiles(), "Kafka versions under which it should pass; default: that of its cluster."),
        "tags": FieldSpec(ListOf(NAME, 0, 50), "Tags for searching."),
        "vars": VARS,
        "include": INCLUDE,
        "seed": FieldSpec(Integer(0, 2**63 - 1), "Seed of every random stream; default 0."),
        "stepping": FieldSpec(
            ChoiceType(("timed", "manual")), "manual disables timers and message delivery: only steps act."
        ),
        "cluster": FieldSpec(CLUSTER, "The cluster; default: three brokers of the newest Kafka."),
        "topics": FieldSpec(TOPICS, "The topics that exist from the start.", required=True),
        "clients": FieldSpec(CLIENTS, "Producers and consumer groups."),
        "guards": FieldSpec(GUARDS, "Limits that refuse a fault, or heal all faults when exceeded."),
        "steps": FieldSpec(LATER, "Faults, operations and other steps, in order."),
        "vary": FieldSpec(VARY, "Grid of settings: axes with their values, or explicit cases."),
        "storm": FieldSpec(STORM, "Options of random storms, see: floodmark storm."),
        "settle": FieldSpec(
            DURATION, "Quiet time after the last step, with all faults healed, before the verdict; default 30s."
        ),
        "expect": FieldSpec(LATER, "Conditions for the playbook to pass."),
    }
)
"""All keys of a playbook."""


FRAGMENT: Final = Record(
    {"floodmark": PLAYBOOK.keys["floodmark"], "fragment": FRAGMENT_NAME}
    | {name: PLAYBOOK.keys[name] for name in ("title", "story", "vars", "include")}
    | {name: replace(PLAYBOOK.keys[name], required=False) for name in BROUGHT}
)
"""All keys of a fragment."""


# Loading of files and texts.


DEFAULT_SETTLE_US: Final = duration_us("30s")


def load(path: str | Path) -> Playbook:
    """Load the playbook in a file; that of a session has its fragments in the session.

    Raises:
        PlaybookError: with all errors; also if the file cannot be read.
    """
    return loads(read_text(path), str(path), _kept_beside(Path(path)))


def load_cluster(path: str | Path) -> Playbook:
    """Load the cluster of a file: a cluster file, as a playbook without steps and clients, or that of a playbook.

    Raises:
        PlaybookError: with all errors.
    """
    file = Path(path)
    text = read_text(file)
    if not is_fragment(text, str(file)):
        return load(file)
    name = re.sub(r"[^A-Za-z0-9._-]", "-", file.stem)[:100]
    return loads(f"floodmark: 1\nname: {json.dumps(name)}\ncluster: {{from: {json.dumps(file.name)}}}\n", str(file))


def read_text(path: str | Path) -> str:
    """Return the text of a file. Raises :class:`PlaybookError` if it cannot be read, is too large, or is not UTF-8."""
    shown_path = str(path)
    try:
        with Path(path).open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise PlaybookError([Problem(shown_path, 1, 1, "", f"cannot be read: {reason or error}")]) from None
    return decode(data, shown_path)


def _kept_beside(path: Path) -> dict[str, str] | None:
    """Return the fragments of a session, if the file is its playbook."""
    if path.name != session_files.PLAYBOOK or not (path.parent / session_files.START).is_file():
        return None
    if (path.parent / session_files.IMPORTED).is_file():
        raise PlaybookError([Problem(str(path), 1, 1, "", session_files.NOT_RUN)])
    try:
        return session_files.read_fragments(path.parent)
    except session_files.LayoutError as error:
        raise PlaybookError([Problem(str(path), 1, 1, "include", f"its fragments cannot be read: {error}")]) from None


@keeping_text
def loads(text: str, path: str, fragments: Mapping[str, str] | None = None) -> Playbook:
    """Parse the playbook in ``text``; ``path`` is used in messages, and as name if the text has none.

    Fragments are read relative to ``path``. With ``fragments`` (``Playbook.fragments`` of an earlier load, as for a
    session or a changed text) they are taken from there and never from disk, and unused variables are no errors.

    Raises:
        PlaybookError: with all errors.
    """
    root, problems = compose(text, path)
    notes = ErrorNotes(path, problems)
    if isinstance(root, YamlMapping) and "fragment" in root.entries:
        where = root.entries["fragment"][0]
        notes.problem(where, "fragment", "found a fragment, which is not a playbook; run one that includes it")
        raise PlaybookError(notes.errors)
    source = DiskFragments(path) if fragments is None else FragmentStore(path, fragments)
    includer = Includer(notes, source, PLAYBOOK, FRAGMENT)
    root_node = includer.expand(root, unused=fragments is None)
    notes.root, notes.variables = root_node if isinstance(root_node, YamlMapping) else None, includer.variables
    notes.values = includer.values
    playbook = _read(root_node, text, notes)
    notes.root = root if isinstance(root, YamlMapping) else None  # axes refer to settings of this file
    varied = _vary(text, notes, includer.texts)
    if notes.errors or playbook is None:
        raise PlaybookError(notes.errors, {source.shown(key): kept for key, kept in includer.texts.items()})
    return replace(playbook, grid=varied, fragments=includer.texts, variables=includer.variables)


def _vary(text: str, notes: ErrorNotes, fragments: Mapping[str, str]) -> Grid | None:
    """Parse the grid; its cells are checked if the rest has no errors."""
    node = notes.root.get("vary") if notes.root is not None else None
    varied = read_grid(node, notes.root, notes) if node is not None and notes.root is not None else None
    if varied is None:
        return None
    if not notes.errors:
        check_cells(*varied, partial(_cell, text, notes, fragments), notes)
    return varied[0]


def _cell(text: str, notes: ErrorNotes, fragments: Mapping[str, str], settings: Mapping[str, str]) -> Playbook:
    return loads(cell_text(text, settings, fragments, notes.variables), notes.path, fragments)


def _read(root: Node, text: str, notes: ErrorNotes) -> Playbook | None:
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
    """Return one string or several, each on one line."""
    return tuple(" ".join(text.split()) for text in ([value] if isinstance(value, str) else value))


def _name_of(fields: Fields, notes: ErrorNotes) -> str:
    """Return the default name: the file name."""
    stem = Path(notes.path).stem
    if not fields.given("name") and not re.fullmatch(NAME_PATTERN, stem, re.ASCII):
        notes.problem(fields.node, "", "missing key 'name', required because the file name is not a valid name")
    return stem


def _refuse_in_manual(fields: Fields, notes: ErrorNotes) -> None:
    why = {
        "clients": "found clients, not allowed with 'stepping: manual': use the steps 'append' and 'fetch'",
        "settle": "found a time, not allowed with 'stepping: manual', which has no time",
    }
    for name, message in why.items():
        if fields.given(name):
            notes.problem(fields.at(name), name, message)


# A playbook with changed values, as with ``--set``.


def changed(playbook: Playbook, settings: Mapping[str, str]) -> Playbook:
    """Return the playbook with all settings applied; its fragments are unchanged.

    Raises:
        SettingError: a path without a target, or a value that is not YAML.
        PlaybookError: errors caused by the settings; each message says so.
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


# A fragment parsed alone, as far as possible: it may refer to parts of other files.
#
# Its form is checked: keys, units, ranges, faults and conditions; whether a broker, topic or rack exists cannot be.
# Variables have their defaults, and values that depend on a required variable are assumed to be valid.


@dataclass(frozen=True, slots=True)
class Fragment:
    """Contents of a fragment: name, title, story, variables and number of steps."""

    path: str
    name: str
    title: str
    story: str
    variables: Mapping[str, str]
    """Its variables with their defaults as text; empty: required."""
    steps: int
    source: str


def read_fragment(path: str | Path) -> Fragment:
    """Load the fragment in a file.

    Raises:
        PlaybookError: with all errors that can be found without the including playbook.
    """
    return fragment_of(read_text(path), str(path))


@keeping_text
def fragment_of(text: str, path: str) -> Fragment:
    """Parse the fragment in ``text``; raises :class:`PlaybookError` as :func:`read_fragment` does."""
    root, problems = compose(text, path)
    notes = ErrorNotes(path, problems)
    fields = FRAGMENT.open(root, "", notes)
    if fields is None:
        raise PlaybookError(notes.errors)
    root_node = Includer(notes, DiskFragments(path), PLAYBOOK, FRAGMENT).expand(root, unused=False, fragment=True)
    assert isinstance(root_node, YamlMapping)  # the root is one
    fields.node = root_node
    for name in FRAGMENT.keys:
        FRAGMENT.fill(fields, name, notes)
    steps, expect = root_node.get("steps"), root_node.get("expect")
    manual = fields.get("stepping", "manual" if _by_hand(steps) else "timed") == "manual"
    read_steps(steps, notes, manual=manual)
    if expect is not None:
        read_expectations(expect, notes, manual=manual)
    if notes.errors:
        raise PlaybookError(notes.errors)
    count = len(steps.items) if isinstance(steps, Sequence) else 0
    title, story = fields.get("title", ""), " ".join(fields.get("story", "").split())
    return Fragment(path, fields.get("fragment", ""), title, story, _defaults(root), count, text)


def _by_hand(node: Node | None) -> bool:
    """Return whether the first step with a verb is a manual step."""
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

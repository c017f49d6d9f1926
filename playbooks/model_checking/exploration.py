"""Exploration files, and conversion of a path through the explored states to a manual playbook.

Brokers are numbered from 1. A manual run begins with an epoch 0 of its own that no broker receives: the first epoch of
an exploration is its 1. Nondeterminism of an exploration is resolved: where the HW advances, the members of the ISR
fetch the next record, and their responses are lost, since they had no further effect.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import yaml

from cluster_model.model_checker import (
    ACTIONS,
    LOG_BOUNDS,
    LOG_MATCHING,
    NO_NODE,
    STRONG_ISR,
    STUCK,
    WEAK_ISR,
    Counterexample,
    Entry,
    ExplorationBounds,
    Step,
    Transitions,
)
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.versions import DEFAULT_RELEASE, Profile, with_rules
from playbooks.errors import PlaybookError, nearest, shown
from playbooks.parser.document.context import ErrorNotes
from playbooks.parser.document.field_types import (
    NAME,
    BooleanType,
    ChoiceType,
    FieldSpec,
    Integer,
    ListOf,
    Record,
    TextType,
)
from playbooks.parser.document.yaml_source import Mapping, compose
from playbooks.parser.loader import read_text
from playbooks.parser.sections.cluster import CLUSTER

PARTITION: Final = "orders-0"

_Line = dict[str, Any]


def playbook(name: str, title: str, moves: Transitions, invariant: str, broken: Counterexample) -> str:
    """Return the YAML of a playbook with these steps, followed by those that show the consequence."""
    brokers = list(range(1, moves.bounds.replicas + 1))
    head: dict[str, Any] = {
        "floodmark": 1,
        "name": name,
        "title": title,
        "stepping": "manual",
        "cluster": _cluster(moves.profile, len(brokers)),
        "topics": [{"name": "orders", "placement": [brokers]}],
    }
    text: str = yaml.safe_dump(head, sort_keys=False, width=118, allow_unicode=True)
    text += "steps:\n" + "".join(map(_line, _steps(moves, broken.steps)))
    short = _short(moves, invariant, broken.at)
    text += f"  # Here {MEANINGS[invariant]}. Consequence:\n" + "".join(map(_line, _ending(moves, short, broken.at)))
    return text + f"expect:\n  - end: {_expected(moves, invariant, broken, short)}\n"


def _cluster(profile: Profile, brokers: int) -> dict[str, Any]:
    cluster: dict[str, Any] = {"kafka": profile.version, "mode": profile.mode, "brokers": brokers}
    return cluster | ({"rules": dict(profile.rules)} if profile.rules else {})


def _expected(moves: Transitions, invariant: str, broken: Counterexample, short: int) -> str:
    """Return the consequence as a condition: acknowledged records are lost, or records that consumers have read."""
    if invariant not in {STRONG_ISR, WEAK_ISR}:
        return EXPECTED[invariant]
    if short == NO_NODE:
        return _NOTHING_LOST_YET
    lacked = set().union(*_lacked(moves, broken.at)[short])
    return EXPECTED[invariant] if lacked & _acknowledged(moves, broken.steps) else _READ_ONLY


MEANINGS: Final = {
    STRONG_ISR: "a member of the ISR lacks what the leader counts as committed",
    WEAK_ISR: "a member of a leader's ISR lacks what that leader counts as committed",
    LOG_MATCHING: "a follower has a record that differs from its leader's, and continues from there",
    LOG_BOUNDS: "the high watermark of a replica is beyond the end of its log",
    STUCK: "no further step is possible",
}
EXPECTED: Final = {
    STRONG_ISR: "acked_lost() > 0",
    WEAK_ISR: "acked_lost() > 0",
    LOG_MATCHING: "diverged(orders-0) > 0",
    LOG_BOUNDS: "violations(log-bounds) > 0",
    STUCK: "under_replicated() > 0 or diverged(orders-0) > 0",
}
"""Violation → expectation of the playbook at its end."""
_NOTHING_LOST_YET: Final = f"violations({WEAK_ISR}) > 0"
"""... where all eligible replicas have the committed records: a former leader counts a replica that lacks them."""
_READ_ONLY: Final = "violations(stable-reads) > 0"
"""... where only a later leader committed the lost records: consumers read them, but the producer got no response."""

_ROUNDS: Final = 3
"""Fetches of each follower: the records, then the HW, after requests that its version needs."""


def _ending(moves: Transitions, short: int, at: tuple[int, ...]) -> Iterator[_Line]:
    """Yield the election of the member that is ``short`` of records, which loses them; or fetches that commit more."""
    replicas = range(moves.bounds.replicas)
    locals_ = [moves.locals.items[number] for number in at[: len(replicas)]]
    decisions, _isr = moves.held.items[at[len(replicas)]]
    leader, epoch = decisions[-1].leader, len(decisions)
    if short != NO_NODE:
        leader = short
        epoch += 1
        yield {"elect": {"partition": PARTITION, "leader": leader + 1}}
    order = sorted(replicas, key=lambda broker: broker != leader)
    for broker in order:
        if locals_[broker].epoch < epoch - 1:
            yield {"deliver": {"broker": broker + 1, "partition": PARTITION}}
    for _round in range(_ROUNDS):
        for broker in order[1:]:
            yield {"fetch": {"follower": broker + 1, "partition": PARTITION}}


def _short(moves: Transitions, invariant: str, at: tuple[int, ...]) -> int:
    """Return the member of the true ISR that lacks most of some leader's committed records; NO_NODE if none does."""
    if invariant not in {STRONG_ISR, WEAK_ISR}:
        return NO_NODE
    lacked = {member: max(map(len, sets)) for member, sets in _lacked(moves, at).items()}
    most = max(lacked, key=lacked.__getitem__)
    return most if lacked[most] else NO_NODE


def _lacked(moves: Transitions, at: tuple[int, ...]) -> dict[int, list[set[Entry]]]:
    """Return the committed records of each leader that each member of the true ISR lacks."""
    replicas = [moves.locals.items[number] for number in at[: moves.bounds.replicas]]
    isr = moves.held.items[at[moves.bounds.replicas]][1]
    committed = [each.log[: each.hw] for broker, each in enumerate(replicas) if each.leader == broker]
    return {
        member: [
            {entry for offset, entry in enumerate(log) if replicas[member].log[offset : offset + 1] != (entry,)}
            for log in committed
        ]
        for member in isr
    }


def _acknowledged(moves: Transitions, steps: tuple[Step, ...]) -> set[Entry]:
    """Return the records that the leader of their own epoch committed: only that one acknowledges them."""
    entries: set[Entry] = set()
    for at in _states(moves, steps):
        for broker in range(moves.bounds.replicas):
            local = moves.locals.items[at[broker]]
            if local.leader == broker:
                entries.update(entry for entry in local.log[: local.hw] if entry[0] == local.epoch)
    return entries


def _line(step: _Line) -> str:
    verb, params = next(iter(step.items()))
    inner = ", ".join(f"{name}: {_value(value)}" for name, value in params.items())
    return f"  - {verb}: {{{inner}}}\n"


def _value(value: object) -> str:
    return f"[{', '.join(map(str, value))}]" if isinstance(value, list) else str(value)


def _steps(moves: Transitions, steps: tuple[Step, ...]) -> Iterator[_Line]:
    states = _states(moves, steps)
    for step, (at, after) in zip(steps, pairwise(states), strict=True):
        yield from _ExplorationStep(moves, at, after).lines(step)


def _states(moves: Transitions, steps: tuple[Step, ...]) -> list[tuple[int, ...]]:
    """Return the states along a path, including the first one."""
    states = [moves.start()]
    for step in steps:
        states.append(next(new for each, new in moves.after(states[-1]) if each == step))
    return states


class _ExplorationStep:
    """One step of the exploration, from a state to the next."""

    def __init__(self, moves: Transitions, before: tuple[int, ...], after: tuple[int, ...]) -> None:
        self._moves = moves
        self._before = [moves.locals.items[number] for number in before[: moves.bounds.replicas]]
        self._after = [moves.locals.items[number] for number in after[: moves.bounds.replicas]]

    def lines(self, step: Step) -> Iterator[_Line]:
        """Yield the manual steps for it."""
        verb, broker, *more = step
        here = {"broker": broker + 1, "partition": PARTITION}
        if verb == "elect":
            yield {"elect": {"partition": PARTITION, "leader": broker + 1}}
        elif verb == "drop":
            yield {"drop_from_isr": {"partition": PARTITION, "broker": broker + 1}}
        elif verb in {"lead", "follow"}:
            yield {"deliver": {**here, "epoch": more[0] + 1}}
            if verb == "follow" and self._after[broker].leader != NO_NODE:
                yield from self._truncates(broker)
        elif verb == "write":
            yield {"append": {**here, "records": 1, "acks": "all"}}
        elif verb == "fetch":
            yield {"fetch": {"follower": broker + 1, "partition": PARTITION, "records": 1}}
        elif verb == "hw":
            yield from self._received(self._before[broker].isr, broker)
        elif verb == "restart":
            yield from self._restarts(broker, more[0])
        else:
            yield from self._changes_isr(verb, broker, more[0])

    def _truncates(self, broker: int) -> Iterator[_Line]:
        """Yield the fetch by which a follower learns of divergence (since KIP-595); it has no other effect."""
        cut = len(self._after[broker].log) < len(self._before[broker].log)
        if cut and self._moves.profile.diverging_fetch:
            yield {"fetch": {"follower": broker + 1, "partition": PARTITION, "records": 0}}

    def _received(self, followers: tuple[int, ...], leader: int) -> Iterator[_Line]:
        for follower in followers:
            if follower != leader and self._before[follower].leader == leader:
                params = {"follower": follower + 1, "partition": PARTITION}
                yield {"fetch_send": params}
                yield {"fetch_serve": params}
                yield {"fetch_lose": params}

    def _restarts(self, broker: int, hw: int) -> Iterator[_Line]:
        if hw:
            yield {"checkpoint": {"broker": broker + 1}}
        yield {"crash": {"broker": broker + 1}}
        yield {"restart": {"broker": broker + 1}}

    def _changes_isr(self, verb: str, leader: int, other: int) -> Iterator[_Line]:
        yield from self._received((other,), leader)
        here = {"partition": PARTITION, "broker": leader + 1}
        if verb == "expand":
            yield {"expand_isr": {**here, "in": other + 1}}
            return
        # Up to 0.10.1 followers that have not fetched from a new leader leave the ISR together with the silent one.
        left = [member for member in self._before[leader].isr if member not in self._after[leader].isr]
        yield {"shrink_isr": {**here, "out": [member + 1 for member in left]}}


# Exploration files: Kafka version, bounds of the cluster, and allowed actions.


PRESETS: Final = Path(__file__).parent / "presets"

OLDER: Final = "found Kafka {}, expected 2.1 and later: the TLA+ module is that of KIP-320, which older releases lack"
"""Message for a rejected ``as_module``."""

LIMITS: Final = {"replicas": (2, 5), "log_size": (1, 6), "records": (0, 6), "epochs": (1, 6), "restarts": (0, 4)}
"""Minimum and maximum of each bound, beyond which a search would not end."""

_WORDS: Final = {
    "replicas": "Replicas of the one partition.",
    "log_size": "Maximum number of records in a log.",
    "records": "Total number of records written.",
    "epochs": "Leader epochs: decisions of the controller.",
    "restarts": "Maximum number of broker crashes with restart.",
}

EXPLORATION: Final = Record(
    {
        "floodmark": FieldSpec(
            Integer(1, 1, "1, the version of the format, without quotes"), "Version of the format.", required=True
        ),
        "explore": FieldSpec(NAME, "Short name.", required=True),
        "title": FieldSpec(TextType(), "One line about the exploration; default: the name."),
        "story": FieldSpec(TextType(), "What the exploration shows, in a few sentences."),
        "kafka": CLUSTER.keys["kafka"],
        "rules": CLUSTER.keys["rules"],
        "mode": CLUSTER.keys["mode"],
        "as_module": FieldSpec(
            BooleanType(), "Follow Kafka's TLA+ module of KIP-320 instead of Kafka where they differ; default false."
        ),
        "actions": FieldSpec(ListOf(ChoiceType(ACTIONS), 1, len(ACTIONS)), "Allowed actions; default: all."),
    }
    | {
        name: FieldSpec(Integer(*LIMITS[name]), f"{words[:-1]}; default {getattr(ExplorationBounds(), name)}.")
        for name, words in _WORDS.items()
    }
)
"""All keys of an exploration file."""


@dataclass(frozen=True, slots=True)
class Exploration:
    """One exploration: Kafka version, bounds and allowed actions."""

    name: str
    title: str
    story: str
    profile: Profile
    bounds: ExplorationBounds
    as_module: bool


def presets() -> tuple[str, ...]:
    """Return the names of the bundled explorations."""
    return tuple(sorted(path.stem for path in PRESETS.glob("*.yaml")))


def find(source: str) -> Exploration:
    """Return the exploration in a file, or a bundled one by name.

    Raises:
        PlaybookError: it has errors, or cannot be read.
        KeyError: neither exists; the message lists the bundled ones.
    """
    if source in presets():
        return load(PRESETS / f"{source}.yaml")
    if not Path(source).exists() and "/" not in source and not source.endswith((".yaml", ".yml")):
        raise KeyError(
            f"no exploration {shown(source)}{nearest(source, presets())}; expected {', '.join(presets())}, or a file"
        )
    return load(Path(source))


def load(path: Path) -> Exploration:
    """Parse the exploration in a file. Raises :class:`PlaybookError` with all its errors."""
    return loads(read_text(path), str(path))


def loads(text: str, path: str) -> Exploration:
    """Parse the exploration in a text; ``path`` is used in messages."""
    root, problems = compose(text, path)
    notes = ErrorNotes(path, problems)
    if isinstance(root, Mapping) and "explore" not in root.entries and "steps" in root.entries:
        notes.problem(root, "explore", "found a playbook, expected an exploration; use floodmark run for playbooks")
        raise PlaybookError(notes.errors)
    fields = EXPLORATION.open(root, "", notes)
    if fields is None:
        raise PlaybookError(notes.errors)
    for name in EXPLORATION.keys:
        EXPLORATION.fill(fields, name, notes)
    profile = None
    if not fields.bad("kafka") and not fields.bad("mode"):
        try:
            profile = Profile.of(fields.get("kafka", DEFAULT_RELEASE), fields.get("mode"))
            profile = with_rules(profile, fields.get("rules", ()))
        except ModelError as error:
            notes.problem(fields.node.get("mode") or root, "mode", str(error))
    if profile is not None and fields.get("as_module", False) and not profile.kip_320:
        notes.problem(fields.node.get("as_module") or root, "as_module", OLDER.format(profile.version))
    if notes.errors or profile is None:
        raise PlaybookError(notes.errors)
    values = {name: fields.get(name, getattr(ExplorationBounds(), name)) for name in LIMITS}
    bounds = replace(ExplorationBounds(**values), actions=frozenset(fields.get("actions", ACTIONS)))
    name = fields.get("explore")
    story = " ".join(fields.get("story", "").split())
    return Exploration(name, fields.get("title", name), story, profile, bounds, fields.get("as_module", False))

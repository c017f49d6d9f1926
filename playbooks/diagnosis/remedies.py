"""Remedies: settings and operator actions that would have kept a record, each tried, with its cost.

Every change is run with the same seed, steps and operator's actions. It *saves* if no finding of that kind is left,
*helps* if at least a tenth less is left and that is not the chance of one seed. Its cost is the additional rejected
records (failed or with an unknown outcome) and the additional time clients are out of service. A session that does not
reach its end because a condition never held is inconclusive. A session that was cut off is continued from there until
it has recovered, with and without the change, so that the costs are complete.

The cheapest change that saves is confirmed over more seeds before it is recommended. If no change saves by itself,
pairs are tried: acks=all with min.insync.replicas=2 may save what neither does.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Final, Literal, NamedTuple

from cluster_model.checker.root_cause import (
    ABANDONED,
    ABORTED_COMMITTED,
    ACKED_ABORTED,
    DUPLICATE,
    LOST,
    MISSING,
    REORDERED,
    SKIPPED,
    RecordBlock,
)
from cluster_model.known_issues import Effect
from cluster_model.protocol.releases import RELEASE_LINES, Version, line_of, name_of, number_of
from cluster_model.protocol.versions import ELR_FEATURE, modes_of
from cluster_model.util.quantities import counted, thousands
from faults.declarations import Action, FaultError, Value
from playbooks.diagnosis.evidence import EvidenceRecord, holders, is_kept, is_safe, loses
from playbooks.engine.session import Session
from playbooks.engine.worker_pool import JobOutcome, PlaybookJob, run_all
from playbooks.errors import BAD_INPUT
from playbooks.model.playbook import Playbook, Step
from playbooks.parser.document.grid import AxisError, paths_of, values_at
from playbooks.parser.document.yaml_source import Mapping as YamlMapping
from playbooks.parser.document.yaml_source import Scalar, compose
from playbooks.parser.document.yaml_source import Sequence as YamlSequence
from playbooks.parser.loader import loads
from playbooks.parser.settings import SettingError, cell_text
from playbooks.release_changes import issues_of
from playbooks.results.result import SessionResult
from playbooks.results.sweep_matrix import TENTH_US

# Single changed settings, for the kinds of findings that they may prevent.
#
# Each change is a set of ``--set`` options. Changes already in effect, or without effect in the playbook, are left out.


FIXES: Final[dict[str, str]] = {
    "0.11": "KIP-101, KIP-106, KIP-98",
    "2.0": "KIP-279, KAFKA-7128, KAFKA-7415",
    "2.1": "KIP-320",
    "2.7": "KIP-595",
    "3.0": "KIP-679",
    "3.3": "KIP-841",
    "3.7": "KIP-966",
    "4.1": "KIP-966",
}
"""Release lines that fixed something about losses, with the KIP or issue; a line is its last patch."""
_EFFECTS: Final[dict[str, Effect]] = {LOST: "durability", REORDERED: "order"}
"""Kind of findings → effect of the known issues whose fix may prevent them; ``delivery`` for all other kinds."""

WRITING: Final = ("append", "produce_send")
"""Manual steps that write records."""
_WRITES: Final = (LOST, DUPLICATE, REORDERED)
DEFAULTS: Final = "3.0"
"""The version whose producers are idempotent and use acks=all by default: it also prevents duplicates and reordering.
The other versions of :data:`FIXES` are about losses; fewer findings of another kind there are chance.
"""


@dataclass(frozen=True, slots=True)
class SettingChange:
    """One change of the settings of a playbook."""

    name: str
    """Name as people write it: ``acks=all``."""
    settings: tuple[tuple[str, str], ...]
    """Paths and values as for ``--set``."""
    note: str = ""
    """KIP or issue that made the change, for a version."""

    @property
    def options(self) -> tuple[str, ...]:
        """Arguments of ``--set``, one for each path."""
        return tuple(f"{path}={value}" for path, value in self.settings)


def changes(playbook: Playbook, kind: str) -> tuple[SettingChange, ...]:
    """Return all changes worth trying against findings of a kind."""
    root, _problems = compose(playbook.source, playbook.path)
    if not isinstance(root, YamlMapping):
        return ()
    return (*_configurations(playbook, root, kind), *_replication(playbook, kind), *_versions(playbook, kind))


def pairs(singles: Sequence[SettingChange]) -> tuple[SettingChange, ...]:
    """Combine two changes of different settings; versions, which are many, are only tried alone."""
    candidates = [each for each in singles if not _sets_version(each)]
    return tuple(
        SettingChange(
            f"{one.name} with {other.name}",
            (*one.settings, *other.settings),
            ", ".join(filter(None, (one.note, other.note))),
        )
        for one, other in combinations(candidates, 2)
        if not {path for path, _value in one.settings} & {path for path, _value in other.settings}
    )


def _sets_version(change: SettingChange) -> bool:
    return change.settings[0][0] == "cluster.kafka"


def _configurations(playbook: Playbook, root: YamlMapping, kind: str) -> Iterator[SettingChange]:
    by_hand = playbook.spec.manual
    wanted: list[tuple[str, str]] = []
    if kind == LOST:
        wanted += [("min.insync.replicas", str(_min_isr(playbook))), ("unclean.leader.election.enable", "false")]
    if kind in _WRITES and not by_hand:
        wanted = [("acks", "all"), *wanted, ("enable.idempotence", "true")]
    if kind in (DUPLICATE, REORDERED) and not by_hand:
        wanted.append(("max.in.flight.requests.per.connection", "1"))
    if kind in (SKIPPED, ABANDONED) and not by_hand:
        wanted += [("auto.offset.reset", "earliest"), ("enable.auto.commit", "false")]
    if kind in (SKIPPED, ABORTED_COMMITTED, ACKED_ABORTED) and not by_hand:
        wanted.append(("isolation.level", "read_committed"))
    if by_hand and kind in _WRITES:
        yield from _acks_by_hand(root)
    for name, value in wanted:
        yield from _axis(playbook, root, name, value)
    if kind == LOST and _could_have_elr(playbook):
        yield SettingChange("eligible leader replicas", ((f"cluster.config.{ELR_FEATURE}", "1"),), "KIP-966")


def _could_have_elr(playbook: Playbook) -> bool:
    """Return whether ELR can be configured: before 4.0 there is none, and a later version is tried anyway."""
    profile = playbook.spec.profile
    return profile.kraft and not profile.elr and profile.elr_version


def _min_isr(playbook: Playbook) -> int:
    """Return one less than the smallest replication factor of the topics, at least 2."""
    factors = [len(placed) for topic in playbook.spec.topics for placed in topic.placement]
    factors += [topic.replication for topic in playbook.spec.topics if not topic.placement]
    return max(2, min(factors, default=3) - 1)


def _axis(playbook: Playbook, root: YamlMapping, name: str, value: str) -> Iterator[SettingChange]:
    """Yield a change of a configuration wherever it applies, unless it has this value already."""
    try:
        paths = paths_of(name, root, playbook.variables)
        there = values_at(name, root)
    except (AxisError, KeyError):
        return
    if all(isinstance(node, Scalar) and _is_so(node.text, value) for node in there):
        return
    yield SettingChange(f"{name}={value}", tuple((path, value) for path in paths))


def _is_so(current: str, value: str) -> bool:
    """Return whether a value is set already, or a higher one."""
    if value.isdecimal() and current.isdecimal():
        return int(current) >= int(value) if value != "1" else current == value
    return current.lower() in (value, "-1" if value == "all" else value)


def _acks_by_hand(root: YamlMapping) -> Iterator[SettingChange]:
    """Yield the change of acks in the manual steps that write."""
    steps = root.get("steps")
    changes: list[tuple[str, str]] = []
    for number, item in enumerate(steps.items if isinstance(steps, YamlSequence) else (), 1):
        for verb in WRITING:
            written = item.get(verb) if isinstance(item, YamlMapping) else None
            acks = written.get("acks") if isinstance(written, YamlMapping) else None
            if isinstance(written, YamlMapping) and not (isinstance(acks, Scalar) and acks.text == "all"):
                changes.append((f"steps.{number}.{verb}.acks", "all"))
    if changes:
        yield SettingChange("acks=all in every step that writes", tuple(changes))


def _replication(playbook: Playbook, kind: str) -> Iterator[SettingChange]:
    """Yield one more replica for every topic, if there are enough brokers."""
    if kind != LOST or playbook.spec.manual:
        return
    brokers = [broker.id for broker in playbook.spec.brokers]
    settings: list[tuple[str, str]] = []
    for topic in playbook.spec.topics:
        if topic.placement:
            wider = [_wider(placed, brokers) for placed in topic.placement]
            if all(len(new) > len(old) for new, old in zip(wider, topic.placement, strict=True)):
                settings.append((f"topics.{topic.name}.placement", str([list(each) for each in wider])))
        elif topic.replication < len(brokers):
            settings.append((f"topics.{topic.name}.replication", str(topic.replication + 1)))
    if settings:
        yield SettingChange("one more replica", tuple(settings))


def _wider(placed: Sequence[int], brokers: Sequence[int]) -> tuple[int, ...]:
    more = [broker for broker in brokers if broker not in placed]
    return (*placed, *more[:1])


def _versions(playbook: Playbook, kind: str) -> Iterator[SettingChange]:
    """Yield the later versions that fixed something, patches included, and the newest, if they have the mode."""
    spec = playbook.spec
    newest = [version for version in RELEASE_LINES if not spec.mode or spec.mode in modes_of(version)][-1]
    notes: dict[Version, list[str]] = {number_of(newest): []}
    for version, note in FIXES.items():
        named = version != line_of(spec.kafka) and (kind == LOST or (version == DEFAULTS and kind in _WRITES))
        notes.setdefault(number_of(version), []).extend([note] if named else [])
    for issue in issues_of(spec.kafka):
        later = [number_of(line_of(fixed)) for fixed in issue.fixed if number_of(fixed) > number_of(spec.kafka)]
        if issue.effect == _EFFECTS.get(kind, "delivery") and later:
            notes.setdefault(later[0], [])  # no note: whether it is this issue the run does not show
    for number, texts in sorted(notes.items()):
        if number_of(spec.kafka) < number <= number_of(newest):
            patch = ".".join(map(str, number))
            version = patch if line_of(patch) == line_of(spec.kafka) else name_of(number)
            yield SettingChange(f"kafka {version}", (("cluster.kafka", version),), ", ".join(texts))


SEEDS: Final = 5
"""Number of seeds, the session's own first, that confirm a remedy."""
CONFIRMED: Final = 3
"""Number of remedies tried over more seeds until one holds."""

NEEDS_ACKS: Final = "needs acks=all"
_WHERE: Final = re.compile(r"^.*?:[0-9]+:[0-9]+: ")

Verdict = Literal["saves", "helps", "would not have helped", "refused", "inconclusive"]
_ORDER: Final[tuple[Verdict, ...]] = ("saves", "helps", "inconclusive", "would not have helped", "refused")

Run = Callable[[Sequence[PlaybookJob]], list[JobOutcome]]


class RunEnd(NamedTuple):
    """End of the runs: cut off at ``until_us``, or with faults healed and time to recover; -1 for neither."""

    cut_us: int = -1
    settled_us: int = -1


REMAINING: Final[dict[str, str]] = {
    LOST: "lost",
    MISSING: "missing",
    DUPLICATE: "duplicated",
    REORDERED: "reordered",
    SKIPPED: "skipped",
    ABANDONED: "unprocessed",
    ACKED_ABORTED: "aborted",
    ABORTED_COMMITTED: "committed",
}
"""Kind of findings → state of a record that still has one."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """One change of the settings, with its result and costs."""

    change: SettingChange
    verdict: Verdict
    left: int = 0
    """Records with a finding of this kind that remain."""
    before: int = 0
    """Records with such a finding in the session itself."""
    rejected: int = 0
    """Additional rejected records; negative: fewer."""
    unavailable_us: int = 0
    """Additional virtual time in which clients are out of service; negative: less."""
    note: str = ""
    """Why it was refused or is inconclusive."""
    seeds_kept: int = 0
    """Number of seeds, of ``seeds``, without such a finding."""
    seeds: int = 0
    kind: str = LOST
    """Kind of the findings that are counted."""

    @property
    def remaining_text(self) -> str:
        """The remaining records, as text: ``0 of 99 records still lost``."""
        return f"{thousands(self.left)} of {counted(self.before, 'record')} still {REMAINING[self.kind]}"

    @property
    def is_certain(self) -> bool:
        """Whether it saves with every seed tried."""
        return self.verdict == "saves" and self.seeds_kept == self.seeds

    @property
    def was_run(self) -> bool:
        """Whether a session with the change ran to some end, so that its result and costs are known."""
        return self.seeds > 0

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of the published document; null where nothing was run."""
        return {
            "change": self.change.name,
            "set": list(self.change.options),
            "because": self.change.note,
            "verdict": self.verdict,
            "before": self.before,
            "after": self.left if self.was_run else None,
            "rejected": self.rejected if self.was_run else None,
            "unavailable_us": self.unavailable_us if self.was_run else None,
            "note": self.note,
            "seeds_kept": self.seeds_kept,
            "seeds": self.seeds,
        }


def count_of(result: SessionResult, kind: str) -> int:
    """Return the number of records in findings of this kind."""
    ledger = result.ledger
    if kind == LOST:
        return ledger.acked_lost
    if kind == DUPLICATE:
        return ledger.duplicates
    if kind == REORDERED:
        return ledger.reordered
    return sum(finding.count for finding in getattr(result, "findings", ()) if finding.kind == kind)


def evaluate(
    playbook: Playbook,
    seed: int,
    actual: SessionResult,
    kind: str,
    *,
    run: Run = run_all,
    until_us: int = -1,
    seeds: int = SEEDS,
) -> tuple[Remedy, ...]:
    """Try every change and rank them, the cheapest that saves first; of pairs keep those better than either alone.

    ``actual`` is the result of the session as it was; ``until_us`` is where it was cut off, -1 for nowhere; ``seeds``
    is the number of seeds that have to confirm the best, 1 for only its own.
    """
    seeds = 1 if playbook.spec.manual else seeds

    wanted = changes(playbook, kind)
    actual, end = _recovered(playbook, seed, actual, kind, run, until_us) if wanted else (actual, RunEnd())

    def ranked(wanted: Sequence[SettingChange]) -> tuple[Remedy, ...]:
        found = sorted(_fewer_versions(_tried(playbook, wanted, seed, actual, kind, run, end)), key=price)
        return _confirmed(playbook, found, seed, kind, run, end, seeds)

    singles = ranked(wanted)
    if any(each.verdict == "saves" for each in singles):
        return singles
    least = min((each.left for each in singles if each.verdict not in ("refused", "inconclusive")), default=None)
    least = count_of(actual, kind) if least is None else least
    better = [each for each in ranked(pairs(wanted)) if each.verdict in ("saves", "helps") and each.left < least]
    return tuple(sorted([*singles, *better], key=price))


def _tried(
    playbook: Playbook,
    wanted: Sequence[SettingChange],
    seed: int,
    actual: SessionResult,
    kind: str,
    run: Run,
    end: RunEnd,
) -> list[Remedy]:
    """Run each change and return its result."""
    tried = [_job(playbook, change, seed, end) for change in wanted]
    outcomes = iter(run([job for job in tried if isinstance(job, PlaybookJob)]))
    return [
        _judged(playbook, change, next(outcomes), actual, kind)
        if isinstance(job, PlaybookJob)
        else Remedy(change, "refused", note=job, before=count_of(actual, kind), kind=kind)
        for change, job in zip(wanted, tried, strict=True)
    ]


def _recovered(
    playbook: Playbook, seed: int, actual: SessionResult, kind: str, run: Run, until_us: int
) -> tuple[SessionResult, RunEnd]:
    """Return the result to compare runs with, and their end.

    For a session that was cut off that is the same session, recovered, unless it has none of the findings by then.
    """
    if until_us < 0 or playbook.spec.manual:
        return actual, RunEnd(until_us)
    job = PlaybookJob(playbook.source, playbook.path, seed, fragments=playbook.fragments, settle_us=until_us)
    (outcome,) = run([job])
    if outcome.result is None or not count_of(outcome.result, kind):
        return actual, RunEnd(until_us)
    return outcome.result, RunEnd(settled_us=until_us)


def _fewer_versions(remedies: list[Remedy]) -> list[Remedy]:
    """Of the versions keep only the first that saves and the newest: those in between add nothing."""
    versions = [each for each in remedies if _sets_version(each.change)]
    kept = [each for each in versions if each.verdict == "saves"][:1] + versions[-1:]
    return [each for each in remedies if not _sets_version(each.change) or each in kept]


def price(remedy: Remedy) -> tuple[int, ...]:
    """Return the ranking key of a remedy, the best first; times to the tenth of a second."""
    tenths = (remedy.unavailable_us + TENTH_US // 2) // TENTH_US
    return (_ORDER.index(remedy.verdict), remedy.left, max(0, remedy.rejected), max(0, tenths))


def _job(playbook: Playbook, change: SettingChange, seed: int, end: RunEnd) -> PlaybookJob | str:
    """Return the session with a change made, or a sentence if the change is impossible."""
    settings = dict(change.settings)
    try:
        text = cell_text(playbook.source, settings, playbook.fragments, playbook.variables)
    except SettingError as error:
        return str(error)
    return PlaybookJob(
        text, playbook.path, seed, None, settings, end.cut_us, playbook.fragments, settle_us=end.settled_us
    )  # fmt: skip


def _judged(playbook: Playbook, change: SettingChange, outcome: JobOutcome, actual: SessionResult, kind: str) -> Remedy:
    before = count_of(actual, kind)
    result = outcome.result
    if result is None:
        verdict: Verdict = "refused" if outcome.code == BAD_INPUT else "inconclusive"
        return Remedy(change, verdict, before=before, note=_first(outcome.error), kind=kind)
    left = count_of(result, kind)
    if result.reason and not actual.reason:
        verdict = "inconclusive"
    else:
        verdict = "saves" if not left else "helps" if left * 10 <= before * 9 else "would not have helped"
    return Remedy(
        change,
        verdict,
        left,
        before,
        _rejected(result, _changed(playbook, outcome.job)) - _rejected(actual, playbook),
        result.unavailable.us - actual.unavailable.us,
        result.reason if verdict == "inconclusive" else "",
        int(verdict == "saves"),
        1,
        kind,
    )


def _changed(playbook: Playbook, job: PlaybookJob) -> Playbook:
    """Return the playbook that was run; for manual sessions its steps differ."""
    return loads(job.text, job.path, job.fragments) if playbook.spec.manual else playbook


def _rejected(result: SessionResult, playbook: Playbook) -> int:
    """Return the number of records that failed or have an unknown outcome.

    A manual step that is refused stops at its first record: the records that it did not send count, too.
    """
    ledger = result.ledger
    requested = sum(_written(step) for step in playbook.steps if step.name in WRITING) if playbook.spec.manual else 0
    return ledger.failed + ledger.unknown + max(0, requested - ledger.sent)


def _written(step: Step) -> int:
    return int(step.params.get("records", len(step.params.get("names", ())) or 1))


def _first(text: str) -> str:
    """Return the first line of a message, without its place in a text that no user has."""
    line = text.partition("\n")[0]
    message = _WHERE.sub("", line)
    return NEEDS_ACKS if "acks must be all" in message else message


def _confirmed(
    playbook: Playbook, ranked: list[Remedy], seed: int, kind: str, run: Run, end: RunEnd, seeds: int
) -> tuple[Remedy, ...]:  # fmt: skip
    """Run the best remedies over more seeds: one that loses records with another seed only helps."""
    others = [seed + number for number in range(1, seeds)]
    for _attempt in range(CONFIRMED):
        index = next((n for n, each in enumerate(ranked) if each.verdict == "saves"), -1)
        if index < 0 or not others or ranked[index].seeds > 1:
            break
        best = ranked[index]
        jobs = [_job(playbook, best.change, other, end) for other in others]
        outcomes = run([job for job in jobs if isinstance(job, PlaybookJob)])
        results = [each.result for each in outcomes if each.result is not None and not each.result.reason]
        kept = sum(not count_of(each, kind) for each in results)
        best = replace(best, seeds_kept=1 + kept, seeds=1 + len(results))
        ranked[index] = best if best.is_certain else replace(best, verdict="helps")
        ranked.sort(key=price)
    if not playbook.spec.manual:
        ranked = sorted(map(_by_chance, ranked), key=price)
    return tuple(ranked)


def _by_chance(remedy: Remedy) -> Remedy:
    """Mark a partial improvement of a timed session with one seed as inconclusive: timing alone may cause it."""
    if remedy.verdict != "helps" or remedy.seeds > 1:
        return remedy
    return replace(remedy, verdict="inconclusive", note=f"{remedy.remaining_text}, with 1 seed")


# The operator actions that are tried to keep a record: a closed set, each possible with Kafka's admin tools or a
# service.
#
# Before each action the rest of the session is called off: no further step of the playbook, and no further action of
# its operator. Faults stay active until the action heals them, or until :data:`HOLD_US` later, when producers stop and
# everything heals as at the end of every session. A record is kept if it is not lost after the quiet time that follows
# (at least :data:`QUIET_US`), and if its partition has lost nothing that the session itself had not: an
# action that saves one acknowledged record at the price of another does not count.


HOLD_US: Final = 20_000_000
"""Time from an action to the healing of all active faults."""
QUIET_US: Final = 30_000_000
"""Minimum quiet time from then to the verdict."""
ELECTION_US: Final = 12_000_000
"""Time from stopping brokers until an election is requested: longer than the default session timeout of a broker."""
MOVE_US: Final = 3_000_000
_LOOK_US: Final = 500_000

CALL_OFF: Final = "call-off"
UNCLEAN: Final = "elect-unclean"
SET: Final[dict[str, str]] = {
    CALL_OFF: "only cancelling the remaining steps",
    "heal": "healing every fault, brokers that are down included",
    "restart": "restarting a broker that is down",
    "forbid-unclean": "setting unclean.leader.election.enable=false on the topic",
    "stop-lacking": "stopping every replica that lacks the record",
    "lead": "moving the leadership to a running replica that holds it",
    UNCLEAN: "stopping the producers and every replica that lacks it, and an unclean election among those that hold it",
}
"""Kinds of actions with their descriptions, in the order in which they are tried and listed."""


@dataclass(frozen=True, slots=True)
class RescueAction:
    """One operator action in one situation, with its delays."""

    kind: str
    """A key of :data:`SET`."""
    words: str
    """The action as the subject of a sentence: ``restarting broker 2``."""
    fault_records: tuple[tuple[int, Action], ...] = ()
    """Fault and admin actions, each with its delay after the fork."""
    producers: bool = True
    """Whether the producers continue."""


def rescues(session: Session, wanted: EvidenceRecord) -> Iterator[RescueAction]:
    """Yield the actions of the set that apply in the current state of a session."""
    cluster_state = session.cluster.cluster_state
    record = cluster_state.records.get(wanted.partition)
    yield RescueAction(CALL_OFF, "cancelling the remaining steps")
    if session.board.active():
        yield RescueAction("heal", "healing every fault", ((0, Action("heal", "all")),))
    if record is None:
        return
    down = [broker for broker in record.assignment if not cluster_state.is_up(broker)]
    for broker in down:
        yield RescueAction("restart", f"restarting broker {broker}", ((0, _restart(broker)),))
    topic = wanted.partition.rpartition("-")[0]
    forbidding: dict[str, Value] = {"topic": topic, "set": (("unclean.leader.election.enable", "false"),)}
    yield RescueAction(
        "forbid-unclean",
        f"unclean.leader.election.enable=false on {topic}",
        ((0, Action("admin", "alter_topic_config", "", forbidding)),),
    )
    yield from _of_holders(session, wanted, record.assignment, down)


def _of_holders(
    session: Session, wanted: EvidenceRecord, assignment: tuple[int, ...], down: list[int]
) -> Iterator[RescueAction]:  # fmt: skip
    """Yield the actions that need a replica with the record."""
    there = [broker for broker in holders(session.cluster.cluster_state, wanted) if broker in assignment]
    lacking = [broker for broker in assignment if broker not in there and broker not in down]
    if not there:
        return
    stopping = tuple((0, Action("inject", "crash", f"broker({broker})")) for broker in lacking)
    names = " and ".join(f"broker {broker}" for broker in lacking)
    if lacking:
        yield RescueAction("stop-lacking", f"stopping {names}", stopping)
    leader = session.cluster.cluster_state.record(wanted.partition).leader
    for broker in there:
        if broker not in down and broker != leader:
            order = (broker, *[other for other in assignment if other != broker])
            move = Action("admin", "reassign", "", {"partition": wanted.partition, "brokers": order})
            elect = Action("admin", "elect_leaders", "", {"partition": wanted.partition})
            yield RescueAction("lead", f"moving the leadership to broker {broker}", ((0, move), (MOVE_US, elect)))
    if leader in there and leader not in down:
        return
    starting = tuple((0, _restart(broker)) for broker in there if broker in down)
    elect = Action("admin", "elect_leaders", "", {"partition": wanted.partition, "unclean": True})
    started = f"starting {' and '.join(f'broker {each}' for each in there if each in down)}, " if starting else ""
    stopped = f", stopping {names}" if lacking else ""
    words = f"{started}stopping the producers{stopped}, and an unclean election of {_one_of(there)}"
    yield RescueAction(UNCLEAN, words, (*stopping, *starting, (ELECTION_US, elect)), producers=False)


def _one_of(brokers: list[int]) -> str:
    return " or ".join(f"broker {broker}" for broker in brokers)


def _restart(broker: int) -> Action:
    return Action("inject", "restart", f"broker({broker})")


def keeps(
    fork: Callable[[], Session], rescue: RescueAction, wanted: EvidenceRecord, already_lost: Sequence[RecordBlock]
) -> bool:
    """Return whether an action at the point of ``fork`` keeps the record and loses none but those ``already_lost``."""
    session = fork()
    session.cancel_steps()
    if not rescue.producers:
        session.cluster.stop_producers()
    start = session.cluster.now_us
    for after_us, action in rescue.fault_records:
        session.advance(start + after_us)
        with suppress(FaultError):
            session.act(action)
    survives = _run(session, wanted, start + HOLD_US)
    if survives is None:
        session.cluster.stop_producers()
        session.board.heal("all")
        survives = _run(session, wanted, session.cluster.now_us + max(QUIET_US, session.playbook.settle_us))
    if survives is None:
        survives = is_kept(session.cluster.cluster_state, wanted)
    return survives and not loses(
        session.cluster.cluster_state, session.cluster.checker.ledger, wanted.partition, already_lost
    )


def _run(session: Session, wanted: EvidenceRecord, until_us: int) -> bool | None:
    """Run until it is certain whether the record is kept; None if it is not by ``until_us``."""
    cluster_state = session.cluster.cluster_state
    while True:
        if not holders(cluster_state, wanted):
            return False
        if not session.board.active() and not session.board.operations() and is_safe(cluster_state, wanted):
            return True
        if session.cluster.now_us >= until_us:
            return None
        session.advance(min(until_us, session.cluster.now_us + _LOOK_US))

"""Settings and operator actions that would have saved a record: each is run, with what it would have cost.

Every change is run with the same seed, steps and operator's actions. It *saves* if nothing of the finding's kind is
left, *helps* if there is less by a tenth or more and that is no chance of one seed. Its price is what the session
rejects more, records that failed or whose outcome nobody knows, and for how much longer clients are refused. A session
that does not come to its end the same way, because a step waited in vain, is inconclusive and proves nothing. One that
was cut off has not paid its price by then: it is run on from there until it has recovered, with and without the change.

What saves at the least price is run over more seeds before it is recommended: one that disagrees takes it back. Where
no change saves by itself, pairs of them are tried: acks=all with min.insync.replicas=2 may save what neither does.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Final, Literal, NamedTuple

from cluster_model.checker.root_cause import ABANDONED, DUPLICATE, LEAKED, LOST, REORDERED, SKIPPED, UNDONE, RecordBlock
from cluster_model.protocol.versions import ELR_FEATURE, PROFILE_VERSIONS, modes_of, parse_version
from faults.declarations import Action, FaultError, Value
from playbooks.diagnosis.evidence import EvidenceRecord, holders, in_order, is_kept, loses
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
from playbooks.results.result import SessionResult
from playbooks.results.sweep_matrix import TENTH_US

# Changed settings, one at a time, for the kinds of findings that they may help.
#
# Each change is a set of ``--set`` options. What is so already, and what means nothing in the playbook, is left out.


MENDS: Final[dict[str, str]] = {
    "0.11": "KIP-101, KIP-106, KIP-98",
    "1.1": "KAFKA-7128, KAFKA-7415, released in 2.0.1",
    "2.0": "KIP-279",
    "2.1": "KIP-320",
    "2.7": "KIP-595",
    "3.0": "KIP-679",
    "3.3": "KIP-841",
    "3.7": "KIP-966",
    "4.1": "KIP-966",
}
"""Versions that fixed something about losses, and what names it.

The last state of a release line counts: KAFKA-7128 and KAFKA-7415 are on branch 1.1 after 1.1.1, and no release before
2.0.1 has them."""

WRITING: Final = ("append", "produce_send")
"""Steps by hand that write."""
_WRITES: Final = (LOST, DUPLICATE, REORDERED)
DEFAULTS: Final = "3.0"
"""The version whose producers are idempotent and ask for acks=all: that is about duplicates and order, too. What
:data:`MENDS` names else is about losses; less of another kind under such a version is not its doing."""


@dataclass(frozen=True, slots=True)
class SettingChange:
    """One thing set otherwise."""

    name: str
    """As a person would say it: ``acks=all``."""
    settings: tuple[tuple[str, str], ...]
    """Paths and values as ``--set`` takes them."""
    note: str = ""
    """What names it in Kafka's history, for a version."""

    @property
    def options(self) -> tuple[str, ...]:
        """What to type behind ``--set``, one each."""
        return tuple(f"{path}={value}" for path, value in self.settings)


def changes(playbook: Playbook, kind: str) -> tuple[SettingChange, ...]:
    """Everything that is worth trying against findings of a kind."""
    root, _problems = compose(playbook.source, playbook.path)
    if not isinstance(root, YamlMapping):
        return ()
    return (*_configurations(playbook, root, kind), *_replication(playbook, kind), *_versions(playbook, kind))


def pairs(singles: Sequence[SettingChange]) -> tuple[SettingChange, ...]:
    """Two changes at a time, of different settings; versions, which are many, are tried alone."""
    found = [each for each in singles if not _sets_version(each)]
    return tuple(
        SettingChange(
            f"{one.name} with {other.name}",
            (*one.settings, *other.settings),
            ", ".join(filter(None, (one.note, other.note))),
        )
        for one, other in combinations(found, 2)
        if not {path for path, _value in one.settings} & {path for path, _value in other.settings}
    )


def _sets_version(change: SettingChange) -> bool:
    return change.settings[0][0] == "cluster.kafka"


def _configurations(playbook: Playbook, root: YamlMapping, kind: str) -> Iterator[SettingChange]:
    by_hand = playbook.spec.manual
    asked: list[tuple[str, str]] = []
    if kind == LOST:
        asked += [("min.insync.replicas", str(_min_isr(playbook))), ("unclean.leader.election.enable", "false")]
    if kind in _WRITES and not by_hand:
        asked = [("acks", "all"), *asked, ("enable.idempotence", "true")]
    if kind in (DUPLICATE, REORDERED) and not by_hand:
        asked.append(("max.in.flight.requests.per.connection", "1"))
    if kind in (SKIPPED, ABANDONED) and not by_hand:
        asked += [("auto.offset.reset", "earliest"), ("enable.auto.commit", "false")]
    if kind in (SKIPPED, LEAKED, UNDONE) and not by_hand:
        asked.append(("isolation.level", "read_committed"))
    if by_hand and kind in _WRITES:
        yield from _acks_by_hand(root)
    for name, value in asked:
        yield from _axis(playbook, root, name, value)
    if kind == LOST and _could_have_elr(playbook):
        yield SettingChange("eligible leader replicas", ((f"cluster.config.{ELR_FEATURE}", "1"),), "KIP-966")


def _could_have_elr(playbook: Playbook) -> bool:
    """Whether it is a matter of configuration: before 4.0 there is none, and a later version is tried anyway."""
    profile = playbook.spec.profile
    return profile.kraft and not profile.elr and profile.elr_version


def _min_isr(playbook: Playbook) -> int:
    """One less than the replicas of the topic that has fewest, and 2 at least."""
    factors = [len(placed) for topic in playbook.spec.topics for placed in topic.placement]
    factors += [topic.replication for topic in playbook.spec.topics if not topic.placement]
    return max(2, min(factors, default=3) - 1)


def _axis(playbook: Playbook, root: YamlMapping, name: str, value: str) -> Iterator[SettingChange]:
    """A configuration wherever it can stand, unless it stands there so already."""
    try:
        paths = paths_of(name, root, playbook.variables)
        there = values_at(name, root)
    except (AxisError, KeyError):
        return
    if all(isinstance(node, Scalar) and _is_so(node.text, value) for node in there):
        return
    yield SettingChange(f"{name}={value}", tuple((path, value) for path in paths))


def _is_so(found: str, value: str) -> bool:
    """Whether a value is there already, or more of it than was asked for."""
    if value.isdecimal() and found.isdecimal():
        return int(found) >= int(value) if value != "1" else found == value
    return found.lower() in (value, "-1" if value == "all" else value)


def _acks_by_hand(root: YamlMapping) -> Iterator[SettingChange]:
    """Where steps write, acks is theirs."""
    steps = root.get("steps")
    found: list[tuple[str, str]] = []
    for number, item in enumerate(steps.items if isinstance(steps, YamlSequence) else (), 1):
        for verb in WRITING:
            written = item.get(verb) if isinstance(item, YamlMapping) else None
            acks = written.get("acks") if isinstance(written, YamlMapping) else None
            if isinstance(written, YamlMapping) and not (isinstance(acks, Scalar) and acks.text == "all"):
                found.append((f"steps.{number}.{verb}.acks", "all"))
    if found:
        yield SettingChange("acks=all in every step that writes", tuple(found))


def _replication(playbook: Playbook, kind: str) -> Iterator[SettingChange]:
    """One more replica of every topic, as far as there are brokers for it."""
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
    """The later versions that mended something, and the newest, as far as they have the mode."""
    spec = playbook.spec
    newest = [version for version in PROFILE_VERSIONS if not spec.mode or spec.mode in modes_of(version)][-1]
    for version in dict.fromkeys([*MENDS, newest]):
        if parse_version(spec.kafka) < parse_version(version) <= parse_version(newest):
            named = kind == LOST or (version == DEFAULTS and kind in _WRITES)
            note = MENDS.get(version, "") if named else ""
            yield SettingChange(f"kafka {version}", (("cluster.kafka", version),), note)


SEEDS: Final = 5
"""Over how many seeds, its own first, a remedy is confirmed."""
CONFIRMED: Final = 3
"""How many remedies are tried over more seeds until one holds."""

NEEDS_ACKS: Final = "needs acks=all"
_WHERE: Final = re.compile(r"^.*?:[0-9]+:[0-9]+: ")

Verdict = Literal["saves", "helps", "would not have helped", "refused", "inconclusive"]
_ORDER: Final[tuple[Verdict, ...]] = ("saves", "helps", "inconclusive", "would not have helped", "refused")

Run = Callable[[Sequence[PlaybookJob]], list[JobOutcome]]


class End(NamedTuple):
    """Where runs end before their playbook does: cut off, or with faults healed and time to recover; -1 for neither."""

    cut_us: int = -1
    settled_us: int = -1


@dataclass(frozen=True, slots=True)
class Remedy:
    """One change and what came of it."""

    change: SettingChange
    verdict: Verdict
    left: int = 0
    """Records that still meet the fate in question."""
    before: int = 0
    """How many did in the session."""
    rejected: int = 0
    """Records rejected more than in the session; negative: fewer."""
    unavailable_us: int = 0
    """Virtual time for which clients are refused longer; negative: shorter."""
    note: str = ""
    """Why it was refused or is inconclusive."""
    seeds_kept: int = 0
    """Seeds over which nothing was lost, of ``seeds``."""
    seeds: int = 0

    @property
    def is_certain(self) -> bool:
        """Whether it saves with every seed tried."""
        return self.verdict == "saves" and self.seeds_kept == self.seeds

    @property
    def was_run(self) -> bool:
        """Whether a session with the change ran to some end, so that it left and cost something."""
        return self.seeds > 0

    def to_json(self) -> dict[str, Any]:
        """As the answer prints it; null is what nobody knows of a change with which nothing was run."""
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
    """Records of a result that met this fate."""
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
    """Every change tried, what saves at the least price first; of pairs those that do better than either alone.

    ``actual`` is the result of the session as it was; ``until_us`` where it was cut off, -1 for nowhere; ``seeds`` how
    many the best is to hold for, 1 for none but its own.
    """
    seeds = 1 if playbook.spec.manual else seeds

    wanted = changes(playbook, kind)
    actual, end = _recovered(playbook, seed, actual, kind, run, until_us) if wanted else (actual, End())

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
    playbook: Playbook, wanted: Sequence[SettingChange], seed: int, actual: SessionResult, kind: str, run: Run, end: End
) -> list[Remedy]:
    """Each change with its outcome."""
    tried = [_job(playbook, change, seed, end) for change in wanted]
    outcomes = iter(run([job for job in tried if isinstance(job, PlaybookJob)]))
    return [
        _judged(playbook, change, next(outcomes), actual, kind)
        if isinstance(job, PlaybookJob)
        else Remedy(change, "refused", note=job, before=count_of(actual, kind))
        for change, job in zip(wanted, tried, strict=True)
    ]


def _recovered(
    playbook: Playbook, seed: int, actual: SessionResult, kind: str, run: Run, until_us: int
) -> tuple[SessionResult, End]:
    """What runs with a change are compared with, and where they end.

    Of a session that was cut off that is the same one, recovered, unless it has none of the findings by then.
    """
    if until_us < 0 or playbook.spec.manual:
        return actual, End(until_us)
    job = PlaybookJob(playbook.source, playbook.path, seed, fragments=playbook.fragments, settle_us=until_us)
    (outcome,) = run([job])
    if outcome.result is None or not count_of(outcome.result, kind):
        return actual, End(until_us)
    return outcome.result, End(settled_us=until_us)


def _fewer_versions(found: list[Remedy]) -> list[Remedy]:
    """Of the versions only the first that saves and the newest: those in between say nothing more."""
    versions = [each for each in found if _sets_version(each.change)]
    told = [each for each in versions if each.verdict == "saves"][:1] + versions[-1:]
    return [each for each in found if not _sets_version(each.change) or each in told]


def price(remedy: Remedy) -> tuple[int, ...]:
    """What remedies are ranked by, the best first; times to the tenth of a second."""
    tenths = (remedy.unavailable_us + TENTH_US // 2) // TENTH_US
    return (_ORDER.index(remedy.verdict), remedy.left, max(0, remedy.rejected), max(0, tenths))


def _job(playbook: Playbook, change: SettingChange, seed: int, end: End) -> PlaybookJob | str:
    """The session with a change made; a sentence where it cannot be made."""
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
        return Remedy(change, verdict, before=before, note=_first(outcome.error))
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
    )


def _changed(playbook: Playbook, job: PlaybookJob) -> Playbook:
    """What was run; only by hand do its steps count here."""
    return loads(job.text, job.path, job.fragments) if playbook.spec.manual else playbook


def _rejected(result: SessionResult, playbook: Playbook) -> int:
    """Records that failed or whose outcome nobody knows.

    By hand a step that is refused gives up at its first record: those that it was to send and did not count, too.
    """
    ledger = result.ledger
    asked = sum(_written(step) for step in playbook.steps if step.name in WRITING) if playbook.spec.manual else 0
    return ledger.failed + ledger.unknown + max(0, asked - ledger.sent)


def _written(step: Step) -> int:
    return int(step.params.get("records", len(step.params.get("names", ())) or 1))


def _first(text: str) -> str:
    """The first line of what was said, without its place in a text that nobody has."""
    line = text.partition("\n")[0]
    said = _WHERE.sub("", line)
    return NEEDS_ACKS if "acks must be all" in said else said


def _confirmed(
    playbook: Playbook, ranked: list[Remedy], seed: int, kind: str, run: Run, end: End, seeds: int
) -> tuple[Remedy, ...]:  # fmt: skip
    """The same, the best of them run over more seeds: one that loses with another seed only helps."""
    others = [seed + number for number in range(1, seeds)]
    for _attempt in range(CONFIRMED):
        place = next((n for n, each in enumerate(ranked) if each.verdict == "saves"), -1)
        if place < 0 or not others or ranked[place].seeds > 1:
            break
        best = ranked[place]
        jobs = [_job(playbook, best.change, other, end) for other in others]
        outcomes = run([job for job in jobs if isinstance(job, PlaybookJob)])
        results = [each.result for each in outcomes if each.result is not None and not each.result.reason]
        kept = sum(not count_of(each, kind) for each in results)
        best = replace(best, seeds_kept=1 + kept, seeds=1 + len(results))
        ranked[place] = best if best.is_certain else replace(best, verdict="helps")
        ranked.sort(key=price)
    if not playbook.spec.manual:
        ranked = sorted(map(_by_chance, ranked), key=price)
    return tuple(ranked)


def _by_chance(remedy: Remedy) -> Remedy:
    """Less with one seed of a timed session proves nothing: any other course of events has less or more."""
    if remedy.verdict != "helps" or remedy.seeds > 1:
        return remedy
    return replace(remedy, verdict="inconclusive", note=f"{remedy.left} of {remedy.before} left, with 1 seed")


# The operator's actions that are tried to keep a record: a closed set, each with Kafka's admin tools or a service's.
#
# With every one of them the rest of the session is called off first: no further step of the playbook, and nothing
# more of what its operator did. What is broken stays broken until the action mends it, or until :data:`HOLD_US`
# later, when producers stop and everything heals as at the end of every session. A record is kept if it is not lost
# after the quiet time that follows (at least :data:`QUIET_US`), and if its partition has lost nothing that the
# session itself had not: an action that saves one acknowledged record at the price of another does not count.


HOLD_US: Final = 20_000_000
"""From an action to the healing of whatever is still broken."""
QUIET_US: Final = 30_000_000
"""From then to the verdict at least."""
ELECTION_US: Final = 12_000_000
"""From stopping brokers until an election is asked for: longer than the default sessions of a broker."""
MOVE_US: Final = 3_000_000
_LOOK_US: Final = 500_000

CALL_OFF: Final = "call-off"
UNCLEAN: Final = "elect-unclean"
SET: Final[dict[str, str]] = {
    CALL_OFF: "nothing but calling the rest off",
    "heal": "healing everything that is broken, brokers that are down included",
    "restart": "restarting a broker that is down",
    "forbid-unclean": "setting unclean.leader.election.enable=false on the topic",
    "stop-lacking": "stopping every replica that lacks the record",
    "lead": "moving the leadership to a running replica that holds it",
    UNCLEAN: "stopping the producers and every replica that lacks it, and an unclean election among those that hold it",
}
"""Every kind of action, in the order in which they are tried and told."""


@dataclass(frozen=True, slots=True)
class Rescue:
    """One action for one situation."""

    kind: str
    """Of :data:`SET`."""
    words: str
    """As the subject of a sentence: ``restarting broker 2``."""
    deeds: tuple[tuple[int, Action], ...] = ()
    """What is done, and how long after the fork."""
    producers: bool = True
    """Whether they go on."""


def rescues(session: Session, wanted: EvidenceRecord) -> Iterator[Rescue]:
    """What of the set means anything where a session stands."""
    world = session.cluster.world
    record = world.records.get(wanted.partition)
    yield Rescue(CALL_OFF, "going no further")
    if session.board.active():
        yield Rescue("heal", "healing everything that was broken", ((0, Action("heal", "all")),))
    if record is None:
        return
    down = [broker for broker in record.assignment if not world.is_up(broker)]
    for broker in down:
        yield Rescue("restart", f"restarting broker {broker}", ((0, _restart(broker)),))
    topic = wanted.partition.rpartition("-")[0]
    forbidding: dict[str, Value] = {"topic": topic, "set": (("unclean.leader.election.enable", "false"),)}
    yield Rescue(
        "forbid-unclean",
        f"unclean.leader.election.enable=false on {topic}",
        ((0, Action("admin", "alter_topic_config", "", forbidding)),),
    )
    yield from _of_holders(session, wanted, record.assignment, down)


def _of_holders(
    session: Session, wanted: EvidenceRecord, assignment: tuple[int, ...], down: list[int]
) -> Iterator[Rescue]:  # fmt: skip
    """Actions that need somebody who has the record."""
    there = [broker for broker in holders(session.cluster.world, wanted) if broker in assignment]
    lacking = [broker for broker in assignment if broker not in there and broker not in down]
    if not there:
        return
    stopping = tuple((0, Action("inject", "crash", f"broker({broker})")) for broker in lacking)
    names = " and ".join(f"broker {broker}" for broker in lacking)
    if lacking:
        yield Rescue("stop-lacking", f"stopping {names}", stopping)
    leader = session.cluster.world.record(wanted.partition).leader
    for broker in there:
        if broker not in down and broker != leader:
            order = (broker, *[other for other in assignment if other != broker])
            move = Action("admin", "reassign", "", {"partition": wanted.partition, "brokers": order})
            elect = Action("admin", "elect_leaders", "", {"partition": wanted.partition})
            yield Rescue("lead", f"moving the leadership to broker {broker}", ((0, move), (MOVE_US, elect)))
    if leader in there and leader not in down:
        return
    starting = tuple((0, _restart(broker)) for broker in there if broker in down)
    elect = Action("admin", "elect_leaders", "", {"partition": wanted.partition, "unclean": True})
    started = f"starting {' and '.join(f'broker {each}' for each in there if each in down)}, " if starting else ""
    stopped = f", stopping {names}" if lacking else ""
    words = f"{started}stopping the producers{stopped}, and an unclean election of {_one_of(there)}"
    yield Rescue(UNCLEAN, words, (*stopping, *starting, (ELECTION_US, elect)), producers=False)


def _one_of(brokers: list[int]) -> str:
    return " or ".join(f"broker {broker}" for broker in brokers)


def _restart(broker: int) -> Action:
    return Action("inject", "restart", f"broker({broker})")


def keeps(fork: Callable[[], Session], rescue: Rescue, wanted: EvidenceRecord, given_up: Sequence[RecordBlock]) -> bool:
    """Whether an action, done where ``fork`` stands, keeps the record and loses none but those ``given_up``."""
    session = fork()
    session.call_off()
    if not rescue.producers:
        session.cluster.stop_producers()
    start = session.cluster.now_us
    for after_us, action in rescue.deeds:
        session.advance(start + after_us)
        with suppress(FaultError):
            session.act(action)
    fate = _run(session, wanted, start + HOLD_US)
    if fate is None:
        session.cluster.stop_producers()
        session.board.heal("all")
        fate = _run(session, wanted, session.cluster.now_us + max(QUIET_US, session.playbook.settle_us))
    if fate is None:
        fate = is_kept(session.cluster.world, wanted)
    return fate and not loses(session.cluster.world, session.cluster.checker.ledger, wanted.partition, given_up)


def _run(session: Session, wanted: EvidenceRecord, until_us: int) -> bool | None:
    """Run on until the record's fate is certain; None when it is not by then."""
    world = session.cluster.world
    while True:
        if not holders(world, wanted):
            return False
        if not session.board.active() and not session.board.operations() and in_order(world, wanted):
            return True
        if session.cluster.now_us >= until_us:
            return None
        session.advance(min(until_us, session.cluster.now_us + _LOOK_US))

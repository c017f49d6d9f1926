"""Checks whether something is safe: what an action adds to what happens without it, over all seeds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import median_low
from typing import Any, Final, Literal

from cluster_model.protocol.configs import BrokerConfig
from cluster_model.util.quantities import acks_text, counted, short_seconds
from cluster_model.util.ranges import length
from faults.declarations import NobodyFoundError, SelectorError, resolve
from playbooks.engine.session import Session
from playbooks.errors import PlaybookError
from playbooks.model.playbook import Playbook, Step
from playbooks.parser.document.context import PlaybookNames
from playbooks.parser.steps.timed_steps import facts_of
from playbooks.results.outages import ClientKey
from playbooks.safety_check.question import read_list, read_question
from playbooks.safety_check.simulation import (
    FIRST,
    ActionPlan,
    FuturePair,
    Lost,
    ReaderImpact,
    ServiceIntervals,
    Spans,
    longest,
    longest_added,
    put,
    without,
)
from playbooks.safety_check.start_point import StartPoint, StartPointError

Verdict = Literal["safe", "loses", "violates", "skips", "stalls", "refused", "inconclusive"]
STALL_US: Final = 2_000_000
"""Longest time without service that counts as none: twice the producers' ``retry.backoff.max.ms`` (KIP-580).

A leader that moves in order costs a client a refusal and a retry or two; one that dies costs it
``broker.session.timeout.ms`` (9 s) or ``zookeeper.session.timeout.ms`` (18 s, before 2.5 6 s).
"""
WHY_STALL: Final = "twice retry.backoff.max.ms; a leader that moves in order costs less, one that dies more"
_WORST_FIRST: Final[tuple[Verdict, ...]] = ("loses", "violates", "skips", "stalls", "refused", "inconclusive", "safe")


@dataclass(frozen=True, slots=True)
class Effect:
    """What the action adds under one seed. Times are microseconds."""

    pair: FuturePair
    writes: dict[ClientKey, Spans]
    """When a producer was not served and without the action would have been."""
    reads: dict[str, Spans]
    """Likewise of partitions that nobody led."""
    under_min: dict[str, Spans]
    readers: dict[str, ReaderImpact]
    """By group, what the action adds."""
    losses: tuple[Lost, ...]
    """Those that do not stand among what is lost without it."""
    violations: tuple[tuple[str, str, str], ...]
    unfinished: tuple[str, ...]

    @property
    def seed(self) -> int:
        """Of its draws."""
        return self.pair.action.seed

    def more(self, name: str) -> int:
        """By how much one of the counts is higher than without the action; never less than nothing."""
        return max(0, int(getattr(self.pair.action, name)) - int(getattr(self.pair.baseline, name)))

    @property
    def lost(self) -> int:
        """Acknowledged records lost."""
        return self.more("acked_lost")

    @property
    def stall_us(self) -> int:
        """The longest time in which a producer was not served on a partition."""
        return max(map(longest, self.writes.values()), default=0)

    @property
    def leaderless_us(self) -> int:
        """The longest time in which nobody led a partition."""
        return max(map(longest, self.reads.values()), default=0)

    @property
    def skipped(self) -> int:
        """Records that groups skip, those of all groups together."""
        return sum(each.skipped for each in self.readers.values())

    @property
    def group_stall_us(self) -> int:
        """The longest time in which a group was handed nothing of a partition that had something for it."""
        return max((each.read_stall_us for each in self.readers.values()), default=0)

    @property
    def read_stall_us(self) -> int:
        """The longer of the two: a partition without a leader, or a group that was handed nothing."""
        return max(self.leaderless_us, self.group_stall_us)

    @property
    def stalled(self) -> ClientKey | None:
        """Who that was, and on which partition."""
        return max(self.writes, key=lambda key: longest(self.writes[key]), default=None)

    def verdict(self, stall_us: int) -> Verdict:
        """Of this seed alone."""
        action = self.pair.action
        if self.lost:
            return "loses"
        if self.violations:
            return "violates"
        if self.skipped:
            return "skips"
        if max(self.stall_us, self.read_stall_us) > stall_us:
            return "stalls"
        if action.seen.refused:
            return "refused"
        return "inconclusive" if action.waited or self.unfinished else "safe"


def effect(pair: FuturePair) -> Effect:
    """The difference between the two."""
    action, baseline = pair.action, pair.baseline
    known = {(each.partition, each.cause, each.acks): each.count for each in baseline.losses}
    broken = [each[:2] for each in baseline.violations]
    return Effect(
        pair,
        _added(action.seen.writes, baseline.seen.writes),
        _added(action.seen.partitions, baseline.seen.partitions),
        _added(action.seen.under_min, baseline.seen.under_min),
        {
            name: felt.added_to(baseline.readers.get(name, ReaderImpact()), _stall_added(name, pair))
            for name, felt in action.readers.items()
        },
        tuple([each for each in action.losses if each.count > known.get((each.partition, each.cause, each.acks), 0)]),
        tuple([each for each in action.violations if each[:2] not in broken]),
        tuple([each for each in action.unfinished if each not in baseline.unfinished]),
    )


def _stall_added(group: str, pair: FuturePair) -> int:
    """The most that the action adds to a time in which the group was handed nothing of a partition."""
    anyhow = pair.baseline.seen.reads
    return max(
        [longest_added(spans, anyhow.get(key, ())) for key, spans in pair.action.seen.reads.items() if key[0] == group],
        default=0,
    )


def _added(found: dict[Any, Spans], anyhow: dict[Any, Spans]) -> dict[Any, Spans]:
    left = {key: without(spans, anyhow.get(key, ())) for key, spans in found.items()}
    return {key: spans for key, spans in left.items() if spans}


@dataclass(frozen=True, slots=True)
class SafetyAnswer:
    """What is to be said over all seeds."""

    effects: tuple[Effect, ...]
    stall_us: int
    """What counts as a stall: more than this."""

    @property
    def verdict(self) -> Verdict:
        """The worst of all seeds."""
        found = [each.verdict(self.stall_us) for each in self.effects]
        return next(verdict for verdict in _WORST_FIRST if verdict in found)

    @property
    def worst(self) -> Effect:
        """The seed to show: of the worst verdict, with the most lost, else the longest stall; of equals the first."""
        ranked = [each for each in self.effects if each.verdict(self.stall_us) == self.verdict]
        return max(ranked, key=lambda each: (each.lost, each.skipped, each.stall_us, each.read_stall_us, -each.seed))

    @property
    def by_reads(self) -> bool:
        """Whether only readers make it unsafe, and no producer was out for as long."""
        return self.worst.stall_us <= self.stall_us

    def over(self, name: str) -> "Spread":
        """A property of the effects over all seeds; seeds count in which it is more than nothing, or a stall."""
        values = [int(getattr(each, name)) for each in self.effects]
        least = self.stall_us if name.endswith("stall_us") else 0
        return Spread(max(values), median_low(values), sum(value > least for value in values))

    def most(self, name: str) -> int:
        """The highest of :meth:`Effect.more` of one of the counts."""
        return max(each.more(name) for each in self.effects)

    @property
    def why(self) -> str:
        """Why the worst seed is no good, in one sentence; empty where all are."""
        worst = self.worst
        if self.verdict == "loses":
            found = max(worst.losses, key=lambda each: each.count, default=None)
            return found.cause if found is not None else "acknowledged records are in no log any more"
        if self.verdict == "violates":
            return f"{worst.violations[0][0]} on {worst.violations[0][1]}: {worst.violations[0][2]}"
        if self.verdict == "skips":
            return _why_skipped(worst)
        if self.verdict == "stalls":
            return _why_read(worst) if self.by_reads else _why_stalled(worst)
        if self.verdict == "refused":
            return worst.pair.action.seen.refused[0]
        if self.verdict == "inconclusive":
            under_way = f"still under way: {', '.join(worst.unfinished)}; --for gives it more time"
            return worst.pair.action.waited or under_way
        return ""


@dataclass(frozen=True, slots=True)
class Spread:
    """A number over all seeds."""

    worst: int
    median: int
    seeds: int
    """In how many of them it matters."""


def _why_skipped(effect: Effect) -> str:
    name, felt = max(effect.readers.items(), key=lambda item: item[1].skipped)
    moved = f" after {counted(felt.resets, 'offset reset')}" if felt.resets else ""
    return f"{name} is never handed {counted(felt.skipped, 'record')}{moved}, and reads on behind them"


def _why_read(effect: Effect) -> str:
    if effect.group_stall_us > effect.leaderless_us:
        group, felt = max(effect.readers.items(), key=lambda item: item[1].read_stall_us)
        told = (
            f"{group} was handed nothing for {short_seconds(felt.read_stall_us)} of a partition that had records for it"
        )
        return (
            f"{told}; partitions had no owner for {short_seconds(felt.idle_us)}, summed over them"
            if felt.idle_us
            else told
        )
    name = max(effect.reads, key=lambda key: longest(effect.reads[key]))
    return f"nobody led {name} for {short_seconds(longest(effect.reads[name]))}"


def _why_stalled(effect: Effect) -> str:
    """Which of the two it was, the ISR or the leader: whichever lasted longer meanwhile."""
    key = effect.stalled
    assert key is not None
    client, acks, partition = key
    spans = effect.writes[key]
    span = max(spans, key=lambda each: each[1] - each[0])
    seen: ServiceIntervals = effect.pair.action.seen
    short_us = _meanwhile(span, seen.under_min.get(partition, ())) if acks == -1 else 0
    out_us = _meanwhile(span, seen.partitions.get(partition, ()))
    error = seen.errors.get(key, "")
    answered = f"; {client} was answered {error}" if error else ""
    if short_us >= out_us and short_us:
        return f"{partition} had fewer in sync than min.insync.replicas for {short_seconds(short_us)}{answered}"
    if out_us:
        return f"nobody led {partition} for {short_seconds(out_us)}{answered}"
    return f"{client} acks={acks_text(acks)} got no record into {partition}{answered}"


def _meanwhile(span: tuple[int, int], others: Spans) -> int:
    return length((span,)) - length(without((span,), others))


# A question with its start point, its options and its answer.


SEEDS: Final = 20
HORIZON_US: Final = 60_000_000
"""How long is watched after the last action, at least."""
_ROUND_US: Final = 10_000_000
REST: Final = ""
"""The question of what the playbook would still do."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, ready to be put."""

    text: str
    """As it was typed; empty for what the playbook would still do."""
    plan: ActionPlan
    horizon_words: str
    """How long is watched, and why so long."""


@dataclass(frozen=True, slots=True)
class SafetyCheckResult:
    """A question with its answer."""

    standing: StartPoint
    question: Question
    answer: SafetyAnswer


def prepare(
    standing: StartPoint, text: str = REST, *, steps: tuple[str, str] | None = None, horizon_us: int = -1
) -> Question:
    """Read a question about a session where it stands. ``steps`` are text and path of a file that has them instead.

    Raises:
        PlaybookError: with what is wrong with the question.
        StandingError: there is nothing to ask about.
    """
    session = standing.session()
    facts = _facts(session)
    if steps is not None:
        found = read_list(*steps, facts, FIRST + 1)
    elif text:
        found = read_question(text, facts, lambda target: _is_down(session, target), FIRST + 1)
    else:
        found = standing.rest()
        if not found:
            raise StartPointError(
                f"{standing.path}: nothing is still to be done; ask about an action, as in 'restart broker(2)'",
                code="nothing_left_to_do",
            )
    lasting_us, why = _horizon(session, horizon_us)
    return Question(text, ActionPlan(tuple([_limited(step, lasting_us) for step in found]), lasting_us), why)


def check_wording(playbook: Playbook, text: str, steps: tuple[str, str] | None = None) -> None:
    """Refuse at once what cannot be meant at any instant: going there takes time. Topics may yet come, states change.

    Raises:
        PlaybookError: with what is wrong with the question.
    """
    facts = replace(facts_of(playbook.spec), topics=None)
    if steps is not None:
        read_list(*steps, facts)
    elif text:
        try:
            read_question(text, facts)
        except PlaybookError as error:
            try:
                read_question(text, facts, lambda target: True)
            except PlaybookError:
                raise error from None


def ask(
    standing: StartPoint,
    question: Question,
    *,
    seeds: Sequence[int],
    stall_us: int = STALL_US,
    workers: int = 0,
    tell: Callable[[str], None] = lambda text: None,
) -> SafetyCheckResult:
    """Put a question to every seed; the answer does not depend on how many processes do it.

    Raises:
        AskingError: it cannot be answered.
    """
    pairs = put(standing, question.plan, seeds, workers=workers, tell=tell)
    return SafetyCheckResult(standing, question, SafetyAnswer(tuple(map(effect, pairs)), stall_us))


def _limited(step: Step, limit_us: int) -> Step:
    """A condition without a limit of its own is waited for as long as is watched."""
    trigger = step.trigger
    if trigger.kind != "when" or trigger.within_us >= 0:
        return step
    return replace(step, trigger=replace(trigger, within_us=limit_us))


def _horizon(session: Session, chosen_us: int) -> tuple[int, str]:
    """As it was asked for; else long enough for a broker to be missed and for a replica to be taken out of its ISR.

    The latter is looked for every half of ``replica.lag.time.max.ms`` (``ReplicaManager``, ``isr-expiration``).
    """
    if chosen_us >= 0:
        return chosen_us, "as asked for"
    spec = session.playbook.spec
    config = BrokerConfig.of(spec.profile, spec.config)
    needed_us = config.session_us + config.lag_time_us * 3 // 2
    rounded_us = -(-needed_us // _ROUND_US) * _ROUND_US
    key = "broker.session.timeout.ms" if spec.mode == "kraft" else "zookeeper.session.timeout.ms"
    if rounded_us <= HORIZON_US:
        return HORIZON_US, f"longer than {key} and one and a half replica.lag.time.max.ms"
    return rounded_us, f"{key} and one and a half replica.lag.time.max.ms"


def _facts(session: Session) -> PlaybookNames:
    """Names of the cluster as it stands, topics that came later among them."""
    facts = facts_of(session.playbook.spec)
    counts: dict[str, int | None] = dict(facts.topics or {})
    for each in session.cluster.view().partitions:
        topic = each.name.rpartition("-")[0]
        if not each.internal and facts.topics is not None and topic not in facts.topics:
            counts[topic] = (counts.get(topic) or 0) + 1
    return replace(facts, topics=counts)


def _is_down(session: Session, target: str) -> bool:
    """Whether all that a target means now is down; what draws, or means nobody, is not."""
    stream = session.cluster.stream("targets")
    position = stream.position
    try:
        nodes = resolve(target, session.cluster)
    except (NobodyFoundError, SelectorError):
        return False
    finally:
        stream.position = position
    return bool(nodes) and not any(session.cluster.is_up(node) for node in nodes)

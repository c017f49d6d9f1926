"""Safety check of an action: what it adds to the baseline without it, over all seeds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import median_low
from typing import Any, Final, Literal

from cluster_model.protocol.configs import BrokerConfig
from cluster_model.util.quantities import acks_text, counted, short_seconds
from cluster_model.util.ranges import length
from faults.declarations import NoMatchError, SelectorError, resolve
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
    LossGroup,
    ReaderImpact,
    ServiceIntervals,
    Spans,
    longest,
    longest_added,
    run_seeds,
    without,
)
from playbooks.safety_check.start_point import StartPoint, StartPointError

Verdict = Literal["safe", "loses", "violates", "skips", "stalls", "refused", "inconclusive"]
STALL_US: Final = 2_000_000
"""Longest outage that does not count as a stall: twice the producers' ``retry.backoff.max.ms`` (KIP-580).

A clean leader change costs a client one or two failed attempts and retries; a leader crash costs it
``broker.session.timeout.ms`` (9 s) or ``zookeeper.session.timeout.ms`` (18 s, before 2.5 6 s).
"""
WHY_STALL: Final = "twice retry.backoff.max.ms; a clean leader change takes less, a leader crash more"
_WORST_FIRST: Final[tuple[Verdict, ...]] = ("loses", "violates", "skips", "stalls", "refused", "inconclusive", "safe")


@dataclass(frozen=True, slots=True)
class SafetyEffect:
    """Effect of the action under one seed. Times are microseconds."""

    pair: FuturePair
    writes: dict[ClientKey, Spans]
    """Outages of producers that do not occur without the action."""
    reads: dict[str, Spans]
    """The same for partitions without a leader."""
    under_min: dict[str, Spans]
    readers: dict[str, ReaderImpact]
    """Additional effect on readers, by group."""
    losses: tuple[LossGroup, ...]
    """Losses that do not occur without the action."""
    violations: tuple[tuple[str, str, str], ...]
    unfinished: tuple[str, ...]

    @property
    def seed(self) -> int:
        """Seed of the random draws in the future."""
        return self.pair.action.seed

    def more(self, name: str) -> int:
        """Return by how much a count is higher than without the action; at least 0."""
        return max(0, int(getattr(self.pair.action, name)) - int(getattr(self.pair.baseline, name)))

    @property
    def lost(self) -> int:
        """Acknowledged records lost."""
        return self.more("acked_lost")

    @property
    def stall_us(self) -> int:
        """Longest outage of a producer at a partition."""
        return max(map(longest, self.writes.values()), default=0)

    @property
    def leaderless_us(self) -> int:
        """Longest time in which a partition had no leader."""
        return max(map(longest, self.reads.values()), default=0)

    @property
    def skipped(self) -> int:
        """Records that groups skip, summed over groups."""
        return sum(each.skipped for each in self.readers.values())

    @property
    def group_stall_us(self) -> int:
        """Longest time in which a group received nothing of a partition that had records for it."""
        return max((each.read_stall_us for each in self.readers.values()), default=0)

    @property
    def read_stall_us(self) -> int:
        """The longer of two: a partition without a leader, or a read stall of a group."""
        return max(self.leaderless_us, self.group_stall_us)

    @property
    def stalled(self) -> ClientKey | None:
        """Client, acks level and partition of the longest outage."""
        return max(self.writes, key=lambda key: longest(self.writes[key]), default=None)

    def verdict(self, stall_us: int) -> Verdict:
        """Return the verdict of this seed alone."""
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


def effect(pair: FuturePair) -> SafetyEffect:
    """Return the difference between the futures with and without the action."""
    action, baseline = pair.action, pair.baseline
    baseline_losses = {(each.partition, each.cause, each.acks): each.count for each in baseline.losses}
    broken = [each[:2] for each in baseline.violations]
    return SafetyEffect(
        pair,
        _added(action.seen.writes, baseline.seen.writes),
        _added(action.seen.partitions, baseline.seen.partitions),
        _added(action.seen.under_min, baseline.seen.under_min),
        {
            name: felt.added_to(baseline.readers.get(name, ReaderImpact()), _stall_added(name, pair))
            for name, felt in action.readers.items()
        },
        tuple(
            [
                each
                for each in action.losses
                if each.count > baseline_losses.get((each.partition, each.cause, each.acks), 0)
            ]
        ),
        tuple([each for each in action.violations if each[:2] not in broken]),
        tuple([each for each in action.unfinished if each not in baseline.unfinished]),
    )


def _stall_added(group: str, pair: FuturePair) -> int:
    """Return the largest increase of a read stall of the group through the action."""
    anyhow = pair.baseline.seen.reads
    return max(
        [longest_added(spans, anyhow.get(key, ())) for key, spans in pair.action.seen.reads.items() if key[0] == group],
        default=0,
    )


def _added(measured: dict[Any, Spans], anyhow: dict[Any, Spans]) -> dict[Any, Spans]:
    left = {key: without(spans, anyhow.get(key, ())) for key, spans in measured.items()}
    return {key: spans for key, spans in left.items() if spans}


@dataclass(frozen=True, slots=True)
class SafetyAnswer:
    """Answer to a question, evaluated over all seeds."""

    effects: tuple[SafetyEffect, ...]
    stall_us: int
    """Threshold: longer outages count as stalls."""

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of all seeds."""
        found = [each.verdict(self.stall_us) for each in self.effects]
        return next(verdict for verdict in _WORST_FIRST if verdict in found)

    @property
    def worst(self) -> SafetyEffect:
        """The seed to show: of the worst verdict, that with the most lost, then the longest stall, then the first."""
        ranked = [each for each in self.effects if each.verdict(self.stall_us) == self.verdict]
        return max(ranked, key=lambda each: (each.lost, each.skipped, each.stall_us, each.read_stall_us, -each.seed))

    @property
    def by_reads(self) -> bool:
        """Whether only readers make it unsafe, and no producer was out of service for as long."""
        return self.worst.stall_us <= self.stall_us

    def spread_of(self, name: str) -> "SeedSpread":
        """Return a property of the effects over all seeds, and in how many it is positive, or a stall."""
        values = [int(getattr(each, name)) for each in self.effects]
        least = self.stall_us if name.endswith("stall_us") else 0
        return SeedSpread(max(values), median_low(values), sum(value > least for value in values))

    def maximum(self, name: str) -> int:
        """Return the maximum of :meth:`SafetyEffect.more` of a count."""
        return max(each.more(name) for each in self.effects)

    @property
    def why(self) -> str:
        """The reason for the verdict of the worst seed, in one sentence; empty if all are safe."""
        worst = self.worst
        if self.verdict == "loses":
            found = max(worst.losses, key=lambda each: each.count, default=None)
            return found.cause if found is not None else "acknowledged records are no longer in any log"
        if self.verdict == "violates":
            return f"{worst.violations[0][0]} on {worst.violations[0][1]}: {worst.violations[0][2]}"
        if self.verdict == "skips":
            return _why_skipped(worst)
        if self.verdict == "stalls":
            return _why_read(worst) if self.by_reads else _why_stalled(worst)
        if self.verdict == "refused":
            return worst.pair.action.seen.refused[0]
        if self.verdict == "inconclusive":
            under_way = f"still running: {', '.join(worst.unfinished)}; give it more time with --for"
            return worst.pair.action.waited or under_way
        return ""


@dataclass(frozen=True, slots=True)
class SeedSpread:
    """Worst value and median of a number over all seeds."""

    worst: int
    median: int
    seeds: int
    """Number of seeds in which it matters."""


def _why_skipped(effect: SafetyEffect) -> str:
    name, felt = max(effect.readers.items(), key=lambda item: item[1].skipped)
    moved = f" after {counted(felt.resets, 'offset reset')}" if felt.resets else ""
    return f"{name} never receives {counted(felt.skipped, 'record')}{moved}, and continues after them"


def _why_read(effect: SafetyEffect) -> str:
    if effect.group_stall_us > effect.leaderless_us:
        group, felt = max(effect.readers.items(), key=lambda item: item[1].read_stall_us)
        text = f"{group} received nothing for {short_seconds(felt.read_stall_us)} from a partition with records for it"
        idle = short_seconds(felt.idle_us)
        return f"{text}; partitions had no owner for {idle} in total" if felt.idle_us else text
    name = max(effect.reads, key=lambda key: longest(effect.reads[key]))
    return f"{name} had no leader for {short_seconds(longest(effect.reads[name]))}"


def _why_stalled(effect: SafetyEffect) -> str:
    """Explain the stall by a short ISR or a missing leader, whichever lasted longer during it."""
    key = effect.stalled
    assert key is not None
    client, acks, partition = key
    spans = effect.writes[key]
    span = max(spans, key=lambda each: each[1] - each[0])
    seen: ServiceIntervals = effect.pair.action.seen
    short_us = _meanwhile(span, seen.under_min.get(partition, ())) if acks == -1 else 0
    out_us = _meanwhile(span, seen.partitions.get(partition, ()))
    error = seen.errors.get(key, "")
    answered = f"; {client} received {error}" if error else ""
    if short_us >= out_us and short_us:
        return f"{partition} was below min.insync.replicas for {short_seconds(short_us)}{answered}"
    if out_us:
        return f"{partition} had no leader for {short_seconds(out_us)}{answered}"
    return f"{client} acks={acks_text(acks)} had no record acknowledged by {partition}{answered}"


def _meanwhile(span: tuple[int, int], others: Spans) -> int:
    return length((span,)) - length(without((span,), others))


# The question with its start point, options and answer.


SEEDS: Final = 20
HORIZON_US: Final = 60_000_000
"""Minimum time simulated after the last action."""
_ROUND_US: Final = 10_000_000
REMAINING_STEPS: Final = ""
"""The question about the remaining steps of the playbook."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question, ready to be evaluated."""

    text: str
    """The question as typed; empty for the remaining steps of the playbook."""
    plan: ActionPlan
    horizon_words: str
    """Simulated time after the last action, and the reason for it."""


@dataclass(frozen=True, slots=True)
class SafetyCheckResult:
    """A question with its start point and answer."""

    start_point: StartPoint
    question: Question
    answer: SafetyAnswer


def prepare(
    start: StartPoint, text: str = REMAINING_STEPS, *, steps: tuple[str, str] | None = None, horizon_us: int = -1
) -> Question:
    """Parse a question about a session at its start point. ``steps``: text and path of a file with the steps instead.

    Raises:
        PlaybookError: the question has errors.
        StartPointError: there is nothing to ask about.
    """
    session = start.session()
    facts = _facts(session)
    if steps is not None:
        actions = read_list(*steps, facts, FIRST + 1)
    elif text:
        actions = read_question(text, facts, lambda target: _is_down(session, target), FIRST + 1)
    else:
        actions = start.remaining_steps()
        if not actions:
            raise StartPointError(
                f"{start.path}: no steps remain; ask about an action, such as 'restart broker(2)'",
                code="nothing_left_to_do",
            )
    lasting_us, why = _horizon(session, horizon_us)
    return Question(text, ActionPlan(tuple([_limited(step, lasting_us) for step in actions]), lasting_us), why)


def check_question(playbook: Playbook, text: str, steps: tuple[str, str] | None = None) -> None:
    """Reject a question that is invalid at any time, before the session is run; topics and states may still change.

    Raises:
        PlaybookError: the question has errors.
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
    start: StartPoint,
    question: Question,
    *,
    seeds: Sequence[int],
    stall_us: int = STALL_US,
    workers: int = 0,
    on_progress: Callable[[str], None] = lambda text: None,
) -> SafetyCheckResult:
    """Evaluate a question with every seed; the answer does not depend on the number of processes.

    Raises:
        SafetyCheckError: it cannot be answered.
    """
    pairs = run_seeds(start, question.plan, seeds, workers=workers, on_progress=on_progress)
    return SafetyCheckResult(start, question, SafetyAnswer(tuple(map(effect, pairs)), stall_us))


def _limited(step: Step, limit_us: int) -> Step:
    """Give a condition without a limit the simulated time as its limit."""
    trigger = step.trigger
    if trigger.kind != "when" or trigger.within_us >= 0:
        return step
    return replace(step, trigger=replace(trigger, within_us=limit_us))


def _horizon(session: Session, chosen_us: int) -> tuple[int, str]:
    """Return the simulated time after the last action and its reason.

    By default it suffices to fence a broker and to remove a replica from its ISR. The latter is checked every half of
    ``replica.lag.time.max.ms`` (``ReplicaManager``, ``isr-expiration``).
    """
    if chosen_us >= 0:
        return chosen_us, "as requested"
    spec = session.playbook.spec
    config = BrokerConfig.of(spec.profile, spec.config)
    needed_us = config.session_us + config.lag_time_us * 3 // 2
    rounded_us = -(-needed_us // _ROUND_US) * _ROUND_US
    key = "broker.session.timeout.ms" if spec.mode == "kraft" else "zookeeper.session.timeout.ms"
    if rounded_us <= HORIZON_US:
        return HORIZON_US, f"longer than {key} and one and a half replica.lag.time.max.ms"
    return rounded_us, f"{key} and one and a half replica.lag.time.max.ms"


def _facts(session: Session) -> PlaybookNames:
    """Return the names of the current cluster, including topics created later."""
    facts = facts_of(session.playbook.spec)
    counts: dict[str, int | None] = dict(facts.topics or {})
    for each in session.cluster.view().partitions:
        topic = each.name.rpartition("-")[0]
        if not each.internal and facts.topics is not None and topic not in facts.topics:
            counts[topic] = (counts.get(topic) or 0) + 1
    return replace(facts, topics=counts)


def _is_down(session: Session, target: str) -> bool:
    """Return whether all targets are down now; False for a random target and for no target."""
    stream = session.cluster.stream("targets")
    position = stream.position
    try:
        nodes = resolve(target, session.cluster)
    except (NoMatchError, SelectorError):
        return False
    finally:
        stream.position = position
    return bool(nodes) and not any(session.cluster.is_up(node) for node in nodes)

"""Is it safe? Answers on small clusters, what they leave out, and that a wrong way of finding them would be seen."""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.checker.ledger.ledger import Ledger
from cluster_model.cluster import Cluster
from cluster_model.util.ranges import length
from faults.declarations.fault import Action
from playbooks.engine.session import Session
from playbooks.errors import PlaybookError
from playbooks.library.bundled import path_of
from playbooks.model.playbook import Playbook, Step
from playbooks.parser.loader import changed, load, loads
from playbooks.recording.reader import read_session
from playbooks.recording.recorder import Recorder
from playbooks.results.outages import ServiceTracker
from playbooks.safety_check import check, question
from playbooks.safety_check.check import SafetyAnswer, SafetyCheckResult, SafetyEffect, ask, check_question, prepare
from playbooks.safety_check.report import (
    EXIT_CODES,
    WitnessError,
    headline,
    lines,
    title,
    to_json,
    witness,
    witness_text,
)
from playbooks.safety_check.simulation import (
    ActionPlan,
    ForkSimulator,
    Future,
    ServiceMonitor,
    longest,
    reseeding,
    without,
)
from playbooks.safety_check.start_point import StartPoint, StartPointError, TimePoint, of_playbook, of_session
from tests.support.breadth import spread_sample
from tests.support.playbooks import CLUSTER as BUSY
from tests.support.playbooks import timed as of_cluster
from tests.support.wording import masked_text

pytestmark = pytest.mark.slow

S = 1_000_000
SEEDS = (1, 2)
SHORT = 12 * S
CLUSTER = BUSY.replace("100/s", "20/s").replace("offsets.topic", "broker.session.timeout.ms: 4000, offsets.topic")
LAGGING = CLUSTER.replace("offsets.topic", "replica.lag.time.max.ms: 2000, offsets.topic")
ONE_COPY = CLUSTER.replace("[[1, 2, 3]], config: {min.insync.replicas: 2}", "[[1]]")
ACKS_ONE = CLUSTER.replace("acks: all", "acks: 1")
UNCLEAN = LAGGING.replace("min.insync.replicas: 2", "min.insync.replicas: 1, unclean.leader.election.enable: true")
BLIND = "restart broker(1) down=1s; after 500ms restart broker(2) down=1s; after 500ms restart broker(3) down=3s"
WAITING = (
    "restart broker(1) down=1s; when under_replicated() == 0 restart broker(2) down=1s;"
    " when under_replicated() == 0 restart broker(3) down=1s"
)


def timed(steps: str = "", settle: str = "1s", cluster: str = CLUSTER) -> Playbook:
    return of_cluster(steps, settle=settle, cluster=cluster)


def asked(
    text: str, playbook: Playbook | None = None, at_us: int = 3 * S, seeds: tuple[int, ...] = SEEDS, workers: int = 1
) -> SafetyCheckResult:
    playbook = playbook or timed(settle="5s")
    return of(of_playbook(playbook, playbook.seed, TimePoint(at_us)), text, seeds, workers)


def of(
    start: StartPoint, text: str, seeds: tuple[int, ...] = SEEDS, workers: int = 1, horizon_us: int = SHORT
) -> SafetyCheckResult:
    return ask(start, prepare(start, text, horizon_us=horizon_us), seeds=seeds, workers=workers)


# -- rolling restarts -----------------------------------------------------------------------------------------------


@cache
def blind() -> SafetyAnswer:
    return asked(BLIND).answer


def test_a_rolling_restart_that_does_not_wait_stalls_writes() -> None:
    assert blind().verdict == "stalls"
    assert blind().spread_of("stall_us").seeds == len(SEEDS)
    assert blind().spread_of("lost").worst == 0
    assert "min.insync.replicas" in blind().why or "had no leader" in blind().why
    assert headline(blind()).startswith("not safe:")


def test_a_rolling_restart_that_waits_for_the_isr_is_safe() -> None:
    found = asked(WAITING)
    assert found.answer.verdict == "safe", lines(found)
    assert all(len(each.pair.action.acted) == 3 for each in found.answer.effects)
    assert not any(each.under_min for each in found.answer.effects)
    assert headline(found.answer) == "safe over 2 seeds"
    assert witness_text(found.answer) == "safe"


@pytest.mark.parametrize(("name", "verdict"), [("blind", "stalls"), ("waiting", "safe")])
def test_bundled_rolling_restarts_keep_their_verdict(name: str, verdict: str) -> None:
    playbook = changed(load(path_of(f"rolling-restart-{name}")), {"producers.checkout.rate": "20/s", "settle": "1s"})
    standing = of_playbook(playbook, playbook.seed, TimePoint())
    assert standing.at_us == 10 * S
    assert ask(standing, prepare(standing, horizon_us=S), seeds=SEEDS[:1], workers=1).answer.verdict == verdict


# -- other actions --------------------------------------------------------------------------------------------------


def test_the_only_copy_is_restarted(snapshot: SnapshotAssertion) -> None:
    found = asked("restart broker(1)", timed(cluster=ONE_COPY, settle="5s"))
    assert found.answer.verdict == "stalls"
    assert "orders-0" in found.answer.why
    assert re.sub(r"\d[\d.]*", "N", found.answer.why) == snapshot


DOWN = "clean_shutdown client(billing/0) for 6s"
KEPT = CLUSTER.replace("replicas: 2", "replicas: 2, retention.ms: 3000, segment.ms: 1000").replace(
    "offsets.topic", "log.retention.check.interval.ms: 500, log.initial.task.delay.ms: 500, offsets.topic"
)
MISSED = CLUSTER.replace("topics: [orders]}", "topics: [orders], config: {session.timeout.ms: 6000}}")
LATER = "- {at: 60s, heal: all}"
"""What the playbook would still do."""


def test_a_group_whose_only_member_is_down_reads_nothing() -> None:
    found = asked(DOWN, timed(LATER), 12 * S)
    (felt,) = found.answer.worst.readers.values()
    assert (found.answer.verdict, found.answer.by_reads) == ("stalls", True)
    assert 5 * S < felt.read_stall_us == found.answer.worst.read_stall_us
    assert felt.idle_us > 5 * S
    assert (felt.skipped, felt.resets, found.answer.worst.leaderless_us) == (0, 0, 0)
    assert "billing" in found.answer.why


def test_offsets_deleted_by_retention_are_skipped_by_the_group() -> None:
    found = asked(DOWN, timed(LATER, cluster=KEPT), 12 * S)
    (felt,) = found.answer.worst.readers.values()
    assert (found.answer.verdict, EXIT_CODES[found.answer.verdict]) == ("skips", 1)
    assert (felt.resets, found.answer.worst.skipped) == (1, felt.skipped)
    assert felt.skipped > 60
    assert witness_text(found.answer).startswith("consumer groups skip")
    document = to_json(found, "x", "")
    assert document["skipped"]["worst"] == max(row["readers"]["billing"]["skipped"] for row in document["runs"])
    assert f"skipped(billing) == {felt.skipped}" in witness(found)


def test_a_killed_member_has_its_group_read_again() -> None:
    found = asked("crash client(billing/0) for 1s", timed(LATER, cluster=MISSED), 12 * S)
    (felt,) = found.answer.worst.readers.values()
    assert felt.reread > 20
    assert any("billing" in line and f" {felt.reread} records again" in line for line in lines(found))


def test_earlier_read_stalls_are_not_attributed_to_the_action() -> None:
    steps = f"- {{at: 5s, inject: clean_shutdown, target: client(billing/0), for: 4s}}\n{LATER}"
    found = asked("slow_cpu broker(3) for 1s", timed(steps), 16 * S)
    (felt,) = found.answer.worst.readers.values()
    assert (found.answer.verdict, felt.skipped, felt.reread, felt.resets) == ("safe", 0, 0, 0)
    assert felt.read_stall_us < S
    assert found.start_point.session().client_stats.groups["billing"].idle_us > 3 * S


GONE = f"- {{at: 5s, inject: clean_shutdown, target: client(billing/0), for: 8s}}\n{LATER}"
"""The group's only member is down from 5 s to 13 s."""


@cache
def gone() -> SafetyCheckResult:
    """Asked while nobody reads, about an action that takes effect shortly before somebody does again."""
    return asked("after 6950ms gc_pause coordinator(billing) for 300ms", timed(GONE), 6 * S, (1,))


def test_read_stalls_of_the_baseline_are_not_attributed_to_the_action() -> None:
    effect = gone().answer.effects[0]
    assert effect.pair.baseline.readers["billing"].read_stall_us > 6 * S
    assert effect.pair.action.readers["billing"].read_stall_us > effect.pair.baseline.readers["billing"].read_stall_us
    assert effect.group_stall_us < S
    assert gone().answer.verdict == "safe"


def test_a_condition_on_read_stalls_sees_what_was_before_the_question() -> None:
    steps = f"- {{at: 5s, inject: clean_shutdown, target: client(billing/0), for: 3s}}\n{LATER}"
    found = asked("when longest_read_stall(billing) > 2s crash broker(3)", timed(steps), 14 * S, (1,))
    ((at_us, _executed),) = found.answer.worst.pair.action.acted
    assert at_us < 14 * S + S // 10


def test_readers_are_watched_as_long_as_writers() -> None:
    """What the group waits for while the cluster settles is not counted: writes are not watched then, either."""
    found = asked("after 1s clean_shutdown client(billing/0) for 20s", timed(LATER), 5 * S, (1,))
    action = found.answer.worst.pair.action
    assert longest(action.seen.reads["billing", "orders-0"]) == action.readers["billing"].read_stall_us
    assert action.readers["billing"].read_stall_us > 5 * S
    assert all(end <= action.end_us for spans in action.seen.reads.values() for _start, end in spans)


@cache
def alone() -> SafetyCheckResult:
    """Both followers have fallen behind, the leader alone is in sync, and anybody may lead."""
    steps = "- {at: 2s, inject: isolate, target: followers(orders-0), to: leader(orders-0), direction: both, for: 8s}"
    return asked("crash leader(orders-0)", timed(steps, cluster=UNCLEAN, settle="5s"), 7 * S)


def test_the_last_in_sync_dies_and_elections_may_be_unclean() -> None:
    found = alone().answer
    assert found.verdict == "loses", lines(alone())
    assert found.worst.losses
    assert f" {found.spread_of('lost').worst} " in headline(found)
    assert witness_text(found).startswith(f"up to {found.worst.lost} ")


def test_acks_1_losses_are_bounded_by_unreplicated_records() -> None:
    steps = "- {at: 2s, inject: lag, target: followers(orders-0), latency: 150ms}\n- {at: 50s, heal: all}"
    found = asked("crash leader(orders-0)", timed(steps, cluster=ACKS_ONE, settle="5s"), 4 * S, (1, 2, 3))
    session = found.start_point.session()
    leader = session.cluster.query.leader("orders-0")
    ends = {broker: session.cluster.query.leo("orders-0", broker) for broker in (1, 2, 3)}
    unreplicated = ends[leader] - min(end for broker, end in ends.items() if broker != leader)
    assert found.answer.verdict == "loses"
    assert all(0 < each.lost <= unreplicated for each in found.answer.effects)


def test_without_a_quorum_nobody_takes_over() -> None:
    found = asked("quorum_loss for 15s; after 1s crash leader(orders-0)")
    assert found.answer.verdict == "stalls"
    assert min(each.stall_us for each in found.answer.effects) > 10 * S


def test_writes_that_are_never_answered_are_stalls() -> None:
    """The leader is there, and cannot acknowledge: its followers are gone, and it does not know yet."""
    found = asked("gc_pause followers(orders-0) for 6s", seeds=(1,))
    assert found.answer.verdict == "stalls"
    assert 4 * S < found.answer.worst.stall_us < 8 * S
    assert not found.answer.worst.pair.action.seen.partitions


def test_impossible_actions_are_refused(snapshot: SnapshotAssertion) -> None:
    steps = "- {at: 1s, inject: crash, target: broker(3)}\n- {at: 50s, heal: all}"
    found = asked("gc_pause broker(3)", timed(steps, settle="2s"), 2 * S, (1,))
    assert found.answer.verdict == "refused"
    assert found.answer.why == snapshot
    assert EXIT_CODES[found.answer.verdict] == 3
    never = asked("restart broker(1) down=1s; when leader(orders-0) == -7 within 2s crash broker(2)", seeds=(1,))
    assert never.answer.verdict == "inconclusive"
    assert never.answer.why == snapshot


# -- what would have come anyway ------------------------------------------------------------------------------------


@cache
def broken() -> SafetyCheckResult:
    """Two of three are down for good: acks=all is refused, whatever else is done."""
    steps = "- {at: 1s, inject: crash, target: broker(2)}\n- {at: 1s, inject: crash, target: broker(3)}"
    steps += "\n- {at: 50s, heal: all}"
    return asked("lag broker(1) latency=1ms", timed(steps, settle="5s"), 14 * S, (1,))


def test_existing_outages_are_not_attributed_to_the_action() -> None:
    effect = broken().answer.effects[0]
    assert sum(length(spans) for spans in effect.pair.baseline.seen.writes.values()) > SHORT - S
    assert broken().answer.verdict == "safe"


def test_the_steps_that_are_still_to_come_do_not_happen() -> None:
    steps = "- {at: 4s, inject: crash, target: broker(2)}\n- {at: 4s, inject: crash, target: broker(3)}"
    assert asked("lag broker(1) latency=1ms", timed(steps, settle="5s"), seeds=(1,)).answer.verdict == "safe"
    assert asked("", timed(steps, settle="5s"), seeds=(1,)).answer.verdict == "stalls"


@pytest.mark.parametrize("seed", spread_sample([1, 9], 1))
def test_one_future_knows_nothing_of_another(seed: int) -> None:
    standing = of_playbook(timed(settle="2s"), 3, TimePoint(2 * S))
    plan = ActionPlan(prepare(standing, "crash leader(orders-0) for 2s").plan.steps, 4 * S)
    fresh = ForkSimulator(standing).with_action(plan, seed)
    used = ForkSimulator(standing)
    used.with_action(plan, 5)
    used.without(7, 9 * S)
    assert used.with_action(plan, seed).digest == fresh.digest
    assert used.session_at_start().cluster.digest() == standing.digest


# -- breakages ------------------------------------------------------------------------------------------------------


def seeds_differ() -> None:
    found = asked("lag broker(2) latency=5ms")
    assert len({each.pair.action.digest for each in found.answer.effects}) == len(SEEDS)


def test_every_seed_is_a_future_of_its_own() -> None:
    seeds_differ()


def _forgets_to_reseed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Cluster, "reseed", lambda cluster, seed: None)


def _counts_the_baseline(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(check, "_added", lambda found, anyhow: found)


def _counts_reads_without_the_action(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(check, "longest_added", lambda found, anyhow: longest(found))


def _keeps_the_steps(patch: pytest.MonkeyPatch) -> None:
    go = ForkSimulator._go

    def on(self: ForkSimulator, steps: tuple[Step, ...], *rest: int) -> Future:
        return go(self, (*steps, *(self.start_point.remaining_steps() if steps else ())), *rest)

    patch.setattr(ForkSimulator, "_go", on)


def _goes_on_from_the_last_future(patch: pytest.MonkeyPatch) -> None:
    go = ForkSimulator._go

    def on(self: ForkSimulator, steps: tuple[Step, ...], *rest: int) -> Future:
        found = go(self, steps, *rest)
        session = self.session_at_start()
        session.advance(session.cluster.now_us + S // 10)
        self._kept = session.save()
        return found

    patch.setattr(ForkSimulator, "_go", on)


def _sees_no_event(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ServiceMonitor, "take", lambda watch, events: None)


def _does_not_wait_for_restarts(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(question, "_waiting", lambda step, before: step)


def _takes_silence_for_service(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ServiceTracker, "sent", lambda service, count, now_us: None)


def _closes_no_books(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Ledger, "close", lambda ledger, now_us: None)


def _subtracts_what_it_should_not(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SafetyEffect, "more", lambda effect, name: 0)


def _one_after_the_other() -> None:
    test_one_future_knows_nothing_of_another(1)


BREAKAGES: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], Callable[[], None]]] = {
    "forgets to reseed": (_forgets_to_reseed, seeds_differ),
    "counts the baseline's stall": (_counts_the_baseline, test_existing_outages_are_not_attributed_to_the_action),
    "counts the baseline's stall of readers": (
        _counts_reads_without_the_action, test_read_stalls_of_the_baseline_are_not_attributed_to_the_action,
    ),
    "keeps running the playbook's steps": (_keeps_the_steps, test_the_steps_that_are_still_to_come_do_not_happen),
    "goes on from the last future": (_goes_on_from_the_last_future, _one_after_the_other),
    "sees no event": (_sees_no_event, test_a_rolling_restart_that_does_not_wait_stalls_writes),
    "does not wait for a restart to be over": (
        _does_not_wait_for_restarts, test_a_rolling_restart_that_waits_for_the_isr_is_safe,
    ),
    "takes silence for service": (_takes_silence_for_service, test_writes_that_are_never_answered_are_stalls),
    "closes no books": (_closes_no_books, test_the_last_in_sync_dies_and_elections_may_be_unclean),
    "takes every loss for the baseline's": (
        _subtracts_what_it_should_not, test_the_last_in_sync_dies_and_elections_may_be_unclean,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BREAKAGES)
def test_a_wrong_way_of_asking_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    breakage, check = BREAKAGES[name]
    for kept in (blind, alone, broken, gone):
        kept.cache_clear()
    breakage(monkeypatch)
    with pytest.raises(AssertionError):
        check()
    for kept in (blind, alone, broken, gone):
        kept.cache_clear()


def test_a_witness_of_another_seed_is_not_given_away(
    monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.setattr("playbooks.safety_check.report.reseeding", lambda standing, seed: reseeding(standing, seed + 1))
    with pytest.raises(WitnessError) as caught:
        witness(alone())
    assert re.sub(r"\b[0-9a-f]{32}\b", "<digest>", str(caught.value)) == snapshot


# -- the witness ----------------------------------------------------------------------------------------------------


def test_the_worst_simulation_as_a_playbook_has_the_same_outcome(snapshot: SnapshotAssertion) -> None:
    assert re.sub(r"\d+", "N", headline(alone().answer)) == snapshot
    text = witness(alone())
    result = Session.start(loads(text, "w.yaml")).finish()
    worst = alone().answer.worst.pair.action
    assert result.verdict == "pass", result.reason
    assert result.digest == worst.digest
    assert result.ledger.acked_lost == worst.acked_lost > 0


def test_a_witness_of_rounds_and_of_an_operator(tmp_path: Path) -> None:
    bounces = "- repeat: 3\n  steps:\n    - {after: 1s, inject: bounce, target: broker(2), down: 300ms}\n"
    steps = f"{bounces}- {{after: 1s, heal: all}}"
    playbook = timed(steps, settle="2s")
    session = Session.start(playbook, recorder=Recorder(tmp_path, live=True), open_ended=True)
    session.advance(1_500_000)
    session.act(Action("inject", "lag", "broker(3)", {"latency": 3_000}))
    session.advance(1_600_000)
    with pytest.raises(Exception, match="down"):
        session.act(Action("inject", "restart", "broker(3)"))
    session.advance(6 * S)
    session.act(Action("inject", "crash", "leader(orders-0)", for_us=S))
    session.advance(8 * S)
    session.finish()
    assert session.recorder is not None
    recorded = read_session(session.recorder.path)
    asking = "slow_cpu broker(3) for 1s; when faults(slow_cpu) == 0 heal lag"
    for at in (TimePoint(), TimePoint(executed=1_234), TimePoint(6 * S), TimePoint(5 * S + 1)):
        found = of(of_session(recorded, at), asking, (4,), 1, 3 * S)
        assert found.start_point.at_us <= 8 * S
        result = Session.start(loads(witness(found), "w.yaml")).finish()
        assert result.digest == found.answer.worst.pair.action.digest
        assert result.verdict == "pass", result.reason
    rest = of_session(recorded, TimePoint(1_550_000))
    found = of(rest, "", (4,), 1, 3 * S)
    assert Session.start(loads(witness(found), "w.yaml")).finish().digest == found.answer.worst.pair.action.digest


def test_a_session_whose_process_died(tmp_path: Path) -> None:
    session = Session.start(timed(settle="2s"), recorder=Recorder(tmp_path, live=True), open_ended=True)
    session.advance(2 * S)
    session.act(Action("inject", "crash", "broker(3)"))
    session.advance(4 * S)
    assert session.recorder is not None
    session.recorder.close()
    recorded = read_session(session.recorder.path)
    for at in (TimePoint(), TimePoint(3 * S), TimePoint(4 * S)):
        standing = of_session(recorded, at)
        assert len(standing.actions) == 1
        assert of(standing, "lag broker(1) latency=1ms", (1,)).answer.verdict == "safe"
    assert of_session(recorded, TimePoint(4 * S)).digest == session.cluster.digest()


def test_there_is_no_asking_about_what_is_over(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    session = Session.start(timed("- {at: 1s, heal: all}", settle="2s"), recorder=Recorder(tmp_path))
    session.finish()
    assert session.recorder is not None
    with pytest.raises(StartPointError) as settling:
        of_session(read_session(session.recorder.path), TimePoint(3 * S))
    standing = of_playbook(timed(settle="2s"), 3, TimePoint(1 * S))
    with pytest.raises(StartPointError) as nothing:
        prepare(standing)
    assert [each.value.code for each in (settling, nothing)] == ["after_the_steps", "nothing_left_to_do"]
    assert [str(each.value) for each in (settling, nothing)] == snapshot


def test_safety_checks_after_the_end_of_a_playbook_are_rejected(snapshot: SnapshotAssertion) -> None:
    steps = "- {at: 1s, inject: crash, target: broker(3), for: 2s}"
    crashing = timed(steps, settle="1s")
    assert of_playbook(crashing, 3, TimePoint(2 * S)).at_us == 2 * S
    for beyond in (TimePoint(3 * S), TimePoint(60 * S)):
        with pytest.raises(StartPointError) as caught:
            of_playbook(crashing, 3, beyond)
        assert caught.value.code == "after_the_steps"
        assert str(caught.value) == snapshot
    with pytest.raises(StartPointError) as caught:
        of_playbook(timed(settle="2s"), 3, TimePoint(7_200 * S))
    assert caught.value.code == "too_far_ahead"
    assert str(caught.value) == snapshot


def test_invalid_questions_are_rejected_before_the_replay() -> None:
    playbook = timed()
    for text in ("restrt broker(1)", "restart broker(7)", "crash broker(1) for banana", "when nonsense() heal"):
        with pytest.raises(PlaybookError):
            check_question(playbook, text)
    for text in ("", "restart broker(1)", "restart broker(1) down=1s", "crash leader(later-0)", "heal"):
        check_question(playbook, text)
    with pytest.raises(PlaybookError):
        check_question(playbook, "", ("- inject: crsh", "s.yaml"))


def test_so_many_events_never_come(snapshot: SnapshotAssertion) -> None:
    playbook = timed("- at: 2s\n  inject: crash\n  target: broker(1)\n  for: 1s")
    with pytest.raises(StartPointError) as caught:
        of_playbook(playbook, 1, TimePoint(executed=99_999_999))
    assert caught.value.code == "after_the_steps"
    assert str(caught.value) == snapshot


def test_actions_are_counted_as_they_were_typed(snapshot: SnapshotAssertion) -> None:
    found = asked("heal; when leader(orders-0) == -7 within 1s crash broker(2)", seeds=(1,))
    assert found.answer.verdict == "inconclusive"
    told = [found.answer.why, title(found, "x"), headline(found.answer), lines(found)[-1]]
    assert [masked_text(each, executed=found.start_point.executed) for each in told] == snapshot


def test_a_chosen_stall_is_not_called_kafka_s(snapshot: SnapshotAssertion) -> None:
    found = broken()
    chosen = SafetyCheckResult(found.start_point, found.question, SafetyAnswer(found.answer.effects, 3_600 * S))
    assert [line for line in lines(chosen) if line.startswith("  threshold")] == snapshot
    before = replace(found.start_point, at_us=26 * S - 1)
    assert masked_text(title(replace(found, start_point=before), "x"), executed=before.executed) == snapshot


# -- the same, whoever does the work --------------------------------------------------------------------------------


def test_processes_make_no_difference() -> None:
    one = to_json(asked(BLIND), "x", "")
    assert one == to_json(asked(BLIND, workers=2), "x", "")
    assert one["verdict"] == "stalls"
    assert len(one["runs"]) == len(SEEDS)


def test_intervals_are_taken_from_each_other() -> None:
    assert without(((0, 10), (20, 30)), ((5, 22),)) == ((0, 5), (22, 30))
    assert without(((0, 10),), ((2, 3), (4, 5))) == ((0, 2), (3, 4), (5, 10))
    assert without(((0, 10),), ((0, 10),)) == ()

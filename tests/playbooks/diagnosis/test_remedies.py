"""What would have saved it, and at what price: the changes that Kafka knowledge names, for bundled playbooks."""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.checker.root_cause.findings import DUPLICATE, LOST, SKIPPED
from playbooks.diagnosis import remedies
from playbooks.diagnosis.remedies import NEEDS_ACKS, Remedy, SettingChange, changes, evaluate, pairs, price
from playbooks.engine.session_runner import start_session
from playbooks.engine.worker_pool import JobOutcome, PlaybookJob, run_all
from playbooks.library.bundled import path_of
from playbooks.model.playbook import Playbook
from playbooks.parser.loader import changed, load, loads
from playbooks.parser.settings import cell_text
from playbooks.results.result import SessionResult
from tests.playbooks.diagnosis.test_point_of_no_return import TAIL
from tests.support.wording import masked_text

pytestmark = pytest.mark.slow


HERE = partial(run_all, workers=1)
FEW = TAIL.replace("rate: 50/s", "rate: 10/s")


def of_playbook(playbook: Playbook, kind: str = LOST, seeds: int = 1) -> dict[str, Remedy]:
    result = start_session(playbook).finish()
    found = evaluate(playbook, playbook.seed, result, kind, run=HERE, seeds=seeds)
    return {each.change.name: each for each in found}


@cache
def bundled(name: str) -> dict[str, Remedy]:
    return of_playbook(load(path_of(name)))


def verdicts(found: dict[str, Remedy]) -> dict[str, str]:
    return {name: each.verdict for name, each in found.items()}


def test_leader_epochs_save_what_truncation_to_the_high_watermark_loses(snapshot: SnapshotAssertion) -> None:
    found = bundled("kip-101-loss")
    assert next(iter(found)) == "kafka 0.11"
    assert found["kafka 0.11"].verdict == "saves"
    assert "KIP-101" in found["kafka 0.11"].change.note
    assert found["kafka 0.11"].change.note == snapshot
    assert (found["kafka 0.11"].before, found["kafka 0.11"].left, found["kafka 0.11"].rejected) == (1, 0, 0)
    clean = found["unclean.leader.election.enable=false"]
    assert (clean.before, clean.left) == (1, 1)
    assert verdicts(found) == snapshot


def test_the_same_for_its_first_scenario() -> None:
    assert bundled("kip-101-scenario-1-0.10.2")["kafka 0.11"].verdict == "saves"


def test_without_unclean_elections_writes_are_rejected_and_nothing_is_lost(snapshot: SnapshotAssertion) -> None:
    found = bundled("unclean-election")
    clean, isr = found["unclean.leader.election.enable=false"], found["min.insync.replicas=2"]
    assert (clean.verdict, isr.verdict) == ("saves", "saves")
    assert clean.rejected == 10, "the ten that the new leader would have taken"
    assert isr.rejected == 50, "the fifty that were acknowledged with one replica"
    (acks,) = [each for name, each in found.items() if name.startswith("acks=all")]
    assert acks.left == acks.before
    assert verdicts(found) == snapshot


def test_no_single_change_saves_the_last_replica_that_was_written_to_with_acks_1() -> None:
    found = bundled("last-replica-standing")
    assert [each.verdict for each in found.values() if each.verdict == "saves"] == []
    assert found["kafka 4.4"].verdict == "helps"
    assert found["kafka 4.4"].left < found["kafka 4.4"].before


ALONE = """\
floodmark: 1
name: alone
seed: 3
cluster: {kafka: "2.8", mode: zookeeper, brokers: 3}
topics: [{name: orders, placement: [[1, 2, 3]]}]
clients:
  producers: [{name: checkout, topic: orders, rate: 10/s, config: {acks: 1}}]
steps:
  - {at: 3s, inject: crash, target: "followers(orders-0)", for: 90s}
  - {at: 60s, inject: power_loss, target: broker(1), for: 10s}
settle: 20s
"""
PAIR = "acks=all with min.insync.replicas=2"


def test_two_changes_save_what_neither_saves_alone() -> None:
    found = of_playbook(loads(ALONE, "alone.yaml"), seeds=2)
    assert "saves" not in {found[name].verdict for name in PAIR.split(" with ")}
    pair = found[PAIR]
    assert (pair.verdict, pair.left, pair.seeds_kept) == ("saves", 0, 2)
    assert pair.unavailable_us > 0
    assert [path for path, _value in pair.change.settings][-1].endswith("min.insync.replicas")
    assert all(each.left < pair.before for each in found.values() if " with " in each.change.name)


def test_pairs_are_of_different_settings_and_of_one_version() -> None:
    singles = changes(loads(ALONE, "alone.yaml"), LOST)
    tried = pairs(singles)
    assert PAIR in {each.name for each in tried}
    assert not any("cluster.kafka" in dict(each.settings) for each in tried)
    assert all(len(dict(each.settings)) == len(each.settings) for each in tried)
    assert pairs(singles[:1]) == ()


def test_where_one_change_saves_no_pairs_are_tried() -> None:
    assert not any(" with " in name for name in bundled("unclean-election"))


def test_acks_all_saves_the_tail_that_acks_1_lost(snapshot: SnapshotAssertion) -> None:
    found = of_playbook(loads(TAIL, "tail.yaml"))
    assert next(iter(found)) == "acks=all"
    assert found["acks=all"].verdict == "saves"
    assert found["acks=all"].before > 10
    refused = found["enable.idempotence=true"]
    assert refused.verdict == "refused"
    assert refused.note == NEEDS_ACKS == snapshot


def test_eligible_leader_replicas_save_what_the_last_replica_lost_with_its_power() -> None:
    found = of_playbook(changed(load(path_of("last-replica-power-loss")), {"producers.checkout.rate": "20/s"}))
    assert found["kafka 4.4"].verdict == "saves"
    assert found["kafka 4.4"].unavailable_us < 0


def test_the_answer_does_not_depend_on_how_many_run_at_a_time() -> None:
    playbook = loads(FEW, "tail.yaml")
    result = start_session(playbook).finish()
    one = evaluate(playbook, playbook.seed, result, LOST, run=HERE, seeds=2)
    two = evaluate(playbook, playbook.seed, result, LOST, run=partial(run_all, workers=2), seeds=2)
    assert one == two
    assert one[0].seeds_kept == one[0].seeds == 2


def test_the_answer_is_the_same_every_time() -> None:
    assert bundled.__wrapped__("unclean-election") == bundled("unclean-election")


def test_only_what_means_something_is_tried() -> None:
    names = [each.name for each in changes(loads(TAIL, "tail.yaml"), LOST)]
    assert "acks=all" in names
    assert "min.insync.replicas=2" not in names  # it is that already
    assert "one more replica" not in names  # there is no broker for it
    assert [name for name in names if name.startswith("kafka")] == ["kafka 4.1", "kafka 4.4"]


def test_a_larger_minimum_is_never_made_smaller() -> None:
    three = TAIL.replace("min.insync.replicas: 2", "min.insync.replicas: 3")
    assert not [each for each in changes(loads(three, "three.yaml"), LOST) if "insync" in each.name]


def test_more_brokers_than_replicas_allow_one_more() -> None:
    wide = TAIL.replace("brokers: 3", "brokers: 4")
    change = next(each for each in changes(loads(wide, "wide.yaml"), LOST) if each.name == "one more replica")
    assert change.options == ("topics.orders.placement=[[1, 2, 3, 4]]",)


def test_each_kind_of_finding_has_changes_of_its_own() -> None:
    playbook = loads(TAIL + "  \n", "tail.yaml")
    assert "max.in.flight.requests.per.connection=1" in [each.name for each in changes(playbook, DUPLICATE)]
    assert "acks=all" not in [each.name for each in changes(playbook, SKIPPED)]


def _remedy(name: str, verdict: str, rejected: int = 0, unavailable_us: int = 0, left: int = 0) -> Remedy:
    return Remedy(SettingChange(name, ((name, "1"),)), verdict, left, 5, rejected, unavailable_us)  # type: ignore[arg-type]


def test_remedies_are_ordered_by_effect_and_cost() -> None:
    found = [
        _remedy("refused", "refused"),
        _remedy("helps", "helps", left=2),
        _remedy("dear", "saves", rejected=100),
        _remedy("slow", "saves", unavailable_us=9_000_000),
        _remedy("chance", "saves", unavailable_us=40_000),
        _remedy("no", "would not have helped", left=5),
        _remedy("unknown", "inconclusive"),
    ]
    assert [each.change.name for each in sorted(found, key=price)] == [
        "chance", "slow", "dear", "helps", "unknown", "no", "refused"
    ]  # fmt: skip


# -- seeds that disagree, and breakages --------------------------------------------------------------------------------


class _Fixed:
    """Runs nothing: what each seed comes to is given."""

    def __init__(self, actual: SessionResult, losing: int) -> None:
        self._actual = actual
        self._losing = losing

    def __call__(self, jobs: Sequence[PlaybookJob]) -> list[JobOutcome]:
        outcomes = []
        for job in jobs:
            lost = 3 if job.seed == self._losing else 0
            ledger = replace(self._actual.ledger, acked_lost=lost)
            outcomes.append(JobOutcome(job, replace(self._actual, ledger=ledger), code=0))
        return outcomes


def test_a_remedy_that_loses_with_another_seed_is_taken_back() -> None:
    playbook = loads(TAIL, "tail.yaml")
    actual = start_session(playbook).finish()
    agreed = evaluate(playbook, 5, actual, LOST, run=_Fixed(actual, losing=-1))
    assert (agreed[0].verdict, agreed[0].seeds_kept, agreed[0].seeds) == ("saves", 5, 5)
    parted = evaluate(playbook, 5, actual, LOST, run=_Fixed(actual, losing=7))
    taken_back = [each for each in parted if each.seeds > 1]
    assert [(each.verdict, each.seeds_kept, each.seeds) for each in taken_back] == [("helps", 4, 5)] * len(taken_back)
    assert taken_back


class _Fewer(_Fixed):
    """Half as many are lost, whatever is changed."""

    def __call__(self, jobs: Sequence[PlaybookJob]) -> list[JobOutcome]:
        actual = self._actual
        ledger = replace(actual.ledger, acked_lost=actual.ledger.acked_lost // 2)
        return [JobOutcome(job, replace(actual, ledger=ledger), code=0) for job in jobs]


def test_less_with_one_seed_of_a_timed_session_is_no_help(snapshot: SnapshotAssertion) -> None:
    playbook = loads(TAIL, "tail.yaml")
    actual = start_session(playbook).finish()
    found = evaluate(playbook, 5, actual, LOST, run=_Fewer(actual, losing=-1))
    assert {each.verdict for each in found} == {"inconclusive"}
    assert found[0].before == actual.ledger.acked_lost
    assert masked_text(found[0].note, left=found[0].left, before=found[0].before) == snapshot


def test_a_kip_is_named_only_for_what_it_is_about() -> None:
    old = loads(TAIL.replace('"3.9"', '"2.0"'), "old.yaml")
    notes = {kind: {each.name: each.note for each in changes(old, kind)} for kind in (LOST, DUPLICATE, SKIPPED)}
    assert notes[LOST]["kafka 2.1"] == "KIP-320"
    assert notes[DUPLICATE]["kafka 2.1"] == notes[SKIPPED]["kafka 3.0"] == ""
    assert notes[DUPLICATE]["kafka 3.0"] == "KIP-679"


def test_an_evaluator_that_forgets_the_change_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remedies, "cell_text", lambda text, *_settings: text)
    assert not [each for each in bundled.__wrapped__("kip-101-loss").values() if each.verdict == "saves"]


def test_an_evaluator_that_makes_all_changes_at_once_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = cell_text

    def all_at_once(text: str, settings: dict[str, str], *rest: object) -> str:
        return honest(text, {**settings, "cluster.kafka": "0.11"}, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(remedies, "cell_text", all_at_once)
    assert bundled.__wrapped__("kip-101-loss")["unclean.leader.election.enable=false"].verdict == "saves"


def test_a_price_that_is_not_a_difference_is_noticed() -> None:
    playbook = load(path_of("unclean-election"))
    actual = start_session(playbook).finish()
    found = {each.change.name: each for each in evaluate(playbook, 0, actual, LOST, run=HERE)}
    change = found["unclean.leader.election.enable=false"].change
    text = cell_text(playbook.source, dict(change.settings), playbook.fragments, playbook.variables)
    alone = start_session(loads(text, "changed.yaml")).finish().ledger
    before = actual.ledger
    never_sent = before.sent - alone.sent
    assert never_sent == 9
    assert found[change.name].rejected == (alone.failed + alone.unknown) - (before.failed + before.unknown) + never_sent


def test_a_rerun_with_another_outcome_proves_nothing(snapshot: SnapshotAssertion) -> None:
    step = "  - when: acked_lost() + missing() > 5\n    within: 20s\n    heal: all\nsettle: 1s\n"
    found = of_playbook(loads(TAIL.replace("settle: 10s\n", step), "waiting.yaml"))
    assert found["acks=all"].verdict == "inconclusive"
    assert re.sub(r"is \d+$", "is N", found["acks=all"].note) == snapshot

"""What is overdue, and who is stuck, in results, conditions and words."""

import io
from dataclasses import replace

import pytest
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from cluster_model.broker.partition.partition import PartitionLeaderState
from cluster_model.controller.kraft.replication_control_manager import ReplicationControlManager
from cluster_model.protocol.events import LivenessViolated
from playbooks.engine.session import Session
from playbooks.library.bundled import path_of
from playbooks.parser.loader import changed, load, loads
from playbooks.results.result import SessionResult
from tests.support.mistakes import keys, messages, mistakes_of
from tui.output.result import print_liveness

TEXT = """
floodmark: 1
name: nobody-after-a-leader
seed: 3
cluster: {brokers: 3}
topics:
  - {name: orders, partitions: 1, replication: 3, placement: [[1, 2, 3]]}
clients:
  producers:
    - {name: checkout, topic: orders, rate: 20/s, config: {acks: "1"}}
steps:
  - {at: 3s, inject: crash, target: broker(1)}
  - {at: 25s, stop: now}
expect:
  - liveness_violations() == 0
  - liveness_violations("leader-elected") == 0
  - liveness_violations("convergence") == 0
  - unexpected_liveness_violations() == 0
"""


def test_overdue_counts_violated_liveness_checks_only(
    monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    sound = Session.start(loads(TEXT, "sound.yaml")).finish()
    assert (sound.verdict, sound.liveness_violations, sound.to_json()["liveness_violations"]) == ("pass", (), [])

    monkeypatch.setattr(ReplicationControlManager, "handle_broker_fenced", lambda _self, _broker, _by: [])
    broken = Session.start(loads(TEXT, "broken.yaml")).finish()
    assert [each.ok for each in broken.expectations] == [False, False, True, False]
    (told,) = broken.to_json()["liveness_violations"]
    assert (told["property"], told["partition"], told["broker"], told["known"]) == ("leader-elected", "orders-0", 2, "")
    assert told["at_us"] >= told["since_us"] + told["bound_us"]

    assert printed(broken) == snapshot


def printed(result: SessionResult) -> list[str]:
    """What is printed of the promises that were not kept in time."""
    out = io.StringIO()
    print_liveness(Console(file=out, width=400), result)
    return out.getvalue().splitlines()


def test_liveness_checks_pending_at_the_end_are_not_evaluated(
    monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.setattr(ReplicationControlManager, "handle_broker_fenced", lambda _self, _broker, _by: [])
    result = Session.start(loads(TEXT.replace("at: 25s", "at: 8s"), "short.yaml")).finish()
    assert result.liveness_violations == ()
    (told,) = [each for each in result.to_json()["pending_liveness"] if each["property"] == "leader-elected"]
    assert (told["partition"], told["broker"]) == ("orders-0", 2)
    assert 4_000_000 <= told["pending_us"] <= 5_000_000
    assert 10_000_000 <= told["pending_us"] + told["remaining_us"] <= 11_000_000
    assert printed(result) == snapshot


@pytest.mark.slow
def test_an_isr_that_never_grows_does_not_pass_unseen_in_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    playbook = changed(load(path_of("controller-crash")), {"producers.checkout.rate": "10/s"})
    sound = Session.start(playbook).finish()
    assert "isr-rejoined" not in {each.property for each in (*sound.liveness_violations, *sound.pending_liveness)}
    monkeypatch.setattr(PartitionLeaderState, "_maybe_expand", lambda _self, _follower, _remote: None)
    broken = Session.start(playbook).finish()
    assert "isr-rejoined" in {each.property for each in (*broken.liveness_violations, *broken.pending_liveness)}


def test_known_ones_are_reported_as_such_and_many_are_counted(snapshot: SnapshotAssertion) -> None:
    result = Session.start(loads(TEXT, "sound.yaml")).finish()
    late = LivenessViolated(
        9_000_000, "convergence", "orders-0", 3, "other records", 1_000_000, 500_000, "known for 0.9"
    )
    assert printed(replace(result, liveness_violations=(late,) * 7)) == snapshot


def test_a_misspelt_property_is_refused(snapshot: SnapshotAssertion) -> None:
    problems = mistakes_of(lambda: loads(TEXT.replace('"convergence"', '"convergance"'), "bad.yaml"))
    assert keys(problems) == ["expect[3]"]
    assert messages(problems) == snapshot

"""The classic traces of Kafka's replication protocol, step by step, under every generation that differs.

Sources: KIP-101 (motivation, scenarios 1 and 2), KIP-279 (fast failovers), KIP-320 (unfenced follower), KIP-903 (the
two lives of a follower), KIP-966 (last replica standing), and the two-round propagation of the high watermark that all
of them build on. The tables are files: after a deliberate change look at them, then ``make goldens``. What
they have to come to is said here in numbers, and step by step in the playbooks, which hold under every version.
"""

import re
from pathlib import Path
from typing import NamedTuple

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.protocol.errors import ModelError
from tests.cluster_model.hand_stepped_cluster import HandSteppedCluster
from tests.cluster_model.tracing import CASES, WIDTH, as_text, run
from tests.support.golden import GoldenFile

A, B, C = 1, 2, 3
FILES = Path(__file__).parent / "traces"
NOTHING: set[str] = set()
INCOMPLETE = {"log-matching", "leader-completeness"}
UNFENCED = INCOMPLETE | {"weak-isr"}
UNREAD = UNFENCED | {"stable-reads"}
LOWER = {"true-hw-monotone"}
UNDURABLE = {"acks-all-durability", "stable-reads", "true-hw-monotone"}
THIN = {"min-isr"}
EARLY = UNDURABLE | {"leader-completeness"}


class Facts(NamedTuple):
    """What a trace has to come to."""

    ends: dict[int, str]
    acked_lost: int
    committed_lost: int
    diverged: int
    broken: set[str]


FACTS = {
    ("two-round-hw", "0.10.2"): Facts({1: "11/11*", 2: "11/11", 3: "11/11"}, 0, 0, 0, NOTHING),
    ("two-round-hw", "2.5"): Facts({1: "11/11*", 2: "11/11", 3: "11/11"}, 0, 0, 0, NOTHING),
    ("two-round-hw", "3.9"): Facts({1: "11/11*", 2: "11/11", 3: "11/11"}, 0, 0, 0, NOTHING),
    ("two-round-hw-failover", "0.10.2"): Facts({1: "11/11 down", 2: "11/11*", 3: "11/10"}, 0, 0, 0, NOTHING),
    ("two-round-hw-failover", "2.1"): Facts({1: "11/11 down", 2: "11/11*", 3: "11/11"}, 0, 0, 0, NOTHING),
    ("two-round-hw-failover", "3.9"): Facts({1: "11/11 down", 2: "11/11*", 3: "11/11"}, 0, 0, 0, NOTHING),
    ("kip-101-loss", "0.10.2"): Facts({1: "2/2*", 2: "2/2", 3: "2/2"}, 1, 1, 1, UNDURABLE | INCOMPLETE | THIN),
    ("kip-101-loss", "1.1"): Facts({1: "3/3*", 2: "3/3", 3: "3/3"}, 0, 0, 0, THIN),
    ("kip-101-loss", "2.6"): Facts({1: "3/3*", 2: "3/3", 3: "3/3"}, 0, 0, 0, THIN),
    ("kip-101-loss", "3.9"): Facts({1: "3/3*", 2: "3/1", 3: "3/3"}, 0, 0, 0, NOTHING),
    ("kip-101-loss-two-brokers", "0.10.2"): Facts({1: "2/2*", 2: "2/2"}, 1, 1, 0, UNDURABLE),
    ("kip-101-loss-two-brokers", "1.1"): Facts({1: "3/3*", 2: "3/3"}, 0, 0, 0, NOTHING),
    ("kip-101-loss-two-brokers", "3.9"): Facts({1: "3/3*", 2: "3/3"}, 0, 0, 0, NOTHING),
    ("power-loss-divergence", "0.10.2"): Facts({1: "2/2*", 2: "2/2"}, 1, 1, 1, NOTHING),
    ("power-loss-divergence", "1.1"): Facts({1: "2/2*", 2: "2/2"}, 1, 1, 0, NOTHING),
    ("power-loss-divergence", "2.6"): Facts({1: "2/2*", 2: "2/2"}, 1, 1, 0, NOTHING),
    ("power-loss-divergence", "3.9"): Facts({1: "2/2*", 2: "2/2"}, 1, 1, 0, NOTHING),
    ("kip-279-fast-failovers", "0.10.2"): Facts({1: "12/12*", 2: "12/12"}, 1, 0, 0, NOTHING),
    ("kip-279-fast-failovers", "1.1"): Facts({1: "12/12*", 2: "12/12"}, 1, 0, 1, UNFENCED),
    ("kip-279-fast-failovers", "2.0"): Facts({1: "12/12*", 2: "12/12"}, 1, 0, 0, NOTHING),
    ("kip-279-fast-failovers", "3.9"): Facts({1: "12/12*", 2: "12/12"}, 1, 0, 0, NOTHING),
    ("kip-320-unfenced-follower", "0.10.2"): Facts({1: "6/6 down", 2: "6/6*", 3: "6/5 down"}, 1, 1, 0, UNREAD),
    ("kip-320-unfenced-follower", "1.0"): Facts({1: "6/6 down", 2: "6/6*", 3: "6/5 down"}, 1, 1, 0, UNREAD),
    ("kip-320-unfenced-follower", "2.0"): Facts({1: "6/6 down", 2: "5/5*", 3: "6/5 down"}, 1, 1, 0, UNREAD | LOWER),
    ("kip-320-unfenced-follower", "2.1"): Facts({1: "6/5 down", 2: "5/5*", 3: "6/5 down"}, 1, 0, 0, NOTHING),
    ("kip-320-unfenced-follower", "3.9"): Facts({1: "6/5 down", 2: "6/6*", 3: "6/5 down"}, 1, 0, 0, NOTHING),
    ("kafka-7128-early-isr-join", "0.10.2"): Facts({1: "1/1", 2: "1/1", 3: "1/1*"}, 1, 1, 0, EARLY),
    ("kafka-7128-early-isr-join", "1.1"): Facts({1: "1/1", 2: "1/1", 3: "1/1*"}, 1, 1, 0, EARLY),
    ("kafka-7128-early-isr-join", "2.0"): Facts({1: "2/2*", 2: "2/2", 3: "2/2"}, 0, 0, 0, NOTHING),
    ("kafka-7128-early-isr-join", "3.9"): Facts({1: "2/2*", 2: "2/2", 3: "2/2"}, 0, 0, 0, NOTHING),
    ("unclean-election", "0.10.2"): Facts({1: "60/60", 2: "60/60*"}, 50, 50, 10, INCOMPLETE),
    ("unclean-election", "2.0"): Facts({1: "60/60", 2: "60/60*"}, 50, 50, 0, NOTHING),
    ("unclean-election", "3.9"): Facts({1: "60/60", 2: "60/60*"}, 50, 50, 0, NOTHING),
    ("unclean-election-off", "3.9"): Facts({1: "10/10*", 2: "10/10"}, 0, 0, 0, NOTHING),
    ("last-replica-standing", "3.4"): Facts({1: "8/8*", 2: "8/8", 3: "8/8"}, 3, 3, 0, THIN),
    ("last-replica-standing", "3.6"): Facts({1: "8/8*", 2: "8/8", 3: "8/8"}, 3, 3, 0, THIN),
    ("last-replica-standing", "3.9"): Facts({1: "8/8*", 2: "8/8", 3: "8/8"}, 3, 2, 0, NOTHING),
    ("last-replica-standing", "4.1"): Facts({1: "10/10", 2: "10/10*", 3: "10/10"}, 1, 0, 0, NOTHING),
    ("zombie-leader-gc-pause", "0.10.2"): Facts({1: "106/106", 2: "106/106*", 3: "106/105"}, 1, 0, 0, NOTHING),
    ("zombie-leader-gc-pause", "2.3"): Facts({1: "106/106", 2: "106/106*", 3: "106/105"}, 1, 0, 0, NOTHING),
    ("zombie-leader-gc-pause", "3.9"): Facts({1: "106/106", 2: "106/106*", 3: "106/105"}, 1, 0, 0, NOTHING),
    ("expand-race", "2.3"): Facts({1: "0/0", 2: "10/5 down", 3: "0/0*"}, 10, 10, 0, NOTHING),
    ("expand-race", "3.4"): Facts({1: "0/0", 2: "10/5 down", 3: "0/0*"}, 10, 10, 0, UNDURABLE),
    ("expand-race", "3.9"): Facts({1: "10/0*", 2: "10/5 down", 3: "0/0"}, 0, 0, 0, NOTHING),
    ("lost-tail-same-epoch", "2.1"): Facts({1: "3/3*", 2: "3/0"}, 2, 0, 2, UNFENCED),
    ("lost-tail-same-epoch", "2.2"): Facts({1: "5/5", 2: "5/5*"}, 0, 0, 0, NOTHING),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kafka"), CASES)
def test_the_table_is_as_written_down(name: str, kafka: str, golden_file: GoldenFile) -> None:
    assert as_text(name, kafka) == golden_file(FILES / f"{name}@{kafka}.txt")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kafka"), CASES)
def test_traces_have_the_outcome_of_their_version(name: str, kafka: str) -> None:
    told = run(name, kafka)
    ledger = told.result.ledger
    diverged = told.session.cluster.query.diverged("orders-0")
    found = Facts(told.ends(), ledger.acked_lost, ledger.committed_lost, diverged, told.broken())
    assert found == FACTS[name, kafka]
    assert told.result.verdict == "pass"


KNOWN = {
    ("kip-101-loss", "0.10.2", "acks-all-durability"): {"KIP-101": "0.11", "KIP-279": "2.0", "KIP-320": "2.1"},
    ("kip-101-loss", "0.10.2", "log-matching"): {"KIP-101": "0.11", "KIP-279": "2.0", "KIP-320": "2.1"},
    ("kip-101-loss", "1.1", "min-isr"): {"KIP-966": "3.7"},
    ("kip-279-fast-failovers", "1.1", "log-matching"): {"KIP-279": "2.0", "KIP-320": "2.1"},
    ("kip-320-unfenced-follower", "1.0", "leader-completeness"): {"KIP-279": "2.0", "KIP-320": "2.1"},
    ("kip-320-unfenced-follower", "2.0", "leader-completeness"): {"KIP-320": "2.1"},
    ("kip-320-unfenced-follower", "2.0", "stable-reads"): {"KIP-320": "2.1"},
    ("kafka-7128-early-isr-join", "1.1", "acks-all-durability"): {"KAFKA-7128": "2.0.1"},
    ("lost-tail-same-epoch", "2.1", "log-matching"): {"KIP-380": "2.2"},
    ("expand-race", "3.4", "acks-all-durability"): {"KIP-903": "3.5"},
}
"""What a violation says of later versions: which improvement came with which."""


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kafka"), CASES)
def test_nothing_is_broken_that_the_version_is_not_known_for(name: str, kafka: str) -> None:
    violations = run(name, kafka).result.violations
    assert all(each.known.startswith(f"known for {kafka}") for each in violations)
    assert kafka != "3.9" or not violations


@pytest.mark.parametrize(("name", "kafka", "invariant"), list(KNOWN))
def test_a_known_violation_names_its_fix(name: str, kafka: str, invariant: str, snapshot: SnapshotAssertion) -> None:
    texts = {each.known for each in run(name, kafka).result.violations if each.invariant == invariant}
    (text,) = texts
    assert dict(re.findall(r"((?:KIP|KAFKA)-\d+)\D* in ([\d.]+\d)", text)) == KNOWN[name, kafka, invariant]
    assert text == snapshot


def test_every_file_is_compared() -> None:
    assert {path.name for path in FILES.iterdir()} == {f"{name}@{kafka}.txt" for name, kafka in CASES}
    assert set(FACTS) == set(CASES)


def test_the_files_are_as_wide_as_a_terminal() -> None:
    for name, kafka in CASES:
        assert max(map(len, run(name, kafka).table(WIDTH))) <= WIDTH


@pytest.mark.parametrize(("kafka", "joins"), [("1.1", True), ("2.0.0", True), ("2.0.1", False), ("3.9", False)])
def test_joining_the_isr_needs_the_start_of_the_leaders_epoch_since_2_0_1(kafka: str, joins: bool) -> None:
    """A new leader's HW is stale; a follower at that HW may lack committed records above it."""
    stepped = HandSteppedCluster(kafka, config={"unclean.leader.election.enable": True})
    stepped.notify(A, B, C)
    stepped.append(A, "r0", "r1")
    stepped.fetch(B)
    stepped.do("shrink_isr", broker=A, out=[C])
    stepped.lead(B, notify=(B, C))
    assert stepped.state(B)["hw"] == 0
    stepped.do("fetch_send", follower=C)
    stepped.do("fetch_serve", follower=C)

    refused = stepped.do("expand_isr", broker=B, **{"in": C})

    assert (refused == "") is joins


def test_a_stale_decision_is_refused_and_an_older_one_can_be_delivered_first() -> None:
    stepped = HandSteppedCluster("3.9")
    stepped.notify(A, B, C)
    stepped.do("elect", leader=B)
    stepped.do("elect", leader=C)
    assert stepped.do("deliver", broker=A, epoch=1) == ""
    assert stepped.state(A)["leader"] == B
    assert stepped.do("deliver", broker=A, epoch=2) == ""
    assert stepped.do("deliver", broker=A, epoch=1) == "STALE_CONTROLLER_EPOCH"
    assert stepped.state(A)["leader"] == C


def test_invalid_manual_steps_are_rejected(snapshot: SnapshotAssertion) -> None:
    stepped = HandSteppedCluster("3.9")
    for verb, params, code in (
        ("append", {"broker": 9}, "no_replica"),
        ("deliver", {"broker": 1, "epoch": 7}, "no_decision"),
        ("append", {"broker": 1, "partition": "nope-0"}, "no_partition"),
        ("fetch", {}, "missing_parameter"),
        ("crash", {"broker": 9}, "no_broker"),
    ):
        with pytest.raises(ModelError) as caught:
            stepped.do(verb, **params)
        assert caught.value.code == code
        assert str(caught.value) == snapshot
    with pytest.raises(ModelError) as caught:
        stepped.cluster.act("dance", {})
    assert caught.value.code == "no_step"
    assert str(caught.value) == snapshot

import re
from pathlib import Path

import pytest

from cluster_model.profiles import PROFILE_VERSIONS, modes_of
from playbooks import bundled
from playbooks.loader import load, loads
from playbooks.model import Playbook
from playbooks.result import Result
from playbooks.running import start_session
from playbooks.settings import apply_settings

PAIRS = ("hw-two-rounds", "kip-101-scenario-1", "kip-101-scenario-2")
TRACES = (
    "two-round-hw", "two-round-hw-failover", "kip-101-loss", "kip-101-loss-two-brokers", "power-loss-divergence",
    "kip-279-fast-failovers", "kip-320-unfenced-follower", "unclean-election", "unclean-election-off",
    "last-replica-standing", "zombie-leader-gc-pause", "expand-race", "lost-tail-same-epoch",
    "unclean-election-arithmetic",
)  # fmt: skip
"""Stepped by hand, and right under every version."""
INCIDENTS = (
    "last-replica-power-loss", "power-cut-all", "power-cut-all-flushed", "power-cut-one", "power-cut-elr",
    "split-leader", "leader-without-followers", "controller-crash", "quorum-lost",
    "ensemble-lost", "split-leader-zookeeper", "controller-crash-zookeeper", "rolling-restart-blind",
    "rolling-restart-waiting", "zone-loss", "reassignment-throttled", "zombie-leader",
    "acks-0-leader-crash", "acks-1-lost-tail", "consumer-truncation", "coordinator-cascade", "ack-lost",
    "retry-reorders", "offsets-reset", "poll-interval-loop", "partitions-added-latest",
    "consumer-bounce-eager", "consumer-bounce-static", "consumer-bounce-cooperative", "instance-id-claimed-twice",
    "retention-overtakes-latest", "retention-overtakes-earliest", "consumer-crash-auto-commit",
    "consumer-crash-handed-off",
    "hanging-transaction", "delayed-commit", "exactly-once", "hot-key", "majority-ring",
    "slow-links", "slow-disk", "full-disk",
    "ack-reset", "zombie-producer", "traffic-spike",
    "guarded",
    "clock-ahead-retention", "session-expiry-controller", "stale-metadata-zombie",
)  # fmt: skip
"""What happened to somebody, or what Kafka's own system tests do to it."""
MATRICES = (
    "acks-matrix", "delayed-commit-matrix", "last-replica-matrix", "min-isr-matrix", "power-cut-matrix",
    "retention-matrix", "retry-matrix", "rolling-restart-matrix", "split-leader-matrix", "zone-loss-matrix",
)  # fmt: skip
"""Grids of settings; here each runs once, as it stands."""
TIMED = (
    "leader-crash", "gc-pause-acks-1", "gc-pause-acks-all", "both-followers-paused", "follower-partitioned", *INCIDENTS,
)  # fmt: skip


def run(name: str, seed: int | None = None) -> Result:
    return start_session(load(bundled.path_of(name)), seed=seed).finish()


@pytest.fixture(params=bundled.names())
def playbook(request: pytest.FixtureRequest) -> Playbook:
    return load(bundled.path_of(request.param))


def test_what_is_bundled() -> None:
    assert set(bundled.names()) == {
        "sandbox",
        *TIMED,
        *TRACES,
        *MATRICES,
        *(f"{pair}-{kafka}" for pair in PAIRS for kafka in ("0.10.2", "3.9")),
    }


def test_a_name_that_is_not_bundled_names_the_nearest() -> None:
    with pytest.raises(KeyError, match="did you mean 'leader-crash'"):
        bundled.path_of("leader-crush")


def test_each_describes_itself_and_expects_something(playbook: Playbook) -> None:
    assert playbook.name == playbook.path.rpartition("/")[2].removesuffix(".yaml")
    assert len(playbook.title) <= 110
    assert len(re.findall(r"[.:](?:\s|$)", playbook.story)) >= 2
    assert playbook.tags
    assert playbook.expectations


def test_each_passes(playbook: Playbook) -> None:
    result = start_session(playbook).finish()
    wrong = [f"{each.text}: {each.detail}" for each in result.expectations if not each.ok]
    assert (result.verdict, wrong, result.reason) == ("pass", [], "")


def test_the_page_on_playbooks_lists_traces_and_incidents() -> None:
    page = (Path(__file__).parents[2] / "docs" / "playbooks.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z0-9-]+)` \|", page, re.MULTILINE)
    told = [name for name in rows if "-" in name or name in bundled.names()]
    assert sorted(told) == sorted((*TRACES, *INCIDENTS))


@pytest.mark.parametrize(("kafka", "mode"), [(kafka, mode) for kafka in PROFILE_VERSIONS for mode in modes_of(kafka)])
def test_the_traces_hold_under_every_version(kafka: str, mode: str) -> None:
    for name in TRACES:
        source = apply_settings(bundled.path_of(name).read_text(), {"cluster.kafka": kafka, "cluster.mode": mode})
        result = start_session(loads(source, name)).finish()
        wrong = [f"{name}: {each.text}: {each.detail}" for each in result.expectations if not each.ok]
        assert (result.verdict, wrong, result.reason) == ("pass", [], "")


def test_scenario_1_loses_an_acknowledged_record_only_before_kip_101() -> None:
    old, new = run("kip-101-scenario-1-0.10.2"), run("kip-101-scenario-1-3.9")
    assert (old.ledger.acked, old.ledger.acked_lost, old.ledger.committed_lost) == (3, 1, 1)
    assert (new.ledger.acked, new.ledger.acked_lost, new.ledger.committed_lost) == (3, 0, 0)
    assert "high watermark 1" in old.losses[0].cause


@pytest.mark.parametrize(("kafka", "differ"), [("0.10.2", True), ("3.9", False)])
def test_scenario_2_leaves_logs_that_differ_only_before_kip_101(kafka: str, differ: bool) -> None:
    result = run(f"kip-101-scenario-2-{kafka}")
    statuses = {replica.status for partition in result.partitions for replica in partition.replicas}
    assert ("diverged" in statuses) is differ


@pytest.mark.parametrize("seed", range(5))
def test_what_acks_decides_does_not_hang_on_the_seed(seed: int) -> None:
    one, everyone, crash = (run(name, seed) for name in ("gc-pause-acks-1", "gc-pause-acks-all", "leader-crash"))
    assert one.ledger.acked_lost > 0
    assert one.ledger.committed_lost == everyone.ledger.acked_lost == crash.ledger.acked_lost == 0
    assert {one.verdict, everyone.verdict, crash.verdict} == {"pass"}


@pytest.mark.parametrize("seed", range(3))
def test_a_follower_that_is_cut_off_stalls_acks_all_for_its_lag_time_only(seed: int) -> None:
    session = start_session(load(bundled.path_of("follower-partitioned")), seed=seed)
    cluster = session.cluster
    acked = []
    for second in (5, 14, 25, 44):
        session.advance(second * 1_000_000)
        acked.append(cluster.query.acked())
    before, stalled, after, long_after = acked
    assert stalled - before < 20
    assert after - stalled > 1_500
    assert long_after - after > 3_500
    result = session.finish()
    assert (result.verdict, result.ledger.acked_lost) == ("pass", 0)
    assert sum(consumer.read for consumer in cluster.consumers.values()) == result.ledger.acked


@pytest.mark.parametrize("name", ["kip-101-scenario-1-0.10.2", "hw-two-rounds-3.9"])
def test_a_table_that_is_wrong_by_one_fails(name: str) -> None:
    playbook = load(bundled.path_of(name))
    spoiled = playbook.source.replace("{leo: 2, hw: 1,", "{leo: 2, hw: 2,", 1).replace(
        "leo: 1, hw: 1}", "leo: 1, hw: 0}", 1
    )
    assert spoiled != playbook.source
    result = start_session(loads(spoiled, playbook.path)).finish()
    assert result.verdict == "fail"

import re
from functools import cache
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.checker.root_cause.findings import UNEXPLAINED
from cluster_model.protocol.releases import RELEASE_LINES
from cluster_model.protocol.versions import modes_of
from docs.generate.catalogue_pages import library_page, library_theme_page
from playbooks.engine.session_runner import start_session
from playbooks.library import bundled
from playbooks.library.index import TAGS, THEMES
from playbooks.model.playbook import Playbook
from playbooks.parser.loader import loads
from playbooks.parser.settings import apply_settings
from playbooks.recording.recorder import Recorder
from playbooks.results.result import SessionResult
from tests.playbooks.test_matrices import TELLING as TELLING_GRIDS
from tests.playbooks.thinned import THINNED, thinned
from tests.support.adding_up import adds_up
from tests.support.breadth import EVENING, sample_count, spread_sample
from tests.support.chain_check import audit
from tests.support.library import playbook_of

pytestmark = pytest.mark.slow

PAIRS = ("hw-two-rounds", "kip-101-scenario-1", "kip-101-scenario-2")
TRACES = (
    "two-round-hw", "two-round-hw-failover", "kip-101-loss", "kip-101-loss-two-brokers", "power-loss-divergence",
    "kip-279-fast-failovers", "kip-320-unfenced-follower", "unclean-election", "unclean-election-off",
    "last-replica-standing", "zombie-leader-gc-pause", "expand-race", "lost-tail-same-epoch",
    "unclean-election-arithmetic", "kafka-7128-early-isr-join",
)  # fmt: skip
"""Stepped by hand, and right under every version."""
TELLING = (
    ("0.8.2", "zookeeper"), ("0.11", "zookeeper"), ("1.1", "zookeeper"), ("2.1", "zookeeper"), ("2.7", "zookeeper"),
    ("3.7", "kraft"), ("4.1", "kraft"),
)  # fmt: skip
"""The first to cut by epoch, to enter an epoch when elected, to fence by it, to be told of divergence in a fetch, to
need a least ISR for the high watermark, and to have eligible leader replicas; and the oldest."""


INCIDENTS = (
    "ack-lost", "ack-reset", "clock-ahead-retention", "consumer-bounce-cooperative", "consumer-bounce-eager",
    "consumer-bounce-static", "consumer-crash-auto-commit", "consumer-crash-handed-off", "consumer-truncation",
    "controller-crash", "controller-crash-zookeeper", "coordinator-cascade", "decommission-large", "decommission-small",
    "ensemble-lost", "exactly-once", "follower-partitioned", "guarded", "hot-key", "instance-id-claimed-twice",
    "last-replica-power-loss", "majority-ring", "min-isr-one-unclean", "min-isr-one-waits", "partitions-added-latest",
    "poll-interval-loop", "quorum-lost", "reassignment-throttled", "retention-overtakes-latest",
    "session-expiry-controller", "slow-disk", "slow-links", "split-leader-zookeeper", "traffic-spike", "two-failures",
    "zombie-producer", "zone-loss",
)  # fmt: skip
"""What passes under another seed where its numbers are told, with findings that hold together: here for an evening.

The others are enough for tables of every kind of record: lost by each cause, failed, aborted and deleted ones.
"""
FINDINGS = ("gc-pause-acks-1", "retry-reorders")
"""What passes where its findings are."""
HERE = tuple(name for name in bundled.names() if EVENING or name not in (*INCIDENTS, *FINDINGS, *TELLING_GRIDS))


def run(name: str, seed: int | None = None) -> SessionResult:
    return start_session(loads(thinned(name), name), seed=seed).finish()


@cache
def printed() -> dict[str, str]:
    """The index and the page of each theme, made once, by their files."""
    return {"library": library_page(), **{f"library-{theme}": library_theme_page(theme) for theme in THEMES}}


@pytest.fixture(params=bundled.names())
def playbook(request: pytest.FixtureRequest) -> Playbook:
    return playbook_of(request.param)


def test_the_library_has_the_expected_playbooks() -> None:
    assert len(bundled.names()) >= 75
    assert {"sandbox", *TRACES, *(f"{pair}-{kafka}" for pair in PAIRS for kafka in ("0.10.2", "3.9"))} < set(
        bundled.names()
    )


def test_a_name_that_is_not_bundled_names_the_nearest(snapshot: SnapshotAssertion) -> None:
    with pytest.raises(KeyError) as caught:
        bundled.path_of("leader-crush")
    assert caught.value.args == snapshot


def test_each_describes_itself_and_expects_something(playbook: Playbook) -> None:
    assert playbook.name == playbook.path.rpartition("/")[2].removesuffix(".yaml")
    assert len(playbook.title) <= 110
    assert len(re.findall(r"[.:](?:\s|$)", playbook.story)) >= 2
    assert playbook.tags
    assert playbook.expectations


@pytest.mark.parametrize("name", HERE)
def test_each_passes_its_table_adds_up_and_its_findings_hold_together(name: str, tmp_path: Path) -> None:
    playbook = loads(thinned(name), name) if name in THINNED and not EVENING else playbook_of(name)
    session = start_session(playbook, recorder=Recorder(tmp_path))
    result = session.finish()
    wrong = [f"{each.text}: {each.detail}" for each in result.expectations if not each.ok]
    assert (result.verdict, wrong, result.reason) == ("pass", [], "")
    checker = session.cluster.checker
    assert audit(result.findings, session.cluster.cluster_state, checker.ledger, checker.history) == []
    assert UNEXPLAINED not in {each.cause for each in result.findings}
    adds_up(Path(result.session))


def test_playbooks_not_run_here_are_run_by_another_test() -> None:
    tests = Path(__file__).parent
    texts = {path.name: path.read_text(encoding="utf-8") for path in tests.rglob("test_*.py") if path != Path(__file__)}
    told = "".join(text for text in texts.values() if re.search(r"\b(Incident|Thin|thinned)\b", text))
    assert [name for name in INCIDENTS if f'"{name}"' not in told] == []
    assert [name for name in FINDINGS if f'"{name}"' not in texts["test_findings.py"]] == []
    assert {*INCIDENTS, *FINDINGS} < set(bundled.names())


def test_a_thinned_playbook_has_a_part_of_the_records_and_expects_all_else() -> None:
    for name in spread_sample(list(THINNED), 16):
        whole, thin = playbook_of(name), loads(thinned(name), name)
        assert (len(whole.steps), len(whole.expectations)) == (len(thin.steps), len(thin.expectations))
        assert [each.name for each in whole.spec.producers] == [each.name for each in thin.spec.producers]
        assert all(
            less.interval_us >= more.interval_us
            for less, more in zip(thin.spec.producers, whole.spec.producers, strict=True)
        )
        assert thin.spec.producers[-1].interval_us > whole.spec.producers[-1].interval_us


def test_each_says_where_it_comes_from_and_is_found_by_words_of_the_vocabulary(playbook: Playbook) -> None:
    assert playbook.origins
    assert not any(re.search(r"(^|[ /])(reference|scenarios)[./]", text) for text in playbook.origins)
    assert len([tag for tag in playbook.tags if tag in THEMES]) == 1
    assert [tag for tag in playbook.tags if tag not in THEMES and tag not in TAGS] == []
    assert len(set(playbook.tags)) == len(playbook.tags) >= 3
    assert not ({"safe", "loss"} <= set(playbook.tags))


def test_each_passes_under_its_own_version_by_its_own_word(playbook: Playbook) -> None:
    assert playbook.spec.kafka in playbook.profiles
    for kafka in playbook.profiles:
        assert not re.search(rf"mode: (?!{'|'.join(modes_of(kafka))})", playbook.source)


def test_the_traces_are_those_that_are_stepped_by_hand(playbook: Playbook) -> None:
    assert ("traces" in playbook.tags) == playbook.spec.manual


def test_every_word_of_the_vocabulary_is_used() -> None:
    used = {tag for name in bundled.names() for tag in playbook_of(name).tags}
    assert {*THEMES, *TAGS} == used


def test_the_pages_are_what_the_files_say() -> None:
    """Write them anew: ``make pages``."""
    folder = Path(__file__).parents[2] / "docs" / "reference"
    assert {name: (folder / f"{name}.md").read_text(encoding="utf-8") for name in printed()} == printed()


def test_the_pages_have_every_playbook_once() -> None:
    index, *themes = printed().values()
    assert sorted(re.findall(r"^## (.+)$", "".join(themes), re.MULTILINE)) == list(bundled.names())
    rows = re.findall(r"^\| \[([^]]+)\]\((library-[a-z]+)\.md#([^)]+)\)", index, re.MULTILINE)
    assert sorted(name for name, _page, _anchor in rows) == list(bundled.names())
    assert [name for name, _page, anchor in rows if anchor != name.replace(".", "")] == []
    assert [name for name, page, _anchor in rows if f"\n## {name}\n" not in printed()[page]] == []


@pytest.mark.parametrize(
    ("kafka", "mode"), [(kafka, mode) for kafka in RELEASE_LINES for mode in modes_of(kafka)] if EVENING else TELLING
)
def test_the_traces_hold_under_every_version(kafka: str, mode: str) -> None:
    for name in TRACES:
        source = apply_settings(bundled.path_of(name).read_text(), {"cluster.kafka": kafka, "cluster.mode": mode})
        result = start_session(loads(source, name)).finish()
        wrong = [f"{name}: {each.text}: {each.detail}" for each in result.expectations if not each.ok]
        assert (result.verdict, wrong, result.reason) == ("pass", [], "")


def test_scenario_1_loses_an_acknowledged_record_only_before_kip_101(snapshot: SnapshotAssertion) -> None:
    old, new = run("kip-101-scenario-1-0.10.2"), run("kip-101-scenario-1-3.9")
    assert (old.ledger.acked, old.ledger.acked_lost, old.ledger.committed_lost) == (3, 1, 1)
    assert (new.ledger.acked, new.ledger.acked_lost, new.ledger.committed_lost) == (3, 0, 0)
    assert old.losses[0].cause == snapshot


@pytest.mark.parametrize(("kafka", "differ"), [("0.10.2", True), ("3.9", False)])
def test_scenario_2_leaves_logs_that_differ_only_before_kip_101(kafka: str, differ: bool) -> None:
    result = run(f"kip-101-scenario-2-{kafka}")
    statuses = {replica.status for partition in result.partitions for replica in partition.replicas}
    assert ("diverged" in statuses) is differ


@pytest.mark.parametrize("seed", range(sample_count(1, 5)))
def test_outcomes_decided_by_acks_hold_for_every_seed(seed: int) -> None:
    one, everyone, crash = (run(name, seed) for name in ("gc-pause-acks-1", "gc-pause-acks-all", "leader-crash"))
    assert one.ledger.acked_lost > 0
    assert one.ledger.committed_lost == everyone.ledger.acked_lost == crash.ledger.acked_lost == 0
    assert {one.verdict, everyone.verdict, crash.verdict} == {"pass"}


@pytest.mark.parametrize("seed", range(sample_count(1, 3)))
def test_a_follower_that_is_cut_off_stalls_acks_all_for_its_lag_time_only(seed: int) -> None:
    session = start_session(loads(thinned("follower-partitioned"), "follower-partitioned"), seed=seed)
    cluster = session.cluster
    acked = []
    for second in (5, 14, 25, 44):
        session.advance(second * 1_000_000)
        acked.append(cluster.query.acked())
    before, stalled, after, long_after = acked
    assert stalled - before < 2
    assert after - stalled > 150
    assert long_after - after > 350
    result = session.finish()
    assert (result.verdict, result.ledger.acked_lost) == ("pass", 0)
    assert sum(consumer.read for consumer in cluster.consumers.values()) == result.ledger.acked


@pytest.mark.parametrize("name", ["kip-101-scenario-1-0.10.2", "hw-two-rounds-3.9"])
def test_a_table_that_is_wrong_by_one_fails(name: str) -> None:
    playbook = playbook_of(name)
    spoiled = playbook.source.replace("{leo: 2, hw: 1,", "{leo: 2, hw: 2,", 1).replace(
        "leo: 1, hw: 1}", "leo: 1, hw: 0}", 1
    )
    assert spoiled != playbook.source
    result = start_session(loads(spoiled, playbook.path)).finish()
    assert result.verdict == "fail"

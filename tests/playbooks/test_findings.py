"""Findings: each loss is reported once, with the right kind, cause and event chain, and the counts add up.

The files in ``golden_findings`` are sentences and chains; after a deliberate change review them, then run
``make goldens``.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.checker.root_cause.finding_text import ACKNOWLEDGED_KIND
from cluster_model.checker.root_cause.findings import BY_CODE, CAUSES, KINDS, Finding, RecordBlock
from docs.generate.reference_pages import cause_page
from playbooks.engine.session_runner import start_session
from playbooks.errors import PlaybookError
from playbooks.library import bundled
from playbooks.parser.loader import load, loads
from playbooks.results.result import SessionResult
from tests.playbooks.thinned import thinned
from tests.support.breadth import covering_cases
from tests.support.chain_check import audit
from tests.support.golden import GoldenFile
from tui.output.result import LINKS_SHOWN, chain_lines, finding_lines

FILES = Path(__file__).parent / "golden_findings"
PUBLISHED = Path(__file__).parents[2] / "docs" / "reference" / "causes.md"

GOLDEN = {
    "kip-101-loss": {("lost", "hw-truncation")},
    "kip-320-unfenced-follower": {("lost", "unfenced-follower")},
    "kip-279-fast-failovers": {("lost", "unreplicated-tail")},
    "kafka-7128-early-isr-join": {("lost", "early-isr-join")},
    "unclean-election-arithmetic": {("lost", "unclean-election")},
    "last-replica-standing": {("lost", "last-replica-lost"), ("lost", "power-loss-unflushed")},
    "last-known-leader": {("lost", "last-known-leader")},
    "last-replica-power-loss": {("lost", "last-replica-lost")},
    "zombie-leader-gc-pause": {("lost", "zombie-leader")},
    "power-loss-divergence": {("lost", "power-loss-unflushed")},
    "acks-0-leader-crash": {("lost", "acks-0-unplaced")},
    "acks-1-lost-tail": {("lost", "unreplicated-tail")},
    "gc-pause-acks-1": {("lost", "zombie-leader"), ("reordered", "retry-in-flight")},
    "ack-reset": {("duplicate", "retry-without-idempotence")},
    "retry-reorders": {("reordered", "retry-in-flight")},
    "partitions-added-latest": {("skipped", "partitions-added-latest")},
    "retention-overtakes-latest": {("skipped", "retention-overtook"), ("skipped", "reset-latest")},
    "consumer-crash-handed-off": {("abandoned", "commit-before-processing")},
    "delayed-commit": {("acked-aborted", "late-marker")},
}
"""Playbook → the findings that it must produce, and no others."""

BY_HAND = """floodmark: 1
name: by-hand
stepping: manual
cluster: {{kafka: "{kafka}", brokers: 2}}
topics:
  - {{name: orders, placement: [[1, 2]], config: {{min.insync.replicas: 1}}}}
steps:
  - deliver: {{broker: 1, partition: orders-0}}
  - deliver: {{broker: 2, partition: orders-0}}
{steps}
expect:
  - acked_lost() > 0
"""
LOST_DISKS = """  - append: {broker: 1, partition: orders-0, records: 3, acks: all}
  - fetch: {follower: 2, partition: orders-0}
  - fetch: {follower: 2, partition: orders-0}
  - disk_loss: {broker: 2}
  - fence: {broker: 2}
  - disk_loss: {broker: 1}
  - fence: {broker: 1}
  - restart: {broker: 1}
  - unfence: {broker: 1}
  - deliver: {broker: 1, partition: orders-0}
  - append: {broker: 1, partition: orders-0, records: 1, acks: 1}"""
ALONE = """  - shrink_isr: {partition: orders-0, broker: 1, out: [2]}
  - append: {broker: 1, partition: orders-0, records: 3, acks: all}
  - power_loss: {broker: 1, keep: 0}
  - fence: {broker: 1}
  - restart: {broker: 1}
  - unfence: {broker: 1}
  - deliver: {broker: 1, partition: orders-0}"""
FAST_FAILOVERS = """  - append: {broker: 1, partition: orders-0, records: 10}
  - fetch: {follower: 2, partition: orders-0}
  - fetch: {follower: 2, partition: orders-0}
  - fetch: {follower: 2, partition: orders-0}
  - elect: {partition: orders-0, leader: 1}
  - deliver: {broker: 1, partition: orders-0}
  - append: {broker: 1, partition: orders-0, names: [a10], acks: 1}
  - elect: {partition: orders-0, leader: 2}
  - deliver: {broker: 2, partition: orders-0}
  - append: {broker: 2, partition: orders-0, names: [b10], acks: 0}
  - elect: {partition: orders-0, leader: 1}
  - deliver: {broker: 1, partition: orders-0}
  - append: {broker: 1, partition: orders-0, names: [a11], acks: 0}
  - deliver: {broker: 2, partition: orders-0, truncate: later}
  - truncate_send: {follower: 2, partition: orders-0}
  - truncate_apply: {follower: 2, partition: orders-0}
  - fetch: {follower: 2, partition: orders-0}
  - fetch: {follower: 2, partition: orders-0}
  - elect: {partition: orders-0, leader: 2}
  - deliver: {broker: 2, partition: orders-0}"""
TURNED_BITS = """floodmark: 1
name: turned-bits
cluster: {kafka: "3.9", brokers: 3}
topics: [{name: orders, placement: [[1, 2, 3]]}]
clients:
  producers: [{name: clicks, topic: orders, rate: 100/s, config: {acks: all}}]
steps:
  - {at: 3s, inject: corrupt_batch, target: leader(orders-0)}
settle: 5s
expect:
  - acked_lost() > 0
"""
WHOLE = ("partitions-added-latest",)
"""A playbook with all its records, so that counts have four digits."""
SMALL = {
    "small-disks-lost": (BY_HAND.format(kafka="3.9", steps=LOST_DISKS), {("lost", "disk-loss")}),
    "small-leader-alone": (BY_HAND.format(kafka="3.9", steps=ALONE), {("lost", "min-isr-one")}),
    "small-fast-failovers": (BY_HAND.format(kafka="1.1", steps=FAST_FAILOVERS), {("lost", "fast-failover-divergence")}),
    "small-turned-bits": (TURNED_BITS, {("lost", "damaged-batch")}),
}
"""Causes that no bundled playbook produces: a playbook and its findings."""


class FinishedSession:
    """A session that has ended, with its findings."""

    def __init__(self, text: str, path: str) -> None:
        playbook = (
            loads(text, path)
            if path.endswith(".yaml")
            else load(bundled.path_of(path))
            if path in WHOLE
            else loads(thinned(path), path)
        )
        self.session = start_session(playbook)
        self.result: SessionResult = self.session.finish()
        self.findings = self.result.findings
        self.wrong = self.audit(self.findings)

    def audit(self, findings: tuple[Finding, ...]) -> list[str]:
        cluster = self.session.cluster
        return audit(findings, cluster.cluster_state, cluster.checker.ledger, cluster.checker.history)

    @property
    def causes(self) -> set[tuple[str, str]]:
        return {(each.kind, each.cause) for each in self.findings}


@cache
def told_of(name: str) -> FinishedSession:
    """The result of a bundled playbook, run once and not changed."""
    return FinishedSession("", name)


def as_text(result: SessionResult) -> str:
    lines: list[str] = []
    for finding in result.findings:
        lines += [*finding_lines(finding, timed=bool(result.virtual_us)), ""]
    return "\n".join(lines)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*GOLDEN, *SMALL])
def test_sentences_and_chains(name: str, golden_file: GoldenFile) -> None:
    text, causes = SMALL[name] if name in SMALL else ("", GOLDEN[name])
    told = FinishedSession(text, f"{name}.yaml") if text else told_of(name)
    assert (told.result.verdict, told.result.reason) == ("pass", "")
    assert told.causes == causes
    assert told.wrong == []
    assert as_text(told.result) == golden_file(FILES / f"{name}.txt")


def test_goldens_cover_ten_causes() -> None:
    assert len({cause for causes in GOLDEN.values() for _kind, cause in causes}) >= 10
    assert {path.stem for path in FILES.glob("*.txt")} == {*GOLDEN, *SMALL}


def test_the_arithmetic_of_an_unclean_election_is_in_its_one_finding() -> None:
    (finding,) = told_of("unclean-election-arithmetic").findings
    assert finding.count == 8
    assert sum(place.count for place in finding.blocks if place.acks == -1) == 3
    assert finding.committed == 3


def test_the_published_page_is_made_from_the_list_of_causes() -> None:
    assert PUBLISHED.read_text(encoding="utf-8") == cause_page()
    assert len(BY_CODE) == len(CAUSES)
    assert all(set(cause.kinds) <= set(KINDS) for cause in CAUSES)


def test_conditions_count_findings_and_reject_unknown_causes(snapshot: SnapshotAssertion) -> None:
    text = load(bundled.path_of("kip-101-loss")).source
    asked = text.replace(
        "expect:", "expect:\n  - findings() == 1\n  - findings(hw-truncation) == 1\n  - findings(disk-loss) == 0"
    )
    assert FinishedSession(asked, "asked.yaml").result.verdict == "pass"
    with pytest.raises(PlaybookError) as caught:
        loads(text.replace("expect:", "expect:\n  - findings(hw-truncatio) == 1"), "asked.yaml")
    (problem,) = caught.value.problems
    assert problem.key == "expect[1]"
    assert problem.message == snapshot


# -- one cause, one finding, over partitions ---------------------------------------------------------------------------

ZONE = """floodmark: 1
name: zone
cluster:
  kafka: "3.9"
  brokers: [{id: 1, rack: a}, {id: 2, rack: b}, {id: 3, rack: c}]
topics:
  - name: orders
    placement: [[1, 2, 3], [1, 3, 2], [1, 2, 3], [1, 3, 2], [1, 2, 3], [1, 3, 2], [1, 2, 3], [1, 3, 2]]
clients:
  producers:
    - {name: clicks, topic: orders, rate: 400/s, keys: 500, config: {acks: 1}}
    - {name: views, topic: orders, rate: 400/s, keys: 500, config: {acks: 1}}
steps:
  - {at: 2s, inject: lag, target: broker(1), latency: 300ms, to: broker(2) + broker(3)}
  - {at: 4s, inject: crash, target: rack(a), for: 12s}
settle: 10s
expect:
  - acked_lost() > 0
"""


@pytest.mark.slow
def test_one_zone_lost_is_one_finding_over_many_partitions(snapshot: SnapshotAssertion) -> None:
    told = FinishedSession(ZONE, "zone.yaml")
    tails = [each for each in told.findings if each.cause == "unreplicated-tail"]
    assert told.wrong == []
    (tail,) = tails
    assert tail.count == told.result.ledger.acked_lost > 100
    assert len(tail.partitions) == 8
    assert set(tail.clients) == {"clicks", "views"}
    assert {place.acks for place in tail.blocks} == {1}
    assert ("node_down", 1) in {(link.event_kind, link.broker) for link in tail.chain}
    assert tail.sentence == snapshot


# -- of the right kind, and none where none belongs --------------------------------------------------------------------

MATRIX = """floodmark: 1
name: matrix
cluster: {{kafka: "{kafka}", brokers: 3, config: {{replica.lag.time.max.ms: 5000}}}}
topics:
  - name: orders
    placement: [[1, 2, 3]]
    config: {{min.insync.replicas: {min_isr}, unclean.leader.election.enable: {unclean}}}
clients:
  producers:
    - name: clicks
      topic: orders
      rate: 40/s
      config:
        {{acks: {acks}, retries: 0, max.in.flight.requests.per.connection: 1, request.timeout.ms: 2000}}
steps:
{steps}
settle: 40s
expect:
  - now() > 0s
"""
LAG = "  - {at: 3s, inject: lag, target: broker(1), to: broker(2) + broker(3), latency: 40ms, for: 30s}\n"
CLEAN = LAG + "  - {at: 5s, inject: crash, target: leader(orders-0), for: 40s}"
POWER = LAG + "  - {at: 5s, inject: power_loss, target: leader(orders-0), for: 40s}"
UNCLEAN = """  - {at: 5s, inject: crash, target: followers(orders-0), for: 27s}
  - {at: 30s, inject: crash, target: leader(orders-0), for: 60s}"""
EVERYBODY = "  - {at: 5s, inject: power_loss, target: all, for: 5s}"

TAIL = ("lost", "unreplicated-tail")
ELECTED = ("lost", "unclean-election")
UNFLUSHED = ("lost", "power-loss-unflushed")
CUT = ("lost", "hw-truncation")

KAFKA = ("0.10.2", "1.0", "3.9", "4.1")
EXPECTED = {
    ("clean", "1"): {TAIL},
    ("clean", "all"): set(),
    ("power", "1"): {TAIL},
    ("power", "all"): set(),
    ("unclean", "1"): {ELECTED},
    ("unclean", "all"): {ELECTED},
    ("everybody", "1"): {UNFLUSHED},
    ("everybody", "all"): {UNFLUSHED},
}
FAULTS = {"clean": CLEAN, "power": POWER, "unclean": UNCLEAN, "everybody": EVERYBODY}


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "acks", "kafka"), covering_cases(EXPECTED, KAFKA))
def test_findings_have_the_expected_kinds(fault: str, acks: str, kafka: str) -> None:
    unclean = "true" if fault == "unclean" else "false"
    text = MATRIX.format(kafka=kafka, min_isr=1, unclean=unclean, acks=acks, steps=FAULTS[fault])
    told = FinishedSession(text, "matrix.yaml")
    assert told.wrong == []
    assert told.causes == EXPECTED[fault, acks]
    assert sum(each.count for each in told.findings) == told.result.ledger.acked_lost


# -- breakages: what a chain must not be -------------------------------------------------------------------------------

Breaking = Callable[[Finding], Finding]


def _link(finding: Finding, kind: str) -> int:
    return next(number for number, link in enumerate(finding.chain) if link.event_kind == kind)


def _changed(finding: Finding, number: int, **fields: object) -> Finding:
    chain = list(finding.chain)
    chain[number] = replace(chain[number], **fields)  # type: ignore[arg-type]
    return replace(finding, chain=tuple(chain))


def _without(finding: Finding, kind: str) -> Finding:
    return replace(finding, chain=tuple(link for link in finding.chain if link.event_kind != kind))


def _one_less(places: tuple[RecordBlock, ...]) -> tuple[RecordBlock, ...]:
    return (replace(places[0], count=places[0].count - 1), *places[1:])


BREAKAGES: dict[str, Breaking] = {
    "a cut that another broker made": lambda each: _changed(each, _link(each, "truncated"), broker=3),
    "a cut by a broker that is no replica": lambda each: _changed(each, _link(each, "truncated"), broker=9),
    "no election": lambda each: _without(each, "leader_elected"),
    "no promise": lambda each: _without(each, ACKNOWLEDGED_KIND),
    "two promises": lambda each: replace(each, chain=(each.chain[0], *each.chain)),
    "an ISR that never stood": lambda each: _changed(
        each,
        _link(each, ACKNOWLEDGED_KIND),
        text=each.chain[_link(each, ACKNOWLEDGED_KIND)].text.replace("[1, 2, 3]", "[1, 2]"),
    ),
    "times that go back": lambda each: replace(
        _changed(each, 0, at_us=9), chain=(replace(each.chain[0], at_us=9), *each.chain[1:])
    ),
    "the promise behind the drop": lambda each: replace(each, chain=(*each.chain[1:], each.chain[0])),
    "an end that drops nothing": lambda each: replace(
        each, chain=(*each.chain, replace(each.chain[0], event_kind="node_up"))
    ),
    "one record less": lambda each: replace(each, blocks=_one_less(each.blocks)),
    "a cause that there is not": lambda each: replace(each, cause="bad-luck"),
    "a cause of something else": lambda each: replace(each, cause="reset-latest"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BREAKAGES)
def test_a_corrupted_chain_is_detected(name: str, snapshot: SnapshotAssertion) -> None:
    told = told_of("acks-1-lost-tail" if name.startswith(("an ISR", "a cut that")) else "last-replica-standing")
    assert told.wrong == []
    broken = BREAKAGES[name](told.findings[0])
    wrong = told.audit((broken, *told.findings[1:]))
    assert wrong != []
    assert wrong == snapshot


def test_a_wrong_last_isr_is_detected(snapshot: SnapshotAssertion) -> None:
    told = told_of("unclean-election-arithmetic")
    words = told.findings[0].chain[0].text
    broken = _changed(told.findings[0], 0, text=words.replace("later [1]", "later [1, 3]"))
    assert words != broken.chain[0].text
    assert (words, told.audit((broken,))) == snapshot


def test_merged_or_split_causes_are_detected(snapshot: SnapshotAssertion) -> None:
    told = told_of("last-replica-standing")
    one, other = told.findings
    merged = replace(one, blocks=(*one.blocks, *other.blocks))
    wrong = {"merged": told.audit((merged,))}
    (place,) = one.blocks
    halves = tuple(
        replace(one, sentence=one.sentence.replace("2 records", "1 record"), blocks=(part,))
        for part in (replace(place, count=1), replace(place, count=1, log_offset=place.log_offset + 1))
    )
    wrong["split"] = told.audit((*halves, other))
    wrong["left out"] = told.audit((one,))
    assert [] not in wrong.values()
    assert wrong == snapshot


def test_one_record_in_two_blocks_is_detected(snapshot: SnapshotAssertion) -> None:
    told = told_of("last-replica-standing")
    one = told.findings[0]
    twice = replace(one, blocks=(*one.blocks, *one.blocks), sentence=one.sentence.replace("2 records", "4 records"))
    wrong = told.audit((twice,))
    assert wrong != []
    assert wrong == snapshot


# -- how they are printed, and that they come back ---------------------------------------------------------------------


def test_the_middle_of_a_long_chain_is_counted(snapshot: SnapshotAssertion) -> None:
    link = told_of("kip-101-loss").findings[0].chain[0]
    lines = chain_lines([link] * 30, timed=True)
    assert len(lines) == LINKS_SHOWN + 1
    (counted,) = set(lines) - {lines[0]}
    assert counted == snapshot


def test_missing_records_are_a_finding_until_they_return() -> None:
    session = start_session(load(bundled.path_of("kip-101-loss")))
    kinds = []
    while session.advance(max_events=1):
        kinds.append({each.kind for each in session.cluster.checker.findings.findings(0)})
    assert {"missing"} in kinds
    assert kinds[0] == set()
    assert {each.kind for each in session.finish().findings} == {"lost"}


FAILOVERS = """floodmark: 1
name: failovers
stepping: manual
cluster: {kafka: "3.9", brokers: 2}
topics:
  - {name: orders, placement: [[1, 2]], config: {min.insync.replicas: 1}}
steps:
  - deliver: {broker: 1, partition: orders-0}
  - deliver: {broker: 2, partition: orders-0}
"""
ROUND = """  - append: {{broker: {old}, partition: orders-0, records: 2, acks: 1}}
  - fetch: {{follower: {new}, partition: orders-0}}
  - fetch: {{follower: {new}, partition: orders-0}}
  - append: {{broker: {old}, partition: orders-0, records: 1, acks: all}}
  - elect: {{partition: orders-0, leader: {new}}}
  - deliver: {{broker: {new}, partition: orders-0}}
  - deliver: {{broker: {old}, partition: orders-0}}
  - fetch: {{follower: {old}, partition: orders-0}}
  - fetch: {{follower: {old}, partition: orders-0}}
  - fetch: {{follower: {old}, partition: orders-0}}
"""


def _entries(rounds: int) -> tuple[int, int]:
    steps = [ROUND.format(old=1 + number % 2, new=2 - number % 2) for number in range(rounds)]
    told = FinishedSession(FAILOVERS + "".join(steps) + "expect:\n  - acked_lost() == 0\n", "failovers.yaml")
    history = told.session.cluster.checker.history
    cuts = [each for each in told.session.drain() if each.kind == "truncated"]
    assert (told.result.verdict, told.findings) == ("pass", ())
    return history.entries - len(history.fault_records._steps), len(cuts)


@pytest.mark.slow
def test_memory_after_many_failovers_depends_on_records_in_doubt_only() -> None:
    few, cut_few = _entries(20)
    many, cut_many = _entries(60)
    assert cut_many >= cut_few + 40
    assert many <= few + 32
    assert many < 130

"""What the clients of whole sessions could see, held against the ledger, which knows what became of every record."""

import json
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from cluster_model.checker.anomalies.definitions import KINDS
from cluster_model.checker.anomalies.operations import OK
from docs.generate.reference_pages import anomaly_page
from playbooks.engine.session import Session
from playbooks.model.playbook import Playbook
from playbooks.parser.loader import loads
from playbooks.results.result import SessionResult
from tests.support.breadth import EVENING, sample_count
from tests.support.mistakes import keys, messages, mistakes_of
from tests.support.playbooks import CLUSTER
from tui.output.result import print_anomalies

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[2] / "docs" / "reference" / "anomalies.md"

MADE = """\
floodmark: 1
name: made
title: Made
seed: {seed}
cluster: {{kafka: "{kafka}", brokers: 3, config: {{offsets.topic.num.partitions: 1, default.replication.factor: 3}}}}
topics:
  - name: orders
    placement: [[1, 2, 3]]
    config: {{min.insync.replicas: {min_isr}, unclean.leader.election.enable: {unclean}}}
clients:
  producers:
    - {{name: shop, topic: orders, rate: 200/s, config: {{acks: {acks}{more}}}{txn}}}
    - {{name: web, topic: orders, rate: 50/s, config: {{acks: {acks}{idempotent}}}}}
  groups:
    - {{name: billing, topics: [orders], config: {{auto.offset.reset: earliest{isolation}}}}}
steps:
{steps}
settle: 20s
"""
FAULTS = ("crash", "power_loss", "gc_pause")


def made(seed: int, acks: str, *, unclean: bool, txn: bool, kafka: str = "3.9") -> Playbook:
    """Two producers and a group, and faults drawn from the seed."""
    draw = Random(seed)
    steps, at = [], 2
    for _step in range(draw.randint(1, 4)):
        who = draw.choice(("leader(orders-0)", "broker(1)", "broker(2)", "broker(3)"))
        fault, seconds = draw.choice(FAULTS), draw.randint(2, 12)
        steps.append(f"  - {{at: {at}s, inject: {fault}, target: '{who}', for: {seconds}s, if_any: true}}")
        at += draw.randint(1, 5)
    idempotent = ", enable.idempotence: false" if acks != "all" or draw.random() < 0.5 else ""
    text = MADE.format(
        seed=seed, kafka=kafka, min_isr=draw.choice((1, 2)), unclean=str(unclean).lower(), acks=acks,
        more=", transactional.id: shop" if txn else idempotent, idempotent=idempotent,
        txn=", transactions: {records: 50, abort_every: 4}" if txn else "",
        isolation=", isolation.level: read_committed" if txn else "", steps="\n".join(steps),
    )  # fmt: skip
    return loads(text, "made.yaml")


def run(playbook: Playbook) -> tuple[Session, SessionResult]:
    session = Session.start(playbook)
    return session, session.finish()


def by_name(result: SessionResult) -> Counter[str]:
    return Counter({name: sum(each.found for each in result.anomalies if each.name == name) for name in KINDS})


CASES = [
    (seed, acks, unclean, txn)
    for seed in range(sample_count(2, 3))
    for acks, unclean, txn in (("0", False, False), ("1", True, False), ("all", False, False), ("all", True, True))
]


@pytest.mark.parametrize(("seed", "acks", "unclean", "txn"), CASES)
def test_clients_never_claim_what_the_ledger_denies(seed: int, acks: str, unclean: bool, txn: bool) -> None:
    check(made(seed, acks, unclean=unclean, txn=txn))


@pytest.mark.parametrize("seed", range(3, 40) if EVENING else (3, 6, 11))
def test_clients_never_claim_what_the_ledger_denies_thorough(seed: int) -> None:
    draw = Random(seed)
    acks, txn = draw.choice((("0", False), ("1", False), ("all", False), ("all", True)))
    kafka = draw.choice(("1.0", "2.8", "3.9", "4.0"))
    check(made(seed, acks, unclean=draw.random() < 0.5, txn=txn, kafka=kafka))


def check(playbook: Playbook) -> None:
    """Losses and duplicates, in both directions."""
    session, result = run(playbook)
    found, ledger = by_name(result), result.ledger
    facts = session.cluster.checker.anomalies.history.anomalies.facts.key("orders-0")
    assert [each.name for each in result.anomalies if not each.legal] == []
    if result.verdict == "inconclusive":
        return  # A fault had nobody to strike, so that others were never healed.
    assert facts.caught_up
    # What is acknowledged and gone is what nobody can read: unless somebody had read it before it went.
    acked_aborted = session.cluster.query.acked_aborted()
    assert found["lost-write"] <= found["unseen"] <= ledger.acked_lost + acked_aborted
    lost_unread = sum(
        count for loss in result.losses for count in [_unread(facts.values.get(loss.client), loss.sequence, loss.count)]
    )
    assert found["unseen"] >= lost_unread
    # A duplicate that was lost again was seen twice, and stands once.
    assert (found["duplicate"] > 0) >= (ledger.duplicates > 0)
    assert found["phantom"] == found["two-owners"] == found["int-nonmonotonic-poll"] == found["int-poll-skip"] == 0
    assert sum(spans.size for spans in facts.ended[OK].values()) == ledger.acked


def _unread(values: object, sequence: int, count: int) -> int:
    if sequence < 0:
        return 0  # Sent with acks=0: nobody can tell which of them.
    return count if values is None else sum(end - start for start, end in values.without(sequence, sequence + count))  # type: ignore[attr-defined]


def test_a_quiet_session_has_none_but_lags() -> None:
    _session, result = run(loads(CLUSTER + "settle: 5s\n", "small.yaml"))
    assert {each.name for each in result.anomalies} <= {"realtime-lag"}


LOSSY = (
    CLUSTER.replace("acks: all", "acks: 1").replace("min.insync.replicas: 2", "min.insync.replicas: 1")
    + """\
steps:
  - {at: 2s, inject: partition, target: broker(2), for: 6s}
  - {at: 2s, inject: partition, target: broker(3), for: 6s}
  - {at: 4s, inject: crash, target: broker(1), for: 10s}
settle: 20s
expect:
  - anomalies() == 0
  - anomalies("unseen") > 0
"""
)


def test_conditions_ask_for_anomalies(snapshot: SnapshotAssertion) -> None:
    _session, result = run(loads(LOSSY, "lossy.yaml"))
    assert result.verdict == "pass"
    assert {each.reason for each in result.anomalies if each.name == "unseen"} == {"acks=1"}
    never = LOSSY.replace('anomalies("unseen") > 0', 'anomalies("unseen") == 0')
    assert run(loads(never, "lossy.yaml"))[1].verdict == "fail"
    problems = mistakes_of(lambda: loads(LOSSY.replace("unseen", "lost-wriet"), "lossy.yaml"))
    assert keys(problems) == ["expect[2]"]
    assert messages(problems) == snapshot


def test_markers_of_transactions_take_no_memory() -> None:
    text = CLUSTER.replace("config: {acks: all}}", "config: {transactional.id: t}, transactions: {records: 20}}")
    text = text.replace("topics: [orders]}", "topics: [orders], config: {isolation.level: read_committed}}")
    session = Session.start(loads(text + "settle: 40s\n", "txn.yaml"))

    def entries() -> tuple[int, int]:
        checker = session.cluster.checker
        anomalies = checker.anomalies.history.anomalies
        anomalies.cases(session.cluster.now_us)
        saved = (checker.readings.save()[1], checker.findings.readers.save()[0])
        return anomalies.entries - anomalies.cycles.entries - anomalies.lags.entries, len(str(saved))

    session.advance(8_000_000)
    ranges, letters = entries()
    session.advance(24_000_000)
    later, more = entries()
    assert session.cluster.query.skipped("billing") == 0
    assert session.cluster.query.read("billing") > 0
    assert later <= ranges + 4
    assert more <= letters + 8


def test_a_session_continues_from_a_keyframe_with_what_was_seen() -> None:
    playbook = made(1, "1", unclean=True, txn=False)
    _session, straight = run(playbook)
    session = Session.start(playbook)
    session.advance(4_000_000)
    saved = session.save()
    session.advance(9_000_000)
    session.load(*saved)
    assert session.finish().anomalies == straight.anomalies


def test_the_document_and_the_lines_show_them() -> None:
    _session, result = run(made(0, "1", unclean=True, txn=False))
    document = json.loads(json.dumps(result.to_json()["anomalies"]))
    assert {each["anomaly"] for each in document} == {each.name for each in result.anomalies}
    assert set(document[0]) == {"anomaly", "count", "legal", "reason", "where", "examples"}
    assert all(each["legal"] == bool(each["reason"]) for each in document)
    console = Console(width=4_000, record=True, quiet=False, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123
    print_anomalies(console, [result.anomalies[0]._replace(legal=False, reason=""), *result.anomalies[1:]])
    lines = console.export_text().splitlines()
    assert lines[0].startswith(f"anomaly  {result.anomalies[0].name} (")
    assert len([line for line in lines if line.startswith("allowed ")]) == (len(result.anomalies) > 1)


def test_the_published_page_is_the_generated_one() -> None:
    fresh = "python -m docs.generate anomalies > docs/reference/anomalies.md"
    assert DOCS.read_text(encoding="utf-8") == anomaly_page(), f"write it anew: {fresh}"

"""The document that a run prints, and how a verdict comes about."""

import re
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.checker.root_cause.findings import LOST
from playbooks.engine.manual_session import ManualSession
from playbooks.engine.session import Session
from playbooks.library.bundled import path_of
from playbooks.parser.loader import load, loads
from playbooks.recording.recorder import Recorder
from playbooks.results.result import CollectedEvents, ExpectationResult, build_result
from tests.support.playbooks import CRASH, timed

INT = int
LATENCY = dict.fromkeys(("records", "min_us", "p50_us", "p95_us", "p99_us", "max_us"), INT)
ENDS = ("committed", "aborted", "unknown")
SUMS = {"us": INT, "longest_us": INT, "times": INT}
SHAPE: dict[str, Any] = {
    "playbook": str,
    "seed": INT,
    "profile": str,
    "verdict": str,
    "digest": str,
    "virtual_us": INT,
    "events": INT,
    "session": str,
    "expectations": [{"text": str, "ok": bool, "at_us": INT, "detail": str}],
    "ledger": dict.fromkeys(
        (
            *("sent", "acked", "failed", "unknown", "aborted", "acked_lost", "committed_lost"),
            *("duplicates", "reordered", "acked_aborted", "aborted_committed", "unknown_written"),
        ),
        INT,
    ),
    "ledger_by_partition": [
        {
            "client": str,
            "partition": str,
            **dict.fromkeys(("sent", "acked", "failed", "unknown", "aborted", "pending", "missing"), INT),
            **dict.fromkeys(("acked_lost", "committed_lost", "deleted", "unknown_written", "duplicates"), INT),
            "reordered": INT,
            "ranges": {"sent": [[INT]], "acked": [[INT]]},
        }
    ],
    "clients": {
        "producers": {
            "checkout": {
                **dict.fromkeys(
                    ("sent", "acked", "failed", "unknown", "aborted", "unanswered", "queued", "in_flight"), INT
                ),
                "retries": INT,
                "refused": {"NETWORK_EXCEPTION": INT, "NOT_LEADER_OR_FOLLOWER": INT},
                "errors": {},
                **dict.fromkeys(("transactions", *(f"transactions_{how}" for how in ENDS)), INT),
                **dict.fromkeys(("interceptor_failures", "killed", "closed"), INT),
                "failure": str,
                "latency": LATENCY,
            }
        },
        "groups": {
            "billing": {
                **dict.fromkeys(("read", "reread"), INT),
                "lag": type(None),
                **dict.fromkeys(("position_lag", "skipped", "generation", "rebalances"), INT),
                **dict.fromkeys(("idle_us", "commits"), INT),
                "failed_commits": INT,
                "commit_errors": {},
                **dict.fromkeys(("handler_failed", "abandoned", "truncations", "resets", "read_stall_us"), INT),
                "latency": LATENCY,
                "members": {
                    "billing/0": {
                        **dict.fromkeys(("read", "reread", "handler_failed", "commits", "failed_commits", "lost"), INT),
                        **dict.fromkeys(("abandoned", "killed", "closed"), INT),
                        "failure": str,
                        "latency": LATENCY,
                    }
                },
            }
        },
    },
    "unavailable": {
        **SUMS,
        "clients": {
            "checkout": {
                "acks": str,
                **SUMS,
                "partitions": {"orders-0": {**SUMS, "refusals": INT, "spans": [[INT]]}},
            }
        },
        "groups": {"billing": {**SUMS, "partitions": [str]}},
        "partitions": {"orders-0": {**SUMS, "spans": [[INT]]}},
    },
    "violations": [
        {
            "invariant": str,
            "at_us": INT,
            "partition": str,
            "detail": str,
            "cause": str,
            "offset": INT,
            "end_offset": INT,
            "leader_epoch": INT,
            "known": str,
        }
    ],
    "liveness_violations": [
        {
            "property": str,
            **dict.fromkeys(("at_us",), INT),
            "partition": str,
            "broker": INT,
            "detail": str,
            **dict.fromkeys(("since_us", "bound_us"), INT),
            "known": str,
        }
    ],
    "pending_liveness": [
        {"property": str, "partition": str, **dict.fromkeys(("broker", "pending_us", "remaining_us"), INT)},
    ],
    "stuck": [dict.fromkeys(("partition", "reason", "released_by"), str)],
    "losses": [
        {
            **dict.fromkeys(("partition", "client"), str),
            **dict.fromkeys(("sequence", "offset", "count", "epoch", "acks"), INT),
            "committed": bool,
            "cause": str,
        }
    ],
    "findings": [
        {
            **dict.fromkeys(("kind", "cause", "sentence"), str),
            **dict.fromkeys(("count", "committed"), INT),
            "partitions": [str],
            "clients": [str],
            "group": str,
            "ranges": [
                {
                    **dict.fromkeys(("partition", "client"), str),
                    **dict.fromkeys(("sequence", "count", "offset", "epoch", "acks"), INT),
                    "committed": bool,
                }
            ],
            "chain": [{"at_us": INT, "event": str, "partition": str, "broker": INT, "description": str}],
        }
    ],
    "partitions": {
        "orders-0": {
            "leader": INT,
            "epoch": INT,
            "isr": [INT],
            "hw": INT,
            "log_start": INT,
            "replicas": {key: {"leo": INT, "hw": INT, "epochs": [[INT]]} for key in ("1", "2", "3")},
        }
    },
    "guards": [{"guard": str, "action": str, "at_us": INT, "fault": str, "target": str, "reason": str}],
    "skipped": [{"fault": str, "target": str, "at_us": INT, "detail": str}],
    "anomalies": [],
    "title": str,
    "reason": str,
}


def check(found: Any, shape: Any, where: str = "result") -> None:
    """The same keys in the same order, and the same types, all the way down."""
    if isinstance(shape, dict):
        assert list(found) == list(shape), where
        for key, inner in shape.items():
            check(found[key], inner, f"{where}.{key}")
    elif isinstance(shape, list):
        assert isinstance(found, list), where
        for element in found:
            check(element, shape[0], f"{where}[]")
    else:
        assert type(found) is shape, where


@pytest.mark.slow
def test_the_document_has_exactly_the_published_keys(tmp_path: Path) -> None:
    result = Session.start(loads(CRASH, "c.yaml"), recorder=Recorder(tmp_path)).finish()
    document = result.to_json()
    for replicas in (partition["replicas"] for partition in document["partitions"].values()):
        replicas.update({key: replicas.pop(key) for key in sorted(replicas)})
    check(document, SHAPE)
    assert document["expectations"]
    assert Path(document["session"]).is_dir()


def test_violations_and_losses_come_with_their_cause(snapshot: SnapshotAssertion) -> None:
    result = ManualSession.start(load(path_of("kip-101-scenario-1-0.10.2"))).finish()
    assert result.ledger.acked_lost == sum(loss.count for loss in result.losses) == 1
    assert [finding.cause for finding in result.findings if finding.kind == LOST] == ["hw-truncation"]
    violations = result.to_json()["violations"]
    check(violations, SHAPE["violations"])
    found = {violation["invariant"]: violation for violation in violations}
    assert {"acks-all-durability", "log-matching"} < set(found)
    durable = found["acks-all-durability"]
    assert durable["cause"] == result.losses[0].cause
    assert (durable["offset"], durable["end_offset"], durable["leader_epoch"]) == (1, 2, 0)
    assert {"KIP-101"} < set(re.findall(r"KIP-\d+", durable["known"]))
    assert [durable["cause"], durable["known"]] == snapshot
    losses = result.to_json()["losses"]
    check(losses, SHAPE["losses"])
    assert [(each["offset"], each["count"], each["cause"]) for each in losses] == [(1, 1, result.losses[0].cause)]


def test_collected_events_round_trip() -> None:
    session = ManualSession.start(load(path_of("kip-101-scenario-1-0.10.2")))
    found = CollectedEvents.none({})
    session.advance()
    session.cluster.close()
    found.take([*session.drain(), *session.cluster.drain()])
    assert len(found.losses) == 1
    assert found.violations
    assert found.clients.producers
    again = CollectedEvents.from_saved(found.save())
    assert (again.losses, again.violations, again.refused) == (found.losses, found.violations, found.refused)
    assert again.save() == found.save()


@pytest.mark.parametrize(
    ("oks", "broken", "reason", "verdict"),
    [
        ([], False, "", "pass"),
        ([True, True], False, "", "pass"),
        ([True, False], False, "", "fail"),
        ([True, True], False, "never reached", "inconclusive"),
        ([True, False], False, "never reached", "inconclusive"),
        ([True, False], True, "never reached", "fail"),
    ],
)
def test_verdicts(oks: list[bool], broken: bool, reason: str, verdict: str) -> None:
    view = Session.start(timed()).cluster.view()
    checked = tuple(ExpectationResult(f"{number}", ok, 0, "") for number, ok in enumerate(oks))
    result = build_result(
        playbook="p",
        title="t",
        seed=0,
        checked=checked,
        broken=broken,
        reason=reason,
        digest="d",
        session="",
        findings=CollectedEvents.none({}),
        view=view,
    )
    assert result.verdict == verdict

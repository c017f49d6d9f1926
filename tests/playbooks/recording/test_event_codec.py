"""What came from outside is recorded, and a session runs again without whoever it came from."""

import ast
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.protocol.group_messages import JoinGroupRequest, MemberProtocol, Subscription
from cluster_model.protocol.messages import MetadataRequest, ProduceRequest
from playbooks.engine.replay import replay
from playbooks.engine.session import Session
from playbooks.export.playbook_writer import ExportError, export
from playbooks.parser.loader import loads
from playbooks.recording.event_codec import DROP, OPEN, REQUESTS, ExternalInput, action_of, ingress_of, request_input
from playbooks.recording.reader import read_session
from playbooks.recording.recorder import Recorder
from tests.support.wording import masked_text

TEXT = """
floodmark: 1
name: visited
cluster: {kafka: "3.9", brokers: 3}
topics: [{name: orders, partitions: 1, replication: 3}]
steps: [{at: 2s, inject: crash, target: leader(orders-0), for: 2s}]
settle: 5s
"""


@pytest.mark.parametrize(
    "ingress",
    [
        ExternalInput(OPEN),
        ExternalInput(DROP, body=(3, 4)),
        request_input(2, "me", ProduceRequest(0, "orders-0", -1, 5, "me", -1, -1, 2, 70, payload=bytes(range(256)))),
        request_input(
            1, "", JoinGroupRequest(0, "g", "me", "", 1, 1, (MemberProtocol("range", Subscription(("orders",))),))
        ),
    ],
)
def test_a_line_has_all_of_it(ingress: ExternalInput) -> None:
    assert ingress_of(action_of(ingress)) == ingress


def test_every_request_that_may_come_is_a_tuple_with_a_correlation() -> None:
    assert all(kind._fields[0] == "correlation_id" for kind in REQUESTS.values())


def test_every_request_that_the_gateway_makes_can_be_read_back() -> None:
    handlers = Path(__file__).parents[3] / "gateway" / "handlers"
    imported = {
        name.name
        for file in sorted(handlers.glob("*.py"))
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cluster_model.")
        for name in node.names
        if name.name.endswith("Request")
    }
    assert len(imported) > 20
    assert imported <= set(REQUESTS)


@pytest.mark.slow
def test_a_visited_session_replays_to_the_same_digest_and_is_no_playbook(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    session = Session.start(loads(TEXT, "visited.yaml"), recorder=Recorder(tmp_path, live=True), open_ended=True)
    session.submit_request(ExternalInput(OPEN))
    tokens = []
    for turn in range(200):
        session.advance(session.cluster.now_us + 20_011)
        leader = max(1, session.cluster.cluster_state.records["orders-0"].leader)
        data = bytes(17) + turn.to_bytes(4, "big") + bytes(40)
        request = ProduceRequest(0, "orders-0", -1, 9_000_000, "app", -1, -1, 1, 61, payload=data)
        tokens.append(session.submit_request(request_input(leader, "app", request)))
        if turn % 50 == 49:
            session.submit_request(ExternalInput(DROP, body=tuple(tokens[-1:])))
            session.submit_request(request_input(leader, "app", MetadataRequest(0)))
    result = session.finish()
    ledger = result.ledger
    assert ledger.sent == 200
    assert ledger.acked > 50
    assert ledger.acked + ledger.failed + ledger.unknown == 200
    assert ledger.acked_lost == 0
    recorded = read_session(session.recorder.path)  # type: ignore[union-attr]
    assert replay(recorded).digest == result.digest
    with pytest.raises(ExportError) as caught:
        export(recorded)
    assert masked_text(caught.value, session=recorded.path) == snapshot

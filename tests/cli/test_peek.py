"""``floodmark peek``: the record at an offset, in words and as a document, and what is refused."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from playbooks.session_format import session_files
from tests.cli.running import Typed

pytestmark = pytest.mark.slow

Type = Callable[..., Typed]

ORDERS = """
floodmark: 1
topics: [{name: orders, placement: [[1, 2, 3]]}]
clients:
  producers:
    - {name: checkout, topic: orders, rate: 50/s, keys: 9, records: {id: uuid4, n: sequence}, config: {acks: all}}
    - {name: silent, topic: orders, rate: 1/s, start: 1s}
  groups: [{name: g, topics: [orders]}]
settle: 4s
"""


@pytest.fixture
def session(typed: Type, here: Path) -> Path:
    (here / "orders.yaml").write_text(ORDERS)
    assert typed("run", "orders.yaml").code == 0
    return session_files.sessions_under(here / "sessions")[0]


def test_a_record_is_reported_in_words(typed: Type, session: Path, snapshot: SnapshotAssertion) -> None:
    done = typed("peek", session, "orders-0", 17)
    assert done.code == 0
    told = dict(line.strip().split(maxsplit=1) for line in done.out.splitlines()[1:-1])
    assert told["key"].startswith("key-")
    assert json.loads(told["value"])["n"] == 17
    assert done.out == snapshot


def test_peek_accepts_a_session_id_and_prints_json(typed: Type, session: Path) -> None:
    manifest = session_files.read_manifest(session)
    assert manifest is not None
    done = typed("peek", manifest.session_id, "orders-0", 17, "--records", 3, "--json")
    assert done.code == 0
    documents = json.loads(done.out)
    assert [document["offset"] for document in documents] == [17, 18, 19]
    document = documents[0]
    assert (document["client"], document["number"], document["acks"], document["acked"]) == ("checkout", 17, -1, True)
    assert (document["record_bytes"], document["batch_records"], document["holders"]) == (200, 1, [1, 2, 3])
    assert json.loads(document["value"]).keys() == {"id", "n"}


def test_it_can_be_looked_at_as_it_was(typed: Type, session: Path, snapshot: SnapshotAssertion) -> None:
    done = typed("peek", session, "orders-0", 100, "--at", "1s")
    assert done.code == 1
    assert done.out == ""
    assert done.err == snapshot
    assert typed("peek", session, "orders-0", 100, "--at", "3s").code == 0


def test_records_without_declared_contents_are_marked(typed: Type, session: Path, snapshot: SnapshotAssertion) -> None:
    documents = json.loads(typed("peek", session, "orders-0", 0, "--records", 200, "--json").out)
    (number,) = [document["offset"] for document in documents if document["client"] == "silent"][:1]
    lines = typed("peek", session, "orders-0", number).out.splitlines()
    assert [line for line in lines if line.split()[0] == "value"] == snapshot


@pytest.mark.parametrize("words", ["orders-7 1", "orders-0 1 --at 3"])
def test_bad_input_is_2(typed: Type, session: Path, words: str, snapshot: SnapshotAssertion) -> None:
    done = typed("peek", session, *words.split())
    assert (done.code, done.out) == (2, "")
    assert done.err == snapshot


def test_no_session_is_2(typed: Type, here: Path, snapshot: SnapshotAssertion) -> None:
    done = typed("peek", "nowhere", "orders-0", 1)
    assert done.code == 2
    assert done.err == snapshot

"""``floodmark peek``: the record at an offset, in words and as a document, and what is refused."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from playbooks.session_format import session_files
from tests.cli.running import Typed

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


def test_a_record_is_told_in_words(typed: Type, session: Path) -> None:
    done = typed("peek", session, "orders-0", 17)
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0] == "orders-0 offset 17, leader epoch 0"
    told = dict(line.strip().split(maxsplit=1) for line in lines[1:-1])
    assert told["producer"].startswith("checkout, its record 17 in orders-0, counted from 0")
    assert told["acks"] == "all, acknowledged"
    assert told["key"].startswith("key-")
    assert json.loads(told["value"])["n"] == 17
    assert told["size"] == "200B, in a batch of 1 record, 200B"
    assert lines[-1].split(maxsplit=2) == ["held", "by", "brokers 1, 2 and 3"]


def test_a_session_goes_by_its_id_and_comes_out_as_a_document(typed: Type, session: Path) -> None:
    manifest = session_files.read_manifest(session)
    assert manifest is not None
    done = typed("peek", manifest.session_id, "orders-0", 17, "--records", 3, "--json")
    assert done.code == 0
    documents = json.loads(done.out)
    assert [document["offset"] for document in documents] == [17, 18, 19]
    assert documents[0]["holders"] == [1, 2, 3]
    assert json.loads(documents[0]["value"]).keys() == {"id", "n"}


def test_it_can_be_looked_at_as_it_was(typed: Type, session: Path) -> None:
    done = typed("peek", session, "orders-0", 100, "--at", "1s")
    assert done.code == 1
    assert done.out == ""
    assert "nothing was written at offset 100 of orders-0, which goes up to " in done.err
    assert typed("peek", session, "orders-0", 100, "--at", "3s").code == 0


def test_who_says_nothing_about_contents_is_told_so(typed: Type, session: Path) -> None:
    documents = json.loads(typed("peek", session, "orders-0", 0, "--records", 200, "--json").out)
    (number,) = [document["offset"] for document in documents if document["client"] == "silent"][:1]
    assert "the playbook does not say" in typed("peek", session, "orders-0", number).out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("orders-7", 1), "no partition 'orders-7'; there are orders-0 (did you mean 'orders-0'?)"),
        (("orders-0", 1, "--at", "3"), "--at takes a duration such as 250us"),
    ],
)
def test_bad_input_is_2(typed: Type, session: Path, words: tuple[str | int, ...], message: str) -> None:
    done = typed("peek", session, *words)
    assert (done.code, done.out) == (2, "")
    assert message in done.err


def test_no_session_is_2(typed: Type, here: Path) -> None:
    done = typed("peek", "nowhere", "orders-0", 1)
    assert done.code == 2
    assert "no session nowhere" in done.err

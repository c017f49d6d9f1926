"""``floodmark keys`` and ``floodmark schema``."""

import json
from collections.abc import Callable

from syrupy.assertion import SnapshotAssertion

from playbooks.parser.key_reference import schema
from tests.cli.running import Typed

Type = Callable[..., Typed]


def test_keys_lists_a_place_and_what_is_below_it(typed: Type, snapshot: SnapshotAssertion) -> None:
    done = typed("keys", "cluster")
    assert done.code == 0
    assert done.out == snapshot


def test_keys_of_the_whole_file_is_what_is_reported_unasked(typed: Type) -> None:
    done = typed("keys")
    assert {"floodmark", "topics", "steps", "expect"} <= {line.split(" ")[0] for line in done.out.splitlines()}


def test_an_unknown_place_names_the_nearest(typed: Type, snapshot: SnapshotAssertion) -> None:
    done = typed("keys", "producer")
    assert (done.code, done.out) == (2, "")
    assert done.err.partition(";")[0] == snapshot


def test_keys_as_json(typed: Type) -> None:
    (entry,) = json.loads(typed("keys", "producers", "--json").out)
    assert entry["place"] == "clients.producers"
    assert {"name": "name", "needed": True} in [{n: k[n] for n in ("name", "needed")} for k in entry["keys"]]
    assert len(json.loads(typed("keys", "--json").out)) > 20


def test_schema_prints_the_schema(typed: Type) -> None:
    done = typed("schema")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out) == schema()

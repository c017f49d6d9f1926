"""``floodmark groups``: the tables of a recorded session's consumer groups, as text and as documents."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.cli.running import Typed

pytestmark = pytest.mark.slow

Type = Callable[..., Typed]

ORDERS = """
floodmark: 1
topics: [{name: orders, placement: [[1, 2, 3], [2, 3, 1]]}]
clients:
  producers: [{name: checkout, topic: orders, rate: 10/s, config: {acks: all}}]
  groups:
    - {name: g, topics: [orders], members: 2, coordinated: true, config: {session.timeout.ms: 6000}}
    - {name: alone, topics: [orders], coordinated: false}
steps:
  - {at: 14s, admin: reset_offsets, group: late, topics: ["orders:1"], to_offset: 5, execute: true}
  - {after: 1s, inject: gc_pause, target: client(g/0) + client(g/1), for: 20s}
  - {after: 12s, inject: crash, target: coordinator(g)}
settle: 1s
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from playbooks.engine.session import Session  # noqa: PLC0415
    from playbooks.parser.loader import loads  # noqa: PLC0415
    from playbooks.recording.recorder import Recorder  # noqa: PLC0415

    session = Session.start(loads(ORDERS, "orders"), recorder=Recorder(tmp_path_factory.mktemp("sessions")))
    return Path(session.finish().session)


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_a_group_is_described_as_the_tool_does(typed: Type, recorded: Path) -> None:
    done = typed("groups", recorded, "g", "--at", "12s")
    assert (done.code, done.err) == (0, "")
    heads, *found = rows(done.out)
    assert heads == [
        "GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST", "CLIENT-ID",
    ]  # fmt: skip
    assert [row[:3] for row in found] == [["g", "orders", "0"], ["g", "orders", "1"]]
    for row in found:
        assert int(row[4]) - int(row[3]) == int(row[5])
        assert row[6].startswith(f"{row[8]}-")
        assert row[7] == f"/{row[8]}"
    documents = json.loads(typed("groups", recorded, "g", "--at", "12s", "--json").out)
    assert [document["lag"] for document in documents] == [int(row[5]) for row in found]
    assert list(documents[0]) == [head.lower().replace("-", "_") for head in heads]


def test_without_a_group_all_are_reported_with_their_states(typed: Type, recorded: Path) -> None:
    found = rows(typed("groups", recorded, "--at", "14.5s").out)
    assert [(row[0], row[-2], row[-1]) for row in found] == [
        ("GROUP", "STATE", "#MEMBERS"), ("g", "Stable", "2"), ("late", "Empty", "0"),
    ]  # fmt: skip
    document = json.loads(typed("groups", recorded, "--at", "14.5s", "--json").out)[1]
    assert (document["group"], document["assignment_strategy"], document["members"]) == ("late", None, 0)


def test_members_and_state(typed: Type, recorded: Path) -> None:
    members = rows(typed("groups", recorded, "g", "--members", "--at", "12s").out)
    assert [row[-2:] for row in members] == [["#PARTITIONS", "ASSIGNMENT"], ["1", "orders(0)"], ["1", "orders(1)"]]
    state = rows(typed("groups", recorded, "g", "--state", "--at", "12s").out)[1]
    assert (state[0], state[-2:]) == ("g", ["Stable", "2"])


@pytest.mark.parametrize("at", ["1s", "26s"])
def test_warnings_about_the_group_state_go_to_stderr(
    typed: Type, recorded: Path, at: str, snapshot: SnapshotAssertion
) -> None:
    done = typed("groups", recorded, "g", "--at", at)
    assert done.code == 0
    assert done.err == snapshot


@pytest.mark.parametrize(
    "words",
    [
        ("gee",),
        ("late", "--at", "5s"),
        ("alone",),
        ("g", "--at", "3"),
        ("g", "--members", "--state"),
        ("g", "--at", "27.5s"),
    ],
    ids=" ".join,
)
def test_bad_input_is_2(typed: Type, recorded: Path, words: tuple[str, ...], snapshot: SnapshotAssertion) -> None:
    done = typed("groups", recorded, *words)
    assert (done.code, done.out) == (2, "")
    assert done.err == snapshot

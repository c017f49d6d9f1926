"""The laboratory: a cluster for people who write Python, the same as any session, and clear about what it cannot do."""

import errno
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from playbooks.engine.replay import replay
from playbooks.engine.session import Session
from playbooks.parser.document.context import ErrorNotes
from playbooks.parser.loader import loads
from playbooks.parser.steps.timed_steps import facts_of
from playbooks.recording.reader import read_session
from playbooks.session_format import session_files
from playbooks.session_format.filesystem import FileSystem
from playbooks.testing.harness import HarnessError, NeverHeldError, RefusedError, SimulatedCluster
from tests.support.playbooks import CRASH as BUSY
from tests.support.playbooks import MANUAL, timed

ROOT = Path(__file__).parents[3]
CRASH = BUSY.replace("rate: 100/s", "rate: 20/s")


def drill(**parts: Any) -> SimulatedCluster:
    lab = SimulatedCluster(**parts)
    lab.run(until="3s").inject("crash", target="leader(orders-0)", for_="12s")
    return lab.wait("leader(orders-0) != 2", within="20s").run(for_="1s").heal().settle()


@pytest.mark.slow
def test_the_same_calls_come_out_the_same() -> None:
    one, other = drill(), drill()
    assert one.digest == other.digest
    assert one.result == other.result
    assert drill(seed=9).digest != one.digest


def test_it_is_the_session_that_a_playbook_makes() -> None:
    text = CRASH.replace("for: 3s", "for: 3s").split("  - when:", maxsplit=1)[0] + "settle: 5s\n"
    played = Session.start(loads(text, "crash.yaml")).finish()
    lab = SimulatedCluster(text.split("steps:")[0] + "settle: 5s\n")
    lab.run(until="2s").inject("crash", target="leader(orders-0)", for_="3s").run(until="5s").settle()
    assert lab.result.ledger == played.ledger
    assert lab.digest == played.digest


@pytest.mark.slow
def test_waiting_stops_at_the_event_that_made_it_so(snapshot: SnapshotAssertion) -> None:
    lab = SimulatedCluster().run(until="3s").inject("crash", target="broker(2)")
    lab.wait("leader(orders-0) != 2", within="20s")
    elected = next(event for event in reversed(lab.events("leader_elected")) if event.values()[1] == "orders-0")
    assert lab.now_us == elected.values()[0]
    at = lab.now_us
    assert lab.wait("leader(orders-0) != 2").now_us == at
    with pytest.raises(NeverHeldError) as caught:
        lab.wait("leader(orders-0) == 2", within="2s")
    assert str(caught.value) == snapshot
    assert lab.now_us == at + 2_000_000


@pytest.mark.slow
def test_it_is_recorded_and_replays(tmp_path: Path) -> None:
    with SimulatedCluster(sessions=tmp_path) as lab:
        lab.run(until="2s").inject("lag", target="broker(3)", for_="1s").run(for_="4s")
        lab.admin("elect_leaders", partition="orders-0")
    recorded = read_session(session_files.sessions_under(tmp_path)[0])
    assert recorded.path == lab.session
    assert [action.verb for action in recorded.actions] == ["inject", "admin", "settle"]
    assert replay(recorded).digest == lab.result.digest


def test_parts_are_those_of_a_playbook(snapshot: SnapshotAssertion) -> None:
    lab = SimulatedCluster(
        kafka="2.8", mode="zookeeper", brokers=4, config={"replica.lag.time.max.ms": 5000},
        topics=[{"name": "a", "partitions": 2, "replication": 2}], groups={"g": {"topics": ["a"]}},
        settle="3s", expect=["acked() == 0", "acked() == 1"], guards={"max_brokers_down": 1}, seed=4,
    )  # fmt: skip
    assert lab.ask("isr(a-0)") == lab.ask("replicas(a-0)")
    lab.inject("crash", target="broker(1)")
    with pytest.raises(RefusedError) as refused:
        lab.inject("crash", target="broker(2)")
    assert str(refused.value) == snapshot
    result = lab.result
    assert [(each.rule, each.detail) for each in result.guards] == [("max_brokers_down", "refused")]
    assert (result.profile, result.seed, result.virtual_us) == ("2.8-zookeeper", 4, 3_000_000)
    assert [each.ok for each in result.expectations] == [True, False]


@pytest.mark.slow
def test_steps_of_a_playbook_act_as_time_passes() -> None:
    lab = SimulatedCluster("leader-crash", settings={"producers.checkout.rate": "50/s"})
    assert lab.run(until="4s").ask("acked()") > 0
    assert lab.events("fault_injected") == []
    assert len(lab.run(until="6s").events("fault_injected")) == 1
    assert lab.settle().result.verdict == "inconclusive"


def test_conditions_can_name_topics_created_by_operations(snapshot: SnapshotAssertion) -> None:
    lab = SimulatedCluster()
    with pytest.raises(HarnessError) as caught:
        lab.ask("leader(more-0)")
    assert str(caught.value) == snapshot
    lab.admin("create_topic", topic="more", partitions=1, replication=1).wait("operations() == 0", within="10s")
    assert lab.ask("leader(more-0)") in (1, 2, 3)


def test_expecting_reports_what_was_found(snapshot: SnapshotAssertion) -> None:
    lab = SimulatedCluster().run(until="1s")
    assert lab.expect("acked() > 0") is lab
    with pytest.raises(AssertionError) as caught:
        lab.expect("acked() == 0")
    assert str(caught.value) == snapshot


@pytest.mark.parametrize("text", [CRASH, None])
def test_it_knows_the_names_that_a_reader_knows(text: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[ErrorNotes] = []
    monkeypatch.setattr("playbooks.parser.loader.ErrorNotes", lambda *args: seen.append(ErrorNotes(*args)) or seen[-1])
    topics = "topics:\n  - {name: t, partitions: 2, replication: 2}\n"
    zookeeper = (
        f"floodmark: 1\nname: x\ncluster: {{kafka: '2.8', brokers: [{{id: 1, rack: a}}, {{id: 4, rack: a}}]}}\n{topics}"
    )
    playbook = loads(text or zookeeper, "x.yaml")
    assert facts_of(playbook.spec) == seen[0].facts


class Unwritable:
    """What no playbook can hold."""

    def __repr__(self) -> str:
        return "a thing"


BAD: dict[str, Callable[[], Any]] = {
    "a version that there is not": lambda: SimulatedCluster(kafka="9.9"),
    "a part that there is not": lambda: SimulatedCluster(foo=1),
    "a playbook that there is not": lambda: SimulatedCluster("no-such-playbook"),
    "a playbook by hand": lambda: SimulatedCluster(MANUAL),
    "a playbook and a part": lambda: SimulatedCluster("leader-crash", kafka="3.9"),
    "a setting that leads nowhere": lambda: SimulatedCluster("leader-crash", settings={"a.b": "1"}),
    "a key of a topic": lambda: SimulatedCluster(topics={"a": {"partition": 1}}),
    "a topic without a mapping": lambda: SimulatedCluster(topics={"a": Unwritable()}),
    "topics in a text": lambda: SimulatedCluster(topics="orders"),
    "an object in the configuration": lambda: SimulatedCluster(config={"a": Unwritable()}),
    "a fault that there is not": lambda: SimulatedCluster().inject("crush", target="all"),
    "a partition that there is not": lambda: SimulatedCluster().inject("crash", target="leader(x-0)"),
    "a duration without a unit": lambda: SimulatedCluster().inject("crash", target="all", for_="3"),
    "a key of a playbook's step": lambda: SimulatedCluster().inject("crash", target="all", at="3s"),
    "an object in a fault": lambda: SimulatedCluster().inject("lag", target="broker(1)", extra=Unwritable()),
    "a restart of what is up": lambda: SimulatedCluster().inject("restart", target="broker(1)"),
    "healing what there is not": lambda: SimulatedCluster().heal("crush"),
    "an operation that there is not": lambda: SimulatedCluster().admin("elect", partition="orders-0"),
    "half a condition": lambda: SimulatedCluster().ask("acked("),
    "a number for a condition": lambda: SimulatedCluster().ask(3),  # type: ignore[arg-type]
    "a question that is none": lambda: SimulatedCluster().ask("isr(orders-0)[5] == 1"),
    "waiting for a number": lambda: SimulatedCluster().wait("acked()"),
    "expecting a list": lambda: SimulatedCluster().expect("isr(orders-0)"),
    "running for no time": lambda: SimulatedCluster().run(),
    "running up to and for": lambda: SimulatedCluster().run("1s", for_="1s"),
    "a number for a time": lambda: SimulatedCluster().run(5),  # type: ignore[arg-type]
    "running backwards": lambda: SimulatedCluster().run("2s").run("1s"),
    "running behind the end": lambda: SimulatedCluster(settle="1s").settle().run("9s"),
    "healing behind the end": lambda: SimulatedCluster(settle="1s").settle().heal(),
    "a file for a directory": lambda: SimulatedCluster(sessions=Path(__file__)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BAD)
def test_bad_use_is_one_clear_error(name: str, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(HarnessError) as caught:
        BAD[name]()
    assert caught.value.__cause__ is None
    assert str(caught.value).replace(__file__, "<file>").replace(str(ROOT), "<floodmark>") == snapshot


def test_a_playbook_that_is_loaded_already_will_do() -> None:
    playbook = timed(expect="- acked() > 0\n")
    assert SimulatedCluster(playbook).run("1s").result.verdict == "pass"


def test_a_playbook_that_ends_itself_ends_what_is_waited_for(snapshot: SnapshotAssertion) -> None:
    text = CRASH.split("steps:")[0] + "steps:\n  - at: 3s\n    VERB: now\nsettle: 5s\n"
    for verb, end_us in (("stop", 3_000_000), ("settle", 8_000_000)):
        lab = SimulatedCluster(text.replace("VERB", verb))
        with pytest.raises(NeverHeldError) as caught:
            lab.wait("leader(orders-0) == 9")
        assert lab.now_us == end_us
        assert str(caught.value) == snapshot(name=verb)
        assert lab.events()[-1].values()[0] <= lab.now_us
        assert lab.result.digest == lab.digest


@pytest.mark.slow
@pytest.mark.parametrize(
    "use",
    [
        lambda lab: lab.run(for_="20s"),
        lambda lab: lab.wait("leader(orders-0) == 9"),
        lambda lab: lab.inject("lag", target="broker(3)", for_="1s"),
        lambda lab: lab.settle(),
        lambda lab: lab.close(),
    ],
    ids=["run", "wait", "inject", "settle", "close"],
)
def test_a_full_disk_is_the_laboratorys_error(
    use: Callable[[SimulatedCluster], object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    snapshot: SnapshotAssertion,
) -> None:
    lab = SimulatedCluster(sessions=tmp_path).run(for_="1s")
    monkeypatch.setattr(FileSystem, "write", full)
    with pytest.raises(HarnessError) as caught:
        use(lab)
    told = str(caught.value).replace(str(lab.session), "<session>")
    assert re.sub(r"the first \S+ events?", "the first <n> events", told) == snapshot  # by when it was flushed


def full(_disk: FileSystem, _fd: int, _data: bytes) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")

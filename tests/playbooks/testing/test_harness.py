"""The laboratory: a cluster for people who write Python, the same as any session, and clear about what it cannot do."""

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from playbooks.engine.replay import replay
from playbooks.engine.session import Session
from playbooks.parser.document.context import Notes
from playbooks.parser.loader import loads
from playbooks.parser.steps.timed_steps import facts_of
from playbooks.recording.reader import read_session
from playbooks.session_format import session_files
from playbooks.session_format.filesystem import Disk
from playbooks.testing.harness import Laboratory, LaboratoryError, NeverHeldError, RefusedError
from tests.support.playbooks import CRASH, MANUAL, timed


def drill(**parts: Any) -> Laboratory:
    lab = Laboratory(**parts)
    lab.run(until="3s").inject("crash", target="leader(orders-0)", for_="12s")
    return lab.wait("leader(orders-0) != 2", within="20s").run(for_="1s").heal().settle()


def test_the_same_calls_come_out_the_same() -> None:
    one, other = drill(), drill()
    assert one.digest == other.digest
    assert one.result == other.result
    assert drill(seed=9).digest != one.digest


def test_it_is_the_session_that_a_playbook_makes() -> None:
    text = CRASH.replace("for: 3s", "for: 3s").split("  - when:", maxsplit=1)[0] + "settle: 5s\n"
    played = Session.start(loads(text, "crash.yaml")).finish()
    lab = Laboratory(text.split("steps:")[0] + "settle: 5s\n")
    lab.run(until="2s").inject("crash", target="leader(orders-0)", for_="3s").run(until="5s").settle()
    assert lab.result.ledger == played.ledger
    assert lab.digest == played.digest


def test_waiting_stops_at_the_event_that_made_it_so() -> None:
    lab = Laboratory().run(until="3s").inject("crash", target="broker(2)")
    lab.wait("leader(orders-0) != 2", within="20s")
    elected = next(event for event in reversed(lab.events("leader_elected")) if event.values()[1] == "orders-0")
    assert lab.now_us == elected.values()[0]
    at = lab.now_us
    assert lab.wait("leader(orders-0) != 2").now_us == at
    with pytest.raises(NeverHeldError, match=r"leader\(orders-0\) == 2 did not hold within 2s: leader\(orders-0\) is"):
        lab.wait("leader(orders-0) == 2", within="2s")
    assert lab.now_us == at + 2_000_000


def test_it_is_recorded_and_replays(tmp_path: Path) -> None:
    with Laboratory(sessions=tmp_path) as lab:
        lab.run(until="2s").inject("lag", target="broker(3)", for_="1s").run(for_="4s")
        lab.admin("elect_leaders", partition="orders-0")
    recorded = read_session(session_files.sessions_under(tmp_path)[0])
    assert recorded.path == lab.session
    assert [action.verb for action in recorded.actions] == ["inject", "admin", "settle"]
    assert replay(recorded).digest == lab.result.digest


def test_parts_are_those_of_a_playbook() -> None:
    lab = Laboratory(
        kafka="2.8", mode="zookeeper", brokers=4, config={"replica.lag.time.max.ms": 5000},
        topics=[{"name": "a", "partitions": 2, "replication": 2}], groups={"g": {"topics": ["a"]}},
        settle="3s", expect=["acked() == 0", "acked() == 1"], guards={"max_brokers_down": 1}, seed=4,
    )  # fmt: skip
    assert lab.ask("isr(a-0)") == lab.ask("replicas(a-0)")
    lab.inject("crash", target="broker(1)")
    with pytest.raises(RefusedError, match="max_brokers_down"):
        lab.inject("crash", target="broker(2)")
    result = lab.result
    assert (result.profile, result.seed, result.virtual_us) == ("2.8-zookeeper", 4, 3_000_000)
    assert [each.ok for each in result.expectations] == [True, False]


def test_steps_of_a_playbook_act_as_time_passes() -> None:
    lab = Laboratory("leader-crash", settings={"producers.checkout.rate": "50/s"})
    assert lab.run(until="4s").ask("acked()") > 0
    assert lab.events("fault_injected") == []
    assert len(lab.run(until="6s").events("fault_injected")) == 1
    assert lab.settle().result.verdict == "inconclusive"


def test_what_an_operation_makes_can_be_asked_about() -> None:
    lab = Laboratory()
    with pytest.raises(LaboratoryError, match="found a partition of 'more'"):
        lab.ask("leader(more-0)")
    lab.admin("create_topic", topic="more", partitions=1, replication=1).wait("operations() == 0", within="10s")
    assert lab.ask("leader(more-0)") in (1, 2, 3)


def test_expecting_tells_what_was_found() -> None:
    lab = Laboratory().run(until="1s")
    assert lab.expect("acked() > 0") is lab
    with pytest.raises(AssertionError, match=r"acked\(\) == 0 does not hold at 1\.000s: acked\(\) is \d+"):
        lab.expect("acked() == 0")


@pytest.mark.parametrize("text", [CRASH, None])
def test_it_knows_the_names_that_a_reader_knows(text: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Notes] = []
    monkeypatch.setattr("playbooks.parser.loader.Notes", lambda *args: seen.append(Notes(*args)) or seen[-1])
    topics = "topics:\n  - {name: t, partitions: 2, replication: 2}\n"
    zookeeper = (
        f"floodmark: 1\nname: x\ncluster: {{kafka: '2.8', brokers: [{{id: 1, rack: a}}, {{id: 4, rack: a}}]}}\n{topics}"
    )
    playbook = loads(text or zookeeper, "x.yaml")
    assert facts_of(playbook.spec) == seen[0].facts


BAD: list[tuple[Callable[[], Any], str]] = [
    (lambda: Laboratory(kafka="9.9"), "cluster.kafka: found '9.9'"),
    (lambda: Laboratory(foo=1), "found an unknown key 'foo'"),
    (lambda: Laboratory("no-such-playbook"), "cannot be read"),
    (lambda: Laboratory(MANUAL), "it is stepped by hand"),
    (lambda: Laboratory("leader-crash", kafka="3.9"), "found a playbook and kafka"),
    (lambda: Laboratory("leader-crash", settings={"a.b": "1"}), "a: found an unknown key"),
    (lambda: Laboratory(topics={"a": {"partition": 1}}), "did you mean 'partitions'"),
    (lambda: Laboratory(topics={"a": object()}), "found 'a' without a mapping"),
    (lambda: Laboratory(topics="orders"), "topics: found str"),
    (lambda: Laboratory(config={"a": object()}), "found a value that is no number"),
    (lambda: Laboratory().inject("crush", target="all"), "did you mean 'crash'"),
    (lambda: Laboratory().inject("crash", target="leader(x-0)"), "found a partition of 'x'"),
    (lambda: Laboratory().inject("crash", target="all", for_="3"), "a number alone has no unit"),
    (lambda: Laboratory().inject("crash", target="all", at="3s"), "found at, which belongs to a playbook"),
    (lambda: Laboratory().inject("lag", target="broker(1)", extra=object()), "found a value that is no number"),
    (lambda: Laboratory().inject("restart", target="broker(1)"), "broker 1 is not down"),
    (lambda: Laboratory().heal("crush"), "did you mean 'crash'"),
    (lambda: Laboratory().admin("elect", partition="orders-0"), "admin"),
    (lambda: Laboratory().ask("acked("), "ends in the middle"),
    (lambda: Laboratory().ask(3), "found int"),  # type: ignore[arg-type]
    (lambda: Laboratory().ask("isr(orders-0)[5] == 1"), "orders"),
    (lambda: Laboratory().wait("acked()"), "found the number 'acked()'"),
    (lambda: Laboratory().expect("isr(orders-0)"), "found the list"),
    (lambda: Laboratory().run(), "run takes either"),
    (lambda: Laboratory().run("1s", for_="1s"), "run takes either"),
    (lambda: Laboratory().run(5), "until: found 5"),  # type: ignore[arg-type]
    (lambda: Laboratory().run("2s").run("1s"), "allowed is 2.000s or later"),
    (lambda: Laboratory(settle="1s").settle().run("9s"), "it is over"),
    (lambda: Laboratory(settle="1s").settle().heal(), "it is over"),
    (lambda: Laboratory(sessions=Path(__file__)), "cannot record a session"),
]


@pytest.mark.parametrize(("use", "told"), BAD, ids=[told for _, told in BAD])
def test_bad_use_is_one_clear_error(use: Callable[[], Any], told: str) -> None:
    with pytest.raises(LaboratoryError) as caught:
        use()
    assert told in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_playbook_that_is_loaded_already_will_do() -> None:
    playbook = timed(expect="- acked() > 0\n")
    assert Laboratory(playbook).run("1s").result.verdict == "pass"


def test_a_playbook_that_ends_itself_ends_what_is_waited_for() -> None:
    text = CRASH.split("steps:")[0] + "steps:\n  - at: 3s\n    VERB: now\nsettle: 5s\n"
    for verb, end in (("stop", "3.000s"), ("settle", "8.000s")):
        lab = Laboratory(text.replace("VERB", verb))
        with pytest.raises(NeverHeldError, match=rf"leader\(orders-0\) == 9 did not hold, .* ended at {end}: leader"):
            lab.wait("leader(orders-0) == 9")
        assert lab.events()[-1].values()[0] <= lab.now_us
        assert lab.result.digest == lab.digest


@pytest.mark.parametrize(
    "use",
    [
        lambda lab: lab.run(for_="20s"),
        lambda lab: lab.wait("leader(orders-0) == 9"),
        lambda lab: lab.inject("lag", target="broker(3)", for_="1s"),
        lambda lab: lab.settle(),
        lambda lab: lab.close(),
    ],
)
def test_a_full_disk_is_the_laboratorys_error(
    use: Callable[[Laboratory], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = Laboratory(sessions=tmp_path).run(for_="1s")
    monkeypatch.setattr(Disk, "write", full)
    with pytest.raises(LaboratoryError, match="cannot go on recording"):
        use(lab)


def full(_disk: Disk, _fd: int, _data: bytes) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")

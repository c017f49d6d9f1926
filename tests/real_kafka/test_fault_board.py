"""Faults and operations on a cluster of stand-ins for processes, with a clock that a test moves."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from faults.declarations import NoMatchError
from tests.real_kafka.fault_board import FaultBoard
from tests.real_kafka.history import EventWriter, read_events
from tests.real_kafka.metadata_view import MetadataView, PartitionRegistrationView
from tests.real_kafka.processes import AdminError, PendingAnswer
from tests.real_kafka.real_cluster import node_name
from tests.real_kafka.router import LinkEffect
from tests.real_kafka.steps import TargetResolver
from tests.real_kafka.test_steps import playbook

SECOND = 1_000_000


@dataclass
class FakeProcess:
    """A process that obeys at once, but shuts down only when a test says so."""

    is_up: bool = True
    paused: bool = False
    exit_code: int | None = None
    done: list[str] = field(default_factory=list)
    node: int = 1
    starts: int = 1
    is_ready: bool = True

    def kill(self) -> None:
        self.done.append("kill")
        self.is_up = self.paused = False

    def terminate(self) -> None:
        self.done.append("terminate")

    def pause(self) -> None:
        self.done.append("pause")
        self.paused = True

    def resume(self) -> None:
        self.done.append("resume")
        self.paused = False


class FakeCluster:
    """Three brokers; the admin client answers what a test has put into ``answers``."""

    def __init__(self) -> None:
        self.time_us = 0
        self.processes = {node_name(node): FakeProcess() for node in (1, 2, 3)}
        self.servers, self.nodes, self.voters, self.brokers = self.processes, [*self.processes], (1001,), [1, 2, 3]
        self.cut: dict[int, tuple[set[tuple[str, str]], LinkEffect]] = {}
        self.router = SimpleNamespace(apply=self._apply, heal=lambda number: self.cut.pop(number, None))
        self.asked: list[tuple[str, Mapping[str, str]]] = []
        self.answers: dict[str, list[Any]] = {}
        self.view = MetadataView()
        self.view.partitions["orders-0"] = PartitionRegistrationView(1, 0, 0, (1, 2, 3), (1, 2, 3))
        self.settled = True
        self.prepared: list[str] = []
        self.started: list[tuple[str, int]] = []

    def _apply(self, number: int, links: Any, effect: LinkEffect) -> None:
        self.cut[number] = set(links), effect

    def now_us(self) -> int:
        return self.time_us

    def process(self, node: str) -> FakeProcess:
        return self.processes[node]

    def prepare(self, node: str) -> None:
        self.prepared.append(node)

    def restart(self, node: str) -> None:
        self.process(node).is_up = True
        self.started.append((node, self.time_us))

    def active_controller(self) -> int:
        return 1001

    def ask(self, verb: str, **parameters: str) -> PendingAnswer:
        self.asked.append((verb, parameters))
        answer = PendingAnswer()
        found = self.answers.get(verb, [None]).pop(0) if self.answers.get(verb) else None
        if isinstance(found, AdminError):
            answer.error, answer.message = found.code, str(found)
        answer.result = found
        answer.done.set()
        return answer


class Stage:
    """A board with its cluster."""

    def __init__(self, directory: Path) -> None:
        self.cluster = FakeCluster()
        self.path = directory / "steps.jsonl"
        view = self.cluster.view
        resolver = TargetResolver(
            playbook().spec, view, (1001,), {}, node_name, lambda node: self.cluster.process(node).is_up,
            self.cluster.active_controller, random.Random(0),
        )  # fmt: skip
        writer = EventWriter(self.path)
        self.board = FaultBoard(self.cluster, resolver, writer, random.Random(0))  # type: ignore[arg-type]

    @property
    def started(self) -> list[tuple[str, int]]:
        return self.cluster.started

    def inject(self, text: str) -> dict[str, Any]:
        (step,) = playbook(text).steps
        return self.board.inject(step)

    def begin(self, text: str) -> None:
        (step,) = playbook(text).steps
        self.board.begin_operation(step)

    def advance(self, to_us: int) -> None:
        while self.cluster.time_us < to_us:
            self.cluster.time_us += 100_000
            self.board.tick()

    def events(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in read_events(self.path) if event["event"] == kind]


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    made = Stage(tmp_path)
    yield made
    made.board.steps.close()


def test_a_crash_ends_with_a_start_when_its_time_is_over(stage: Stage) -> None:
    found = stage.inject("{inject: crash, target: leader(orders-0), for: 5s}")
    assert (found["nodes"], found["fault"]) == (["broker(1)"], 1)
    assert not stage.cluster.process("broker(1)").is_up
    stage.advance(4_900_000)
    assert stage.started == []
    stage.advance(5 * SECOND)
    assert stage.started == [("broker(1)", 5 * SECOND)]
    assert [(event["name"], event["by"]) for event in stage.events("healed")] == [("crash", "for")]


def test_a_clean_shutdown_starts_again_as_soon_as_it_has_exited(stage: Stage) -> None:
    stage.inject("{inject: clean_shutdown, target: broker(2), for: 1s}")
    stage.advance(2 * SECOND)
    assert stage.cluster.process("broker(2)").done == ["terminate"]
    assert stage.started == []
    stage.cluster.process("broker(2)").is_up = False
    stage.advance(2_100_000)
    assert [node for node, _ in stage.started] == ["broker(2)"]


def test_a_process_resumes_with_the_last_of_two_pauses(stage: Stage) -> None:
    stage.inject("{inject: gc_pause, target: broker(1), for: 2s}")
    stage.inject("{inject: gc_pause, target: broker(1) + broker(2), for: 4s}")
    stage.advance(3 * SECOND)
    assert stage.cluster.process("broker(1)").paused
    stage.advance(4 * SECOND)
    assert [stage.cluster.process(f"broker({node})").done for node in (1, 2)] == [["pause", "resume"]] * 2


def test_a_process_that_was_killed_while_paused_is_not_resumed(stage: Stage) -> None:
    stage.inject("{inject: gc_pause, target: broker(1), for: 2s}")
    stage.inject("{inject: crash, target: broker(1)}")
    stage.advance(3 * SECOND)
    assert stage.cluster.process("broker(1)").done == ["pause", "kill"]


def test_stopped_brokers_cannot_be_stopped_nor_running_ones_started(stage: Stage) -> None:
    stage.inject("{inject: crash, target: broker(1)}")
    for text, code in (
        ("{inject: crash, target: broker(1)}", "down_already"),
        ("{inject: restart, target: broker(2)}", "not_down"),
    ):
        with pytest.raises(AdminError) as refused:
            stage.inject(text)
        assert refused.value.code == code
    assert stage.board.count_faults() == 1


def test_a_target_that_matches_nothing_injects_nothing(stage: Stage) -> None:
    stage.cluster.view.partitions["orders-0"] = PartitionRegistrationView(-1, 1, 1, (1, 2, 3), ())
    with pytest.raises(NoMatchError):
        stage.inject("{inject: crash, target: leader(orders-0)}")
    assert stage.board.count_faults() == 0


def test_a_bounce_stops_and_starts_after_a_while(stage: Stage) -> None:
    stage.inject("{inject: bounce, target: broker(3), kill: true, down: 2s}")
    stage.advance(3 * SECOND)
    assert [node for node, at_us in stage.started if 2 * SECOND <= at_us <= 2_300_000] == ["broker(3)"]
    assert stage.board.count_faults() == 0


def test_a_train_of_pauses(stage: Stage) -> None:
    stage.inject("{inject: pause_train, target: broker(1), pause: 500ms, every: 2s, count: 2}")
    stage.advance(10 * SECOND)
    assert stage.cluster.process("broker(1)").done == ["pause", "resume"] * 2
    assert stage.board.count_faults() == 0


def test_links_are_cut_until_they_are_healed(stage: Stage) -> None:
    stage.inject("{inject: partition, target: broker(1), to: broker(2), direction: out, for: 1s}")
    assert stage.cluster.cut == {1: ({("broker(1)", "broker(2)")}, LinkEffect(cut=True))}
    stage.advance(SECOND)
    assert stage.cluster.cut == {}


@pytest.mark.parametrize(
    ("step", "effect"),
    [
        (
            "{inject: lag, target: broker(1), latency: 30ms, jitter: 2ms}",
            LinkEffect(latency_us=30_000, jitter_us=2_000),
        ),
        ("{inject: loss, target: broker(1), percent: 5%}", LinkEffect(loss_ppm=50_000)),
        ("{inject: bandwidth, target: broker(1), rate: 1KiB/s}", LinkEffect(rate=1_024)),
        ("{inject: isolate, target: broker(1)}", LinkEffect(cut=True)),
    ],
)
def test_effects_of_link_faults(stage: Stage, step: str, effect: LinkEffect) -> None:
    stage.inject(step)
    (links, found) = stage.cluster.cut[1]
    assert found == effect
    assert len(links) == 4


def test_flapping_links_are_down_and_up_in_turn(stage: Stage) -> None:
    stage.inject("{inject: flapping, target: broker(1), down: 1s, up: 2s, for: 10s}")
    down = []
    while stage.board.count_faults():
        down.append(bool(stage.cluster.cut))
        stage.advance(stage.cluster.time_us + 500_000)
    assert down[:9] == [True, True, False, False, False, False, True, True, False]
    assert stage.cluster.cut == {}


def test_a_second_process_of_a_producer(stage: Stage) -> None:
    stage.cluster.processes |= {
        "client(checkout)": FakeProcess(),
        "client(checkout.duplicate)": FakeProcess(is_up=False),
    }
    stage.cluster.nodes = [*stage.cluster.processes]
    stage.board.resolver.hosts = {"checkout": "client(checkout)"}
    stage.inject("{inject: zombie_producer, target: client(checkout), for: 2s}")
    assert stage.started == [("client(checkout.duplicate)", 0)]
    stage.advance(2 * SECOND)
    assert not stage.cluster.process("client(checkout.duplicate)").is_up
    assert stage.cluster.process("client(checkout)").done == ["kill"]
    assert stage.started[1:] == [("client(checkout)", 2 * SECOND)]
    assert stage.cluster.prepared == ["client(checkout.duplicate)", "client(checkout)"]


def test_heal_all_and_heal_by_name(stage: Stage) -> None:
    stage.inject("{inject: gc_pause, target: broker(1)}")
    stage.inject("{inject: partition, target: broker(2)}")
    stage.board.heal("partition", "step")
    assert (stage.board.count_faults(), stage.board.count_faults("gc_pause")) == (1, 1)
    stage.board.heal("all", "settle")
    assert stage.board.count_faults() == 0
    assert [event["by"] for event in stage.events("healed")] == ["step", "settle"]


def test_an_election_operation_ends_with_its_response(stage: Stage) -> None:
    stage.begin("{admin: elect_leaders, partition: orders-0, unclean: true}")
    assert stage.cluster.asked == [("elect_leaders", {"partition": "orders-0", "unclean": "true"})]
    assert [(event["outcome"], event["error"]) for event in stage.events("finished")] == [("completed", "")]


def test_the_error_of_an_operation_is_kept(stage: Stage) -> None:
    stage.cluster.answers["elect_leaders"] = [AdminError("ELECTION_NOT_NEEDED", "no")]
    stage.begin("{admin: elect_leaders, partition: orders-0}")
    assert [(each["outcome"], each["error"]) for each in stage.events("finished")] == [
        ("failed", "ELECTION_NOT_NEEDED")
    ]


def test_a_throttled_reassignment_sets_and_removes_its_throttles(stage: Stage) -> None:
    stage.cluster.answers["reassigning"] = [["orders-0"], ["orders-0"], []]
    stage.begin("{admin: reassign, partition: orders-0, brokers: [2, 3], throttle: 1000}")
    assert len(stage.board.operations) == 1
    stage.advance(3 * SECOND)
    assert stage.board.operations == []
    verbs = [verb for verb, _ in stage.cluster.asked]
    assert verbs == ["alter_configs"] * 4 + ["reassign"] + ["reassigning"] * 3 + ["alter_configs"] * 4
    (_, first), (_, last) = stage.cluster.asked[0], stage.cluster.asked[-4]
    assert first["set.leader.replication.throttled.replicas"] == "0:1,0:2,0:3"
    assert {name for name in last if name.startswith("reset.")} == {
        "reset.leader.replication.throttled.replicas", "reset.follower.replication.throttled.replicas",
    }  # fmt: skip


def test_a_reassignment_is_cancelled(stage: Stage) -> None:
    stage.cluster.answers["reassigning"] = [["orders-0"], ["orders-0"], []]
    stage.begin("{admin: reassign, partition: orders-0, brokers: [2, 3]}")
    stage.begin("{admin: cancel, operation: all}")
    stage.advance(3 * SECOND)
    assert "cancel_reassignment" in [verb for verb, _ in stage.cluster.asked]


def test_a_rolling_restart_waits_for_each_broker(stage: Stage) -> None:
    stage.begin("{admin: rolling_restart, brokers: [2, 1], down: 500ms}")
    stage.advance(SECOND)
    assert stage.cluster.process("broker(2)").done == ["terminate"]
    stage.cluster.process("broker(2)").is_up = False
    stage.cluster.settled = False
    stage.advance(3 * SECOND)
    assert [node for node, _ in stage.started] == ["broker(2)"]
    assert stage.cluster.process("broker(1)").done == []
    stage.cluster.settled = True
    stage.advance(4 * SECOND)
    assert stage.cluster.process("broker(1)").done == ["terminate"]

"""Steps on real brokers: what is refused before anything starts, own processes of clients, and targets."""

import random
from pathlib import Path
from typing import Any

import pytest

from faults.declarations import NoMatchError
from playbooks.conditions.condition import parse
from playbooks.library.bundled import path_of
from playbooks.model import Playbook
from playbooks.parser import loader
from tests.real_kafka.metadata_view import MetadataView, PartitionRegistrationView, unanswered
from tests.real_kafka.real_cluster import node_name
from tests.real_kafka.run import RunOptions, RunRefusedError, load, run
from tests.real_kafka.steps import TargetResolver, alone, controllers_needed, refusals

HEAD = """\
floodmark: 1
cluster: {kafka: "4.1", brokers: 3}
topics: [{name: orders, placement: [[1, 2, 3]]}]
clients:
  producers:
    - {name: checkout, topic: orders, rate: 10/s}
  groups:
    - {name: billing, topics: [orders], members: 2}
steps:
"""


def playbook(*steps: str, head: str = HEAD) -> Playbook:
    steps = steps or ("{heal: all}",)
    return loader.loads(head + "".join(f"  - {step}\n" for step in steps), "some.yaml")


def refused_lines(*steps: str) -> list[int]:
    return [refusal.line for refusal in refusals(playbook(*steps))]


@pytest.mark.parametrize(
    "step",
    [
        "{at: 1s, inject: power_loss, target: broker(1)}",
        "{at: 1s, inject: slow_disk, target: broker(1)}",
        "{at: 1s, inject: clock_skew, target: broker(1)}",
        "{at: 1s, inject: crash, target: broker(1), torn: true}",
        "{at: 1s, inject: gc_pause, target: client(admin), for: 1s}",
        '{at: 1s, inject: gc_pause, target: "replica(orders-0, longest)"}',
        "{at: 1s, inject: halves, target: all}",
        "{at: 1s, inject: lost_ack, target: client(checkout)}",
        "{at: 1s, admin: decommission, broker: 3}",
        '{when: "leo(orders-0) > 100", inject: crash, target: broker(1)}',
        '{when: "acked() > 100 and isr(orders-0) == [1]", inject: crash, target: broker(1)}',
    ],
)
def test_a_step_without_an_equivalent_is_refused_with_its_line(step: str) -> None:
    assert refused_lines("{at: 0s, inject: crash, target: broker(2), for: 1s}", step) == [11]


@pytest.mark.parametrize(
    "step",
    [
        "{at: 1s, inject: crash, target: leader(orders-0), for: 5s}",
        "{at: 1s, inject: clean_shutdown, target: client(billing/0), for: 5s}",
        "{at: 1s, inject: bounce, target: broker(2)}",
        "{at: 1s, inject: gc_pause, target: followers(orders-0), for: 2s}",
        "{at: 1s, inject: isolate, target: leader(orders-0), direction: in}",
        '{at: 1s, inject: lag, target: "link(broker(1), broker(2))", latency: 50ms}',
        "{at: 1s, inject: loss, target: broker(2), percent: 5%}",
        "{at: 1s, inject: quorum_loss, target: controllers, for: 5s}",
        "{at: 1s, inject: poll_stall, target: client(billing/0), for: 5s}",
        "{at: 1s, admin: elect_leaders, partition: orders-0, unclean: true}",
        "{at: 1s, admin: reassign, partition: orders-0, brokers: [2, 3, 1], throttle: 100000}",
        '{when: "isr(orders-0) == [1] and now() > 2s", heal: all}',
        '{when: "group_state(billing) == \\"Empty\\"", heal: all}',
        "{at: 3s, settle: now}",
    ],
)
def test_other_steps_are_taken(step: str) -> None:
    assert refused_lines(step) == []


def test_all_reasons_are_found_at_once() -> None:
    made = playbook(
        "{at: 1s, inject: power_loss, target: broker(1)}",
        "{at: 2s, heal: all}",
        "{at: 3s, inject: slow_disk, target: broker(1)}",
        head=HEAD.replace("rate: 10/s", "rate: 10/s, callback: 1ms"),
    )
    assert [(refusal.line, refusal.what.partition(":")[0]) for refusal in refusals(made)] == [
        (0, "producer checkout"),
        (10, "inject power_loss"),
        (12, "inject slow_disk"),
    ]


@pytest.mark.parametrize("name", ["slow-disk", "power-cut-all", "clock-ahead-retention", "two-round-hw", "zone-loss"])
def test_bundled_playbooks_without_an_equivalent_are_refused_before_anything_starts(name: str, tmp_path: Path) -> None:
    output = tmp_path / "evidence"
    with pytest.raises(RunRefusedError) as refused:
        run(RunOptions(name, "4.1.2", output))
    assert str(refused.value).startswith(str(path_of(name)))
    assert not output.exists()


@pytest.mark.parametrize("release", ["3.9.2", "4.1.2"])
def test_a_playbook_is_loaded_for_the_release_of_the_brokers(release: str) -> None:
    made = load(RunOptions("acks-1-lost-tail", release, Path()))
    assert release.startswith(made.spec.kafka)
    assert made.spec.config["offsets.topic.num.partitions"] == 5


def test_settings_change_the_playbook() -> None:
    options = RunOptions("acks-1-lost-tail", "4.1.2", Path(), {"producers.clicks.config.acks": "all"})
    assert load(options).spec.producers[0].config["acks"] == "all"


def test_clients_that_steps_target_have_processes_of_their_own() -> None:
    assert alone(playbook("{at: 1s, inject: crash, target: broker(1)}")) == frozenset()
    assert alone(playbook("{at: 1s, inject: crash, target: client(billing/1)}")) == {"billing/1"}
    assert alone(playbook('{at: 1s, inject: crash, target: "random(1, members(billing))"}')) == {
        "billing/0",
        "billing/1",
    }
    assert alone(playbook("{at: 1s, inject: partition, target: broker(1), to: producers}")) == {"checkout"}


def test_a_quorum_has_three_controllers_where_a_step_is_about_it() -> None:
    assert controllers_needed(playbook("{at: 1s, inject: crash, target: broker(1)}")) == 1
    assert controllers_needed(playbook("{at: 1s, inject: crash, target: controller}")) == 3
    assert controllers_needed(playbook("{at: 1s, inject: quorum_loss, target: controllers}")) == 3
    assert controllers_needed(playbook('{when: "controller() != 1001", heal: all}')) == 3


def resolver(**changes: Any) -> TargetResolver:
    """Return a resolver of three brokers; broker 2 leads ``orders-0``, broker 3 is down and out of the ISR."""
    view = MetadataView()
    view.partitions["orders-0"] = PartitionRegistrationView(2, 1, 1, (1, 2, 3), (2, 1))
    view.partitions["__consumer_offsets-0"] = PartitionRegistrationView(3, 0, 0, (3, 1, 2), (3, 1, 2))
    view.partitions["orders-1"] = PartitionRegistrationView(-1, 1, 1, (3,), ())
    hosts = {"checkout": "client(checkout)", "billing/0": "clients", "billing/1": "clients"}
    settings: dict[str, Any] = {
        "spec": playbook().spec, "view": view, "voters": (1001, 1002, 1003), "hosts": hosts, "server": node_name,
        "is_up": lambda node: node != "broker(3)", "active_controller": lambda: 1002, "random": random.Random(1),
    }  # fmt: skip
    return TargetResolver(**(settings | changes))


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("leader(orders-0)", ["broker(2)"]),
        ("followers(orders-0)", ["broker(1)", "broker(3)"]),
        ("follower(orders-0)", ["broker(1)"]),  # the other one is down
        ("isr(orders-0)", ["broker(1)", "broker(2)"]),
        ("replicas(orders-0) - leader(orders-0)", ["broker(1)", "broker(3)"]),
        ("isr(orders-0) & followers(orders-0)", ["broker(1)"]),
        ("broker(3) + broker(1)", ["broker(3)", "broker(1)"]),
        ("all", ["broker(1)", "broker(2)", "broker(3)"]),
        ("controller", ["controller(1002)"]),
        ("controller(1003)", ["controller(1003)"]),
        ("coordinator(billing)", ["broker(3)"]),
        ("client(checkout)", ["client(checkout)"]),
        ("members(billing)", ["clients"]),
    ],
)
def test_targets_by_the_state_of_the_cluster(text: str, nodes: list[str]) -> None:
    assert resolver().resolve(text) == nodes


@pytest.mark.parametrize(("text", "count"), [("random(2, all)", 2), ("majority", 2), ("minority(controllers)", 1)])
def test_drawn_targets_repeat_with_the_seed(text: str, count: int) -> None:
    drawn = [resolver(random=random.Random(seed)).resolve(text) for seed in range(20)]
    assert {len(nodes) for nodes in drawn} == {count}
    assert len(set(map(tuple, drawn))) > 1
    assert drawn == [resolver(random=random.Random(seed)).resolve(text) for seed in range(20)]


@pytest.mark.parametrize("text", ["leader(orders-1)", "followers(orders-0) - replicas(orders-0)"])
def test_a_target_that_matches_nothing(text: str) -> None:
    with pytest.raises(NoMatchError):
        resolver().resolve(text)


@pytest.mark.parametrize(
    ("step", "links"),
    [
        ("{inject: partition, target: broker(1), to: broker(2)}", {("1", "2"), ("2", "1")}),
        ("{inject: partition, target: broker(1), to: broker(2), direction: out}", {("1", "2")}),
        ("{inject: partition, target: broker(1) + broker(2)}", {("1", "3"), ("3", "1"), ("2", "3"), ("3", "2")}),
        (
            "{inject: isolate, target: broker(1) + broker(2), direction: in}",
            {("2", "1"), ("3", "1"), ("1", "2"), ("3", "2")},
        ),
        ('{inject: lag, target: "link(broker(1), broker(3))", latency: 5ms, direction: in}', {("3", "1")}),
    ],
)  # fmt: skip
def test_links_of_link_faults(step: str, links: set[tuple[str, str]]) -> None:
    (made,) = playbook(step).steps
    everyone = [f"broker({number})" for number in (1, 2, 3)]
    targets = resolver()
    found = targets.links(made, targets.resolve(made.target), everyone)
    assert {(source[7:-1], target[7:-1]) for source, target in found} == links
    assert len(found) == len(links)


def test_functions_of_conditions_that_are_not_answered() -> None:
    text = 'len(isr(orders-0)) == 1 and (leo(orders-0) > 3 or state(billing) == "Empty")'
    assert unanswered(parse(text)) == ["leo"]

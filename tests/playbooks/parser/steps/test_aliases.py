"""Familiar names of other tools: what they mean, whom they narrow a step to, and that only the true name is kept."""

import json
from collections import Counter
from typing import Any

import pytest
import yaml
from syrupy.assertion import SnapshotAssertion

from cluster_model.manual.verbs import MANUAL_VERBS
from cluster_model.protocol.events import FaultInjected, StepTaken
from faults.catalogue import CATALOGUE, FAULT_ALIASES, OPERATION_ALIASES, canonical_name
from faults.declarations.fault import ACCEPTS
from faults.declarations.operation import OPERATIONS
from playbooks.engine.session import Session
from playbooks.errors import Problem
from playbooks.parser.steps.timed_steps import TIMED_VERBS, TRIGGERS
from tests.cli.conftest import here, typed  # noqa: F401
from tests.playbooks.parser.test_schema import WHOLE, fits
from tests.support.mistakes import keys, messages, mistakes_of
from tests.support.playbooks import CLUSTER, timed

TRUE = {
    "stop_broker": "clean_shutdown",
    "kill_broker": "crash",
    "sigkill": "crash",
    "pod_kill": "crash",
    "pause_broker": "gc_pause",
    "process_stop": "gc_pause",
    "pause_consumer": "paused_member",
    "latency": "lag",
    "netem_delay": "lag",
    "packet_loss": "loss",
    "reset_peer": "connection_reset",
    "network_partition": "partition",
    "cpu_hog": "slow_cpu",
    "disk_fill": "full_disk",
    "clock_jump": "clock_skew",
    "oom": "out_of_memory",
    "leader_election": "elect_leaders",
    "create_partitions": "add_partitions",
}


def mistakes(steps: str) -> tuple[Problem, ...]:
    return mistakes_of(lambda: timed(steps))


def test_no_name_means_two_things() -> None:
    declared = [*CATALOGUE.values(), *OPERATIONS.values()]
    names = Counter([*CATALOGUE, *OPERATIONS, *(alias.name for each in declared for alias in each.aliases)])
    assert [name for name, count in names.items() if count > 1] == []
    taken = {"all", *MANUAL_VERBS, *TIMED_VERBS, *TRIGGERS}
    assert not taken & {*FAULT_ALIASES, *OPERATION_ALIASES} - {"partition"}


def test_fault_aliases_accept_some_of_the_faults_targets() -> None:
    for name, (true, alias) in FAULT_ALIASES.items():
        assert alias.accepts in ("", *ACCEPTS), name
        assert alias.accepts != CATALOGUE[true].accepts, name
    assert all(not alias.accepts for _true, alias in OPERATION_ALIASES.values())


def test_familiar_names_mean_what_they_should() -> None:
    assert {name: canonical_name(name) for name in TRUE} == TRUE
    assert canonical_name("crash") == "crash"
    assert canonical_name("crush") == "crush"


def minimal(name: str) -> dict[str, Any]:
    """A step that calls a fault by one of its names."""
    fault = CATALOGUE[canonical_name(name)]
    alias = FAULT_ALIASES[name][1] if name in FAULT_ALIASES else None
    accepts = (alias.accepts if alias else "") or fault.accepts
    target = fault.target or ("consumers" if accepts == "consumers" else "leader(orders-0)")
    if accepts == "consumers":
        target = "client(billing/0)"
    return {"inject": name, "target": target}


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULT_ALIASES)
def test_a_step_by_a_familiar_name_is_that_of_the_true_one(name: str) -> None:
    cluster = CLUSTER.replace("brokers: 3", "brokers: 5")
    true = canonical_name(name)
    one = timed(yaml.safe_dump([minimal(name)]), cluster=cluster)
    other = timed(yaml.safe_dump([{**minimal(name), "inject": true}]), cluster=cluster)
    assert one.steps == other.steps
    assert one.steps[0].name == true
    assert timed(f"- heal: {name}").steps[0].name == true


@pytest.mark.parametrize("name", ["stop_broker", "kill_broker", "pause_broker", "hard_shutdown"])
def test_a_name_with_a_broker_in_it_takes_brokers_only_and_their_ids(name: str, snapshot: SnapshotAssertion) -> None:
    assert timed(f"- {{inject: {name}, broker: 2}}").steps == timed(f"- {{inject: {name}, target: broker(2)}}").steps
    wrong = {
        "a client": mistakes(f"- {{inject: {name}, target: checkout}}"),
        "both": mistakes(f"- {{inject: {name}, target: broker(1), broker: 2}}"),
        "neither": mistakes(f"- {{inject: {name}}}"),
        "an unknown broker": mistakes(f"- {{inject: {name}, broker: 7}}"),
    }
    assert [keys(problems) for problems in wrong.values()] == [
        ["steps[1].target"],
        ["steps[1].broker"],
        ["steps[1]"],
        ["steps[1].broker"],
    ]
    assert {which: messages(problems) for which, problems in wrong.items()} == snapshot


def test_other_names_have_no_key_for_a_broker(snapshot: SnapshotAssertion) -> None:
    wrong = {name: mistakes(f"- {{inject: {name}, broker: 2}}") for name in ("crash", "sigkill", "latency")}
    assert all("steps[1].broker" in keys(problems) for problems in wrong.values())
    assert {name: messages(problems) for name, problems in wrong.items()} == snapshot


def test_sessions_and_traces_carry_the_true_name(snapshot: SnapshotAssertion) -> None:
    playbook = timed(
        "- {at: 1s, inject: kill_broker, broker: 2, for: 1s}\n- {at: 3s, admin: leader_election, partition: orders-0}"
    )
    session = Session.start(playbook)
    session.finish()
    events = session.drain()
    assert [event.fault for event in events if isinstance(event, FaultInjected)] == ["crash"]
    told = [event.detail for event in events if isinstance(event, StepTaken)][:2]
    assert [detail.split()[1] for detail in told] == ["crash", "elect_leaders"]
    assert told == snapshot


def test_a_misspelt_familiar_name_is_recognised(snapshot: SnapshotAssertion) -> None:
    problems = mistakes("- {inject: kil_broker, broker: 1}")
    assert keys(problems) == ["steps[1].inject"]
    assert messages(problems) == snapshot


def test_the_schema_has_them() -> None:
    for step in (
        {"inject": "kill_broker", "broker": 2},
        {"inject": "sigkill", "target": "broker(2)"},
        {"heal": "latency"},
        {"admin": "leader_election", "partition": "orders-0"},
    ):
        document = yaml.safe_load(CLUSTER)
        assert fits({**document, "steps": [step]}, WHOLE), step
    assert not fits({**yaml.safe_load(CLUSTER), "steps": [{"inject": "sigkill", "broker": 2}]}, WHOLE)


def test_the_command_line_reports_them(typed: Any, snapshot: SnapshotAssertion) -> None:  # noqa: F811
    done = typed("faults", "kill_broker")
    assert done.code == 0
    assert done.out.startswith("crash: crash\n")
    also = [line for line in done.out.splitlines() if line.lstrip().startswith("also")]
    entry = json.loads(typed("faults", "--json", "leader_election").out)
    assert (entry["name"], entry["aliases"]) == ("elect_leaders", ["leader_election"])
    bad = typed("faults", "kil_broker")
    assert bad.code == 2
    assert {"also": also, "bad": bad.err.partition("; see: ")[0]} == snapshot

"""Gates of rules: what switches each of them on in a cluster of two releases."""

from typing import get_args

import pytest

from cluster_model.protocol.metadata_versions import is_at_least, latest_of, metadata_version
from cluster_model.protocol.releases import RELEASE_LINES, number_of
from cluster_model.protocol.rule_gates import (
    PARTIAL_GATES,
    PROTOCOL_RULES,
    GateKind,
    RuleGate,
    gate_of,
)
from cluster_model.protocol.versions import ELR_FEATURE, FLAG_BY_NAME, FLAGS, Mode, modes_of

GATES = (*PROTOCOL_RULES.values(), *PARTIAL_GATES)
FEATURES: dict[str, tuple[str, int]] = {
    "transaction.version": ("4.0", 2),
    "group.version": ("4.0", 1),
    "eligible.leader.replicas.version": ("4.0", 1),
}
"""Feature → first release that has it, highest level."""
OTHER_RELEASE = {
    "time_index": "the message format with timestamps is of 0.10.0",
    "offsets_for_times": "the message format with timestamps is of 0.10.0",
    "delete_horizon": "message format 0.11.0 has the attribute that later marks the horizon",
    "elr": "the feature is of 4.0, where clusters are formatted with level 0",
    "consumer_protocol": "before 4.0 brokers offered it by their configuration, without a feature",
}
"""Rule → why its level is not of the release in which the rule begins."""
REQUESTS = {
    "verifies_transactions": ("AddPartitionsToTxn 4", "3.6"),
    "eligible_isr": ("AlterPartition 2", "3.3"),
    "pre_vote": ("Vote 2", "4.0"),
    "quorum_hw_push": ("Fetch 18", "4.1"),
    "strict_markers": ("WriteTxnMarkers 2", "4.2"),
}
"""Rule → version of a request and the release line that brought it, from the schemas of requests."""


def first_line(rule: str) -> str:
    """Return the release line in which a rule begins."""
    since = FLAG_BY_NAME[rule].since
    return next(line for line in RELEASE_LINES if number_of(line) >= since)


def line_of_level(gate: RuleGate) -> str:
    """Release line that brought the level of a gate."""
    if gate.by == "api_versions":
        return REQUESTS[gate.rule][1]
    if gate.by in FEATURES:
        return FEATURES[gate.by][0]
    level = metadata_version(gate.level)
    return next(line for line in RELEASE_LINES if latest_of(line).release == level.release)


@pytest.mark.parametrize("gate", GATES, ids=lambda gate: f"{gate.rule}-{gate.by}")
def test_a_gate_is_of_a_rule_of_brokers(gate: RuleGate) -> None:
    assert gate.rule in {flag.name for flag in FLAGS}
    assert gate.source
    assert bool(gate.part) == (gate in PARTIAL_GATES)


@pytest.mark.parametrize("gate", GATES, ids=lambda gate: f"{gate.rule}-{gate.by}")
def test_a_level_is_of_the_release_in_which_its_rule_begins(gate: RuleGate) -> None:
    assert (line_of_level(gate) == first_line(gate.rule)) == (gate.rule not in OTHER_RELEASE)


def test_reasons_are_of_gated_rules() -> None:
    assert set(OTHER_RELEASE) < {gate.rule for gate in GATES}
    assert {gate.rule: gate.level for gate in GATES if gate.by == "api_versions"} == {
        rule: level for rule, (level, _) in REQUESTS.items()
    }


@pytest.mark.parametrize("gate", GATES, ids=lambda gate: f"{gate.rule}-{gate.by}")
def test_a_level_exists(gate: RuleGate) -> None:
    if gate.by in FEATURES:
        assert 0 < int(gate.level) <= FEATURES[gate.by][1]
    elif gate.by != "api_versions":
        assert metadata_version(gate.level).name == gate.level


@pytest.mark.parametrize("gate", GATES, ids=lambda gate: f"{gate.rule}-{gate.by}")
def test_a_rule_holds_in_each_mode_of_its_gate(gate: RuleGate) -> None:
    holding = [line for line in RELEASE_LINES if FLAG_BY_NAME[gate.rule].holds(number_of(line))]
    assert set(gate.modes) <= {mode for line in holding for mode in modes_of(line)}


@pytest.mark.parametrize("gate", GATES, ids=lambda gate: f"{gate.rule}-{gate.by}")
def test_a_gate_of_zookeeper_mode_alone_is_open_in_kraft_mode(gate: RuleGate) -> None:
    """The lowest level of KRaft mode, 3.0-IV1, is newer."""
    if gate.by in ("protocol", "message.format"):
        lowest = metadata_version("3.0-IV1")
        assert is_at_least(lowest, metadata_version(gate.level)) == ("kraft" not in gate.modes)


@pytest.mark.parametrize("gate", GATES, ids=lambda gate: f"{gate.rule}-{gate.by}")
def test_features_are_of_kraft_mode(gate: RuleGate) -> None:
    if gate.by in FEATURES:
        assert gate.modes == ("kraft",)


def test_a_release_opens_the_gates_of_its_own_rules() -> None:
    """A cluster of one release at its newest level follows every rule that the release has."""
    closed = [
        (line, gate.rule)
        for line in RELEASE_LINES
        for gate in GATES
        if gate.by == "protocol"
        and FLAG_BY_NAME[gate.rule].holds(number_of(line))
        and not is_at_least(latest_of(line), metadata_version(gate.level))
    ]
    assert closed == []


def test_kinds_of_gates_are_used() -> None:
    assert {gate.by for gate in GATES} == set(get_args(GateKind))


@pytest.mark.parametrize(
    ("rule", "mode", "gated"),
    [
        ("alter_partition", "zookeeper", True),
        ("alter_partition", "kraft", False),
        ("no_bump_on_shrink", "kraft", True),
        ("no_bump_on_shrink", "zookeeper", False),
        ("fetch_broker_epoch", "kraft", True),
        ("fetch_broker_epoch", "zookeeper", True),
        ("elr", "kraft", False),
        ("pre_vote", "kraft", False),
        ("timestamps", "zookeeper", False),
        ("bounce_detected", "zookeeper", False),
        ("hw_waits_eligible", "kraft", False),
    ],
)
def test_the_protocol_switches_a_rule_on(rule: str, mode: Mode, gated: bool) -> None:
    gate = gate_of(rule, mode)
    assert (gate is not None and gate.by == "protocol") is gated


def test_a_rule_has_its_gate_in_its_modes_only() -> None:
    kraft = gate_of("elr", "kraft")
    assert kraft is not None
    assert (kraft.by, kraft.level) == (ELR_FEATURE, "1")
    assert gate_of("elr", "zookeeper") is None
    assert gate_of("isr_epoch_start", "zookeeper") is None

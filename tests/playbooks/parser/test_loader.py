import pickle
import re
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.checker.invariants.invariant_checker import INVARIANTS
from cluster_model.protocol.versions import DEFAULT_RELEASE
from cluster_model.spec.cluster_spec import BrokerSpec, GroupSpec, NetworkSpec, ProducerSpec, TopicSpec
from cluster_model.util.quantities import listed
from faults.catalogue import CATALOGUE
from playbooks.errors import PlaybookError, Problem
from playbooks.model.playbook import Playbook
from playbooks.parser.loader import DEFAULT_SETTLE_US, PLAYBOOK, load, loads
from playbooks.parser.settings import apply_settings
from tests.support.golden import GoldenFile
from tests.support.mistakes import mistakes_of

BAD = Path(__file__).parent / "bad"
S = 1_000_000

WHOLE = """\
floodmark: 1
name: whole
title: Every key once
story: >-
  One sentence.
  Another.
tags: [a, b]
seed: 7
cluster:
  kafka: 3.9
  mode: zookeeper
  brokers: [{id: 1, rack: a}, {id: 2, rack: b}, {id: 5, rack: b}]
  config: {replica.lag.time.max.ms: 10000, unclean.leader.election.enable: true}
  network: {latency: 2ms, jitter: 0us}
  disk: {writeback: 7s}
topics:
  - {name: orders, partitions: 2, replication: 3, config: {min.insync.replicas: 2}}
  - {name: pay.ments, placement: [[5, 1], [1, 2]]}
clients:
  producers:
    - {name: checkout, topic: orders, rate: 200/s, batch: 10, bytes: 1KiB, keys: 50, tombstone_every: 9,
       records: faker:order, start: 1s, stop: 10s, config: {acks: all, linger.ms: 5}}
    - {name: clicks, topic: pay.ments, rate: 1/s, config: {acks: 1}}
  groups:
    - {name: billing, topics: [orders, pay.ments], members: 2, processing: 2ms,
       config: {auto.offset.reset: earliest}}
steps:
  - at: 5s
    inject: gc_pause
    target: followers(orders-0)
    for: 15s
    note: both at once
  - when: isr(orders-0) == [1]
    within: 20s
    inject: power_loss
    target: leader(orders-0)
    keep: 3
  - after: 1.5s
    inject: lag
    target: client(billing/1)
    latency: 50ms
    direction: out
    to: broker(5)
  - admin: elect_leaders
    partition: pay.ments-1
    unclean: true
    refused: any
  - after: 10s
    heal: all
settle: 45s
expect:
  - acked_lost(checkout) == 0
  - always: under_min_isr() <= 1
  - eventually: lag(billing) == 0
    within: 45s
    since: heal
"""


@pytest.fixture(scope="module")
def whole() -> Playbook:
    return loads(WHOLE, "whole.yaml")


def test_the_heading(whole: Playbook) -> None:
    assert (whole.name, whole.title, whole.seed, whole.tags) == ("whole", "Every key once", 7, ("a", "b"))
    assert whole.story == "One sentence. Another."
    assert whole.settle_us == 45 * S
    assert whole.source == WHOLE


def test_the_cluster(whole: Playbook) -> None:
    spec = whole.spec
    assert (spec.kafka, spec.mode, spec.manual) == ("3.9", "zookeeper", False)
    assert spec.brokers == (BrokerSpec(1, "a"), BrokerSpec(2, "b"), BrokerSpec(5, "b"))
    assert spec.config == {"replica.lag.time.max.ms": 10_000, "unclean.leader.election.enable": True}
    assert (spec.network, spec.writeback_us) == (NetworkSpec(2_000, 0), 7 * S)
    assert spec.topics == (
        TopicSpec("orders", 2, 3, (), {"min.insync.replicas": 2}),
        TopicSpec("pay.ments", 2, 2, ((5, 1), (1, 2))),
    )


def test_the_clients(whole: Playbook) -> None:
    checkout, clicks = whole.spec.producers
    assert checkout == ProducerSpec(
        "checkout", "orders", 50_000, 10, "faker:order", 1024, S, 10 * S, {"acks": "all", "linger.ms": 5}, 50, 9
    )
    assert (clicks.interval_us, clicks.batch, clicks.stop_us) == (S, 1, -1)
    assert whole.spec.groups == (
        GroupSpec("billing", ("orders", "pay.ments"), 2, 2_000, {"auto.offset.reset": "earliest"}),
    )


def test_the_steps(whole: Playbook) -> None:
    pause, power, lag, elect, heal = whole.steps
    assert (pause.trigger.kind, pause.trigger.time_us, pause.for_us) == ("at", 5 * S, 15 * S)
    assert (pause.verb, pause.name, pause.target, pause.note) == (
        "inject", "gc_pause", "followers(orders-0)", "both at once",
    )  # fmt: skip
    assert (pause.where.line, pause.where.column) == (28, 5)
    assert (power.trigger.kind, power.trigger.within_us, power.params) == ("when", 20 * S, {"keep": 3})
    assert power.trigger.condition is not None
    assert power.trigger.condition.text == "isr(orders-0) == [1]"
    assert (lag.trigger.kind, lag.trigger.time_us, lag.for_us) == ("after", 1_500_000, -1)
    assert lag.params == {"latency": 50_000, "direction": "out", "to": "broker(5)"}
    assert (elect.trigger.kind, elect.trigger.time_us) == ("after", 0)
    assert (elect.verb, elect.name, elect.refused) == ("admin", "elect_leaders", "any")
    assert elect.params == {"partition": "pay.ments-1", "unclean": True}
    assert (heal.verb, heal.name, heal.index) == ("heal", "all", 4)


def test_the_expectations(whole: Playbook, snapshot: SnapshotAssertion) -> None:
    end, always, eventually = whole.expectations
    assert (end.kind, end.text) == ("end", "acked_lost(checkout) == 0")
    assert (always.kind, always.text) == ("always", "always: under_min_isr() <= 1")
    assert (eventually.kind, eventually.within_us, eventually.since) == ("eventually", 45 * S, "heal")
    assert eventually.condition.text == "lag(billing) == 0"
    assert eventually.text == snapshot
    assert (always.condition.line, always.condition.column) == (53, 13)


def test_a_playbook_survives_pickling(whole: Playbook) -> None:
    assert pickle.loads(pickle.dumps(whole)) == whole


def test_missing_keys_get_their_defaults() -> None:
    playbook = loads("floodmark: 1\ntopics: [{name: a, replication: 1}]\n", "dir/small-one.yaml")
    assert (playbook.name, playbook.title, playbook.story, playbook.seed) == ("small-one", "small-one", "", 0)
    assert playbook.settle_us == DEFAULT_SETTLE_US
    assert (playbook.spec.kafka, playbook.spec.mode) == (DEFAULT_RELEASE, "kraft")
    assert [broker.id for broker in playbook.spec.brokers] == [1, 2, 3]
    assert not playbook.steps
    assert not playbook.expectations
    assert not playbook.spec.producers
    assert playbook.tags == ()


def test_the_default_replication_is_the_brokers_configuration() -> None:
    text = "floodmark: 1\ncluster: {config: {default.replication.factor: 2}}\ntopics: [{name: a}]\n"
    assert loads(text, "a.yaml").spec.topics[0].replication == 2


MANUAL = """\
floodmark: 1
name: by-hand
stepping: manual
cluster: {kafka: 0.10.2, brokers: 2}
topics: [{name: orders, placement: [[2, 1]]}]
steps:
  - append: {broker: 2, partition: orders-0, records: 2, names: [m0, on], acks: all}
    refused: NOT_LEADER_OR_FOLLOWER
    note: nobody was told
  - shrink_isr: {partition: orders-0, broker: 2, out: [1]}
  - expand_isr: {partition: orders-0, broker: 2, in: 1}
  - deliver: {broker: 1, partition: orders-0, epoch: 0, truncate: later}
    then:
      1: {leo: 1, hw: 0, up: true, role: follower, epochs: [[0, 0]], log: [[0, m0], [0, 7]], isr: []}
      2: {followers: {1: -1}}
      controller: {leader: -1, epoch: 3, isr: [1, 2]}
  - deliver: {broker: 2, partition: orders-0, epoch: latest}
  - power_loss: {broker: 1, keep: 3}
  - show
  - show:
expect:
  - diverged(orders-0) == 0
"""


def test_manual_stepping() -> None:
    playbook = loads(MANUAL, "m.yaml")
    assert playbook.spec.manual
    assert playbook.spec.mode == "zookeeper"
    assert playbook.settle_us == 0
    append, shrink, expand, deliver, latest, power, show, again = playbook.steps
    assert (append.verb, append.name, append.refused) == ("manual", "append", "NOT_LEADER_OR_FOLLOWER")
    assert append.params == {
        "broker": 2, "partition": "orders-0", "records": 2, "names": ["m0", "on"], "acks": "all",
    }  # fmt: skip
    assert shrink.params["out"] == [1]
    assert expand.params["in"] == 1
    assert deliver.params == {"broker": 1, "partition": "orders-0", "epoch": 0, "truncate": "later"}
    assert deliver.then == {
        "orders-0": {
            "1": {
                "leo": 1, "hw": 0, "up": True, "role": "follower", "epochs": [[0, 0]], "log": [[0, "m0"], [0, 7]],
                "isr": [],
            },
            "2": {"followers": {"1": -1}},
            "controller": {"leader": -1, "epoch": 3, "isr": [1, 2]},
        }
    }  # fmt: skip
    assert latest.params["epoch"] == "latest"
    assert power.params == {"broker": 1, "keep": 3}
    assert (show.name, show.params, again.name, again.params) == ("show", {}, "show", {})


def test_a_group_may_have_a_pattern_instead_of_topics_and_a_rack_for_each_member() -> None:
    groups = """\
clients:
  groups:
    - {name: g, pattern: "orders(-eu)?", members: 2, racks: [a, b]}
"""
    spec = loads("floodmark: 1\ntopics: [{name: orders, replication: 3}]\n" + groups, "x.yaml").spec
    assert spec.groups == (GroupSpec("g", (), 2, pattern="orders(-eu)?", racks=("a", "b")),)


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(BAD.glob("*.yaml")), ids=lambda path: path.stem)
def test_bad_files_are_refused_with_every_mistake_and_its_place(
    path: Path, monkeypatch: pytest.MonkeyPatch, golden_file: GoldenFile
) -> None:
    monkeypatch.chdir(BAD)
    with pytest.raises(PlaybookError) as caught:
        load(path.name)
    told = str(caught.value) + "\n"
    told = told.replace(listed(("all", *CATALOGUE)), "{all or faults}").replace(listed(CATALOGUE), "{faults}")
    told = told.replace(listed(PLAYBOOK.keys), "{keys}")
    assert told == golden_file(path.with_suffix(".txt"))


@pytest.mark.parametrize(("kafka", "verbs"), [("2.0", ["crash", "heal"]), ("3.9", ["crash", "gc_pause", "heal"])])
def test_a_step_with_time_may_be_for_some_versions(kafka: str, verbs: list[str]) -> None:
    steps = """\
steps:
  - {at: 1s, inject: crash, target: all}
  - {at: 2s, kafka: 2.1+, inject: gc_pause, target: all}
  - {at: 3s, heal: crash}
expect:
  - {eventually: acked() == 0, within: 1s, kafka: 2.1+}
  - {always: acked() == 0, kafka: 0.8.2-2.0}
"""
    playbook = loads(
        f"floodmark: 1\ncluster: {{kafka: {kafka}}}\ntopics: [{{name: a, replication: 1}}]\n{steps}", "a.yaml"
    )
    assert [step.name if step.verb == "inject" else step.verb for step in playbook.steps] == verbs
    assert [each.kind for each in playbook.expectations] == ["always" if kafka == "2.0" else "eventually"]


def test_problems_come_in_the_order_of_the_file() -> None:
    with pytest.raises(PlaybookError) as caught:
        load(BAD / "unknown_keys.yaml")
    places = [(problem.line, problem.column) for problem in caught.value.problems]
    assert places == sorted(places)
    assert len(places) > 10


@pytest.mark.parametrize("name", ["none.yaml", ".", "a\0b"])
def test_a_file_that_cannot_be_read_is_a_problem_too(name: str, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    (problem,) = mistakes_of(lambda: load(tmp_path / name))
    assert problem.path == str(tmp_path / name)
    assert "\n" not in str(problem)
    if "\0" in name:  # worded by Python
        assert "null" in problem.message
    else:
        assert problem.message == snapshot


def test_a_huge_file_is_not_read_whole(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    path = tmp_path / "huge.yaml"
    path.write_bytes(b"#" * (1024 * 1024 + 1))
    (problem,) = mistakes_of(lambda: load(path))
    assert (problem.path, problem.key) == (str(path), "")
    assert problem.message == snapshot


def test_an_invalid_value_causes_no_further_errors() -> None:
    text = WHOLE.replace("partitions: 2, replication: 3", "partitions: two, replication: 3").replace(
        "[{id: 1,", "[{id: x,"
    )
    with pytest.raises(PlaybookError) as caught:
        loads(text, "w.yaml")
    assert [problem.key for problem in caught.value.problems] == ["cluster.brokers[1].id", "topics[1].partitions"]


@pytest.mark.parametrize(
    ("old", "new", "keys"),
    [
        ("kafka: 3.9", "kafka: 3.99", ["cluster.kafka"]),
        ("name: orders, partitions", "partitions", ["topics[1]"]),
        ("clients:\n", "clients: none\nignored:\n", ["clients", "ignored"]),
        ("name: billing, topics: [orders, pay.ments], members: 2", "name: billing, topics: [orders], members: x",
         ["clients.groups[1].members"]),
        ("cluster:\n", "cluster: 5\nignored:\n", ["cluster", "ignored"]),
    ],
)  # fmt: skip
def test_one_mistake_is_reported_once(old: str, new: str, keys: list[str]) -> None:
    assert old in WHOLE
    with pytest.raises(PlaybookError) as caught:
        loads(WHOLE.replace(old, new, 1), "w.yaml")
    assert [problem.key for problem in caught.value.problems] == keys


def test_a_problem_is_one_line_even_when_the_file_is_not(snapshot: SnapshotAssertion) -> None:
    text = 'floodmark: 1\n"a\\nb\\e": 1\ntopics: [{name: a, replication: 1}]\n'
    (problem,) = mistakes_of(lambda: loads(text, "f.yaml"))
    assert str(problem).startswith("f.yaml:2:1: a\\nb\\x1b: ")
    assert str(problem) == snapshot


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("names: [m0, on]", "names: [m0]", "steps[1].append.names"),
        ("records: 2, names", "records: 1, names", "steps[1].append.names"),
        ("out: [1]", "out: []", "steps[2].shrink_isr.out"),
    ],
)
def test_one_and_none_are_counted_as_people_do(old: str, new: str, key: str, snapshot: SnapshotAssertion) -> None:
    assert old in MANUAL
    (problem,) = mistakes_of(lambda: loads(MANUAL.replace(old, new), "m.yaml"))
    assert problem.key == key
    assert problem.message == snapshot


@pytest.mark.parametrize(("acks", "kept"), [("all", "all"), ("-1", "all"), ("0", "0")])
def test_minus_one_is_kafkas_number_for_all(acks: str, kept: str) -> None:
    assert loads(WHOLE.replace("acks: 1}", f"acks: {acks}}}"), "w.yaml").spec.producers[1].config["acks"] == kept


def test_the_number_of_an_element_in_a_message_is_the_one_that_settings_take() -> None:
    with pytest.raises(PlaybookError) as caught:
        loads(WHOLE.replace("for: 15s", "for: ever"), "w.yaml")
    (problem,) = caught.value.problems
    assert problem.key == "steps[1].for"
    path = problem.key.replace("[", ".").replace("]", "")
    assert loads(apply_settings(WHOLE, {path: "2s"}), "w.yaml").steps[0].for_us == 2 * S


def test_errors_survive_pickling() -> None:
    error = PlaybookError([Problem("f", 2, 1, "k", "m"), Problem("f", 1, 1, "", "n")])
    again = pickle.loads(pickle.dumps(error))
    assert again.problems == error.problems
    assert str(again).splitlines() == ["f:1:1: n", "f:2:1: k: m"]


@pytest.mark.slow
def test_every_invariant_can_be_an_expectation() -> None:
    assert len(INVARIANTS) == 19
    for name in INVARIANTS:
        asked = f"expect: [violations({name}) == 0, unexpected_violations({name}) == 0]\n"
        text = MANUAL[: MANUAL.index("expect:")] + asked
        assert len(loads(text, "f").expectations) == 2


EARLIER = """\
floodmark: 1
name: earlier
cluster: {brokers: 3}
topics: [{name: orders, partitions: 1, replication: 3}, {name: letters, partitions: 1, replication: 3}]
clients:
  producers:
    - {name: p, topic: orders, rate: 10/s, keys: 4, tombstones: 9, config: {transactional.id: t},
       transactions: {abort: 3}, interceptors: [{name: i, fails: 5}], serializer: {fails: 6}}
  groups: [{name: g, topics: [orders], fails: 7, dead_letter: letters}]
steps:
  - {at: 1s, inject: quorum_loss, how: crash}
  - {at: 2s, inject: failing_handler, target: client(g/0), then: skip}
"""


def test_earlier_names_of_keys_and_parameters_are_accepted() -> None:
    names = {"tombstones": "tombstone_every", "abort": "abort_every", "fails": "fail_every"}
    names |= {"how": "method", "then": "reaction"}
    present = EARLIER
    for earlier, name in names.items():
        present = re.sub(rf"\b{earlier}:", f"{name}:", present)
    found, expected = loads(EARLIER, "x"), loads(present, "x")
    assert (found.spec, found.steps) == (expected.spec, expected.steps)
    assert [dict(step.params) for step in found.steps] == [{"method": "crash"}, {"reaction": "skip"}]
    with pytest.raises(PlaybookError) as refused:
        loads(EARLIER.replace("fails: 7", "fails: 7, fail_every: 8"), "x")
    assert [problem.key for problem in refused.value.problems] == ["clients.groups[1].fails"]

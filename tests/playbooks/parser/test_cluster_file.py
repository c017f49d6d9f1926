"""Cluster files: brokers and topics of an existing cluster, which a playbook names with ``cluster.from``."""

from pathlib import Path

import pytest

from cluster_model.cluster import Cluster
from playbooks.errors import PlaybookError
from playbooks.parser.loader import load, loads, read_fragment
from playbooks.parser.yaml_edit import written_out

FILE = """\
floodmark: 1
fragment: shop
cluster:
  kafka: "3.9"
  brokers: [{id: 0, rack: a}, {id: 1, rack: b}, {id: 7, rack: a}]
  config: {min.insync.replicas: 2}
topics:
  - name: orders
    placement: [[0, 1, 7], [1, 7, 0], [7, 0]]
    leaders: {0: 7, 2: 0}
  - {name: __consumer_offsets, placement: [[0, 1, 7]], config: {cleanup.policy: compact}}
"""
PLAYBOOK = """\
floodmark: 1
name: p
cluster: {from: shop.yaml, config: {min.insync.replicas: 1}}
clients:
  producers: [{name: app, topic: orders, rate: 10/s}]
  groups: [{name: readers, topics: [orders]}]
steps:
  - {at: 1s, inject: crash, target: broker(0), for: 2s}
settle: 1s
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "shop.yaml").write_text(FILE)
    (tmp_path / "p.yaml").write_text(PLAYBOOK)
    return tmp_path


def problems_of(folder: Path, playbook: str = PLAYBOOK, cluster: str = FILE) -> list[tuple[str, int, str]]:
    (folder / "shop.yaml").write_text(cluster)
    (folder / "p.yaml").write_text(playbook)
    with pytest.raises(PlaybookError) as raised:
        load(folder / "p.yaml")
    return [(Path(each.path).name, each.line, each.key) for each in raised.value.problems]


def test_a_playbook_has_the_brokers_and_topics_of_its_cluster_file(folder: Path) -> None:
    spec = load(folder / "p.yaml").spec
    assert [(broker.id, broker.rack) for broker in spec.brokers] == [(0, "a"), (1, "b"), (7, "a")]
    assert spec.kafka == "3.9"
    assert spec.topics[0].placement == ((0, 1, 7), (1, 7, 0), (7, 0))
    assert [topic.name for topic in spec.topics] == ["orders", "__consumer_offsets"]


def test_values_of_the_playbook_take_precedence(folder: Path) -> None:
    assert load(folder / "p.yaml").spec.config == {"min.insync.replicas": 1}


@pytest.mark.parametrize("mode", ["kraft", "zookeeper"])
def test_partitions_begin_with_the_given_leaders(folder: Path, mode: str) -> None:
    text = PLAYBOOK.replace("shop.yaml,", f"shop.yaml, mode: {mode},")
    cluster = Cluster.build(loads(text, str(folder / "p.yaml")).spec, 0)
    cluster.run(1_000_000)
    leaders = {name: record.leader for name, record in cluster.committed.records.items()}
    assert leaders == {"orders-0": 7, "orders-1": 1, "orders-2": 0, "__consumer_offsets-0": 0}
    assert all(len(record.isr) == len(record.assignment) for record in cluster.committed.records.values())


@pytest.mark.parametrize(("own", "zookeepers"), [("", 1), ("mode: zookeeper, ", 1), ("mode: kraft, ", 3)])
def test_the_control_plane_of_another_mode_is_left_out(folder: Path, own: str, zookeepers: int) -> None:
    (folder / "shop.yaml").write_text(FILE.replace('kafka: "3.9"', 'kafka: "3.6"\n  mode: zookeeper\n  zookeepers: 1'))
    text = PLAYBOOK.replace("shop.yaml,", f"shop.yaml, {own}")
    assert loads(text, str(folder / "p.yaml")).spec.zookeepers == zookeepers


def test_a_playbook_written_out_needs_no_cluster_file(folder: Path) -> None:
    playbook = load(folder / "p.yaml")
    text = written_out(playbook.source, playbook.path, playbook.fragments)
    assert loads(text, "elsewhere/p.yaml").spec == playbook.spec


def test_a_cluster_file_is_a_fragment_of_its_own(folder: Path) -> None:
    assert read_fragment(folder / "shop.yaml").name == "shop"


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (("shop.yaml,", "none.yaml,"), ("p.yaml", 3, "cluster.from")),
        (("shop.yaml,", "[shop.yaml],"), ("p.yaml", 3, "cluster.from")),
        (("topic: orders", "topic: order"), ("p.yaml", 5, "clients.producers[1].topic")),
    ],
)
def test_errors_of_the_playbook_name_its_line(
    folder: Path, change: tuple[str, str], place: tuple[str, int, str]
) -> None:
    assert place in problems_of(folder, PLAYBOOK.replace(*change))


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (("fragment: shop", "name: shop"), ("p.yaml", 3, "cluster.from")),
        (("{0: 7, 2: 0}", "{0: 7, 2: 1}"), ("shop.yaml", 10, "topics[1].leaders")),
        (("{0: 7, 2: 0}", "{0: 7, 3: 1}"), ("shop.yaml", 10, "topics[1].leaders")),
        (("{0: 7, 2: 0}", "{0: 7, 2: 5}"), ("shop.yaml", 10, "topics[1].leaders.2")),
        (("{0: 7, 2: 0}", "{0: 7, x: 0}"), ("shop.yaml", 10, "topics[1].leaders")),
        (("{0: 7, 2: 0}", "7"), ("shop.yaml", 10, "topics[1].leaders")),
        (("placement: [[0, 1, 7], [1, 7, 0], [7, 0]]", "replication: 3"), ("shop.yaml", 10, "topics[1].leaders")),
        (("[7, 0]]", "[7, 8]]"), ("shop.yaml", 9, "topics[1].placement[3][2]")),
    ],
)
def test_errors_of_the_cluster_file_name_its_line(
    folder: Path, change: tuple[str, str], place: tuple[str, int, str]
) -> None:
    assert place in problems_of(folder, cluster=FILE.replace(*change))

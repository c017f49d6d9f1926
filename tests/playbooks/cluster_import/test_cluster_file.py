"""The cluster file: what of a description it has, what it says that it has not, and that a playbook can use it."""

import re
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.spec import ClusterSpec
from playbooks.cluster_import import ClusterFile, ClusterSupplement, MissingAnswerError, cluster_file, read_inputs
from playbooks.errors import PlaybookError
from playbooks.parser.loader import loads

HEAD = "Topic: {0}\tPartitionCount: {1}\tReplicationFactor: {2}\tConfigs: {3}\n"
ROW = "\tTopic: {0}\tPartition: {1}\tLeader: {2}\tReplicas: {3}\tIsr: {4}\n"
TOPICS = (
    HEAD.format("orders", 2, 3, "min.insync.replicas=2,segment.jitter.ms=5,remote.storage.enable=true")
    + ROW.format("orders", 0, 2, "1,2,1001", "2")
    + ROW.format("orders", 1, "none", "2,1001", "")
    + HEAD.format("__consumer_offsets", 1, 1, "")
    + ROW.format("__consumer_offsets", 0, 1, "1", "1")
)
PROPERTIES = "broker.id={0}\nbroker.rack={1}\nzookeeper.connect=a:1,b:1,c:1\nnum.io.threads={2}\nlisteners=x\n"


@pytest.fixture
def inputs(tmp_path: Path) -> list[str]:
    texts = {"topics.txt": TOPICS}
    for number, (rack, threads) in {1: ("a", 4), 2: ("b b", 4), 1001: ("c", 8)}.items():
        texts[f"{number}.properties"] = PROPERTIES.format(number, rack, threads)
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return [str(tmp_path / name) for name in texts]


def built(inputs: list[str], supplement: ClusterSupplement | None = None) -> ClusterFile:
    return cluster_file(read_inputs(inputs), supplement or ClusterSupplement(kafka="3.4"))


def spec_of(text: str) -> ClusterSpec:
    return loads("floodmark: 1\nname: p\ncluster: {from: c.yaml}\n", "p.yaml", {"c.yaml": text}).spec


def test_it_has_brokers_placement_leaders_and_configs(inputs: list[str]) -> None:
    spec = spec_of(built(inputs).text)
    assert [(broker.id, broker.rack) for broker in spec.brokers] == [(1, "a"), (2, "b-b"), (3, "c")]
    assert (spec.kafka, spec.mode, spec.zookeepers) == ("3.4", "zookeeper", 3)
    assert spec.config == {"num.io.threads": 4}
    orders, offsets = spec.topics
    assert (orders.placement, orders.leaders) == (((1, 2, 3), (2, 3)), ((0, 2),))
    assert orders.config == {"min.insync.replicas": 2, "segment.jitter.ms": 5}
    assert offsets.placement == ((1,),)


def test_it_says_what_it_does_not_have(inputs: list[str], snapshot: SnapshotAssertion) -> None:
    file = built(inputs)
    assert file.text == snapshot
    comments = " ".join(line.lstrip("#- ") for line in file.text.split("\n") if line.startswith("#"))
    assert all(note in comments for note in file.notes)


def test_anonymous_names_are_the_same_everywhere_and_tell_nothing(inputs: list[str]) -> None:
    file = built(inputs, ClusterSupplement(kafka="3.4", anonymous=True))
    assert not re.search(r"orders|b-b|rack: [abc]\b|properties", file.text + " ".join(file.notes))
    spec = spec_of(file.text)
    assert [topic.name for topic in spec.topics] == ["topic-1", "__consumer_offsets"]
    assert [broker.rack for broker in spec.brokers] == ["rack-1", "rack-2", "rack-3"]
    assert any("topic-1" in note for note in file.notes)


def test_facts_from_the_user_take_precedence(inputs: list[str]) -> None:
    spec = spec_of(built(inputs, ClusterSupplement(kafka="3.4.0", mode="kraft", racks={2: "z"})).text)
    assert (spec.kafka, spec.mode, spec.brokers[1].rack) == ("3.4.0", "kraft", "z")


def test_the_release_has_to_be_known(inputs: list[str]) -> None:
    with pytest.raises(MissingAnswerError) as raised:
        built(inputs, ClusterSupplement())
    assert raised.value.option == "--kafka"


@pytest.mark.parametrize(("line", "kafka"), [("3.6-IV2", "3.6"), ("2.8.0", "2.8"), ("1.1", "1.1")])
def test_the_protocol_version_stands_for_an_unknown_release(tmp_path: Path, line: str, kafka: str) -> None:
    (tmp_path / "a.properties").write_text(f"broker.id=1\nzookeeper.connect=a\ninter.broker.protocol.version={line}\n")
    (tmp_path / "t").write_text(HEAD.format("t", 1, 1, "") + ROW.format("t", 0, 1, "1", "1"))
    assert (
        spec_of(built([str(tmp_path / "a.properties"), str(tmp_path / "t")], ClusterSupplement()).text).kafka == kafka
    )


@pytest.mark.parametrize(
    ("voters", "key"),
    [
        ("1@a:1", "controllers: [1]"),
        ("7@a:1,8@a:1,9@a:1,10@a:1", "controllers: 3"),
        ("1@a:1,8@a:1,9@a:1", "controllers: 3"),
    ],
)
def test_quorums_that_the_model_lacks_are_noted(tmp_path: Path, voters: str, key: str) -> None:
    (tmp_path / "a.properties").write_text(
        f"node.id=1\nprocess.roles=broker,controller\ncontroller.quorum.voters={voters}"
    )
    (tmp_path / "t").write_text(HEAD.format("t", 1, 1, "") + ROW.format("t", 0, 1, "1", "1"))
    file = built([str(tmp_path / "a.properties"), str(tmp_path / "t")])
    assert key in file.text
    assert any("stand" in note for note in file.notes) == (key != "controllers: [1]")


@pytest.mark.parametrize(
    "text",
    [
        "All configs for topic orders are:\n  retention.ms=1 sensitive=false synonyms={}\n",
        "broker.id=1\nzookeeper.connect=a\n",
        '{"brokers": [], "topics": []}',
        "Topic: t\tPartitionCount: 0\tReplicationFactor: 0\tConfigs: \n",
    ],
)
def test_an_incomplete_cluster_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "in.properties").write_text(text)
    with pytest.raises(PlaybookError):
        built([str(tmp_path / "in.properties")])


def test_a_release_that_lacks_a_config_leaves_it_out(tmp_path: Path) -> None:
    (tmp_path / "t").write_text(
        HEAD.format("t", 1, 1, "message.timestamp.after.max.ms=5") + ROW.format("t", 0, 1, "1", "1")
    )
    old, new = (built([str(tmp_path / "t")], ClusterSupplement(kafka=kafka)) for kafka in ("2.8", "3.9"))
    assert spec_of(old.text).topics[0].config == {}
    assert spec_of(new.text).topics[0].config == {"message.timestamp.after.max.ms": 5}
    assert any("message.timestamp.after.max.ms" in note for note in old.notes)


@pytest.mark.parametrize(("brokers", "topics"), [(12, 100), (100, 1_000)])
def test_large_clusters_are_imported(tmp_path: Path, brokers: int, topics: int) -> None:
    rows = []
    for number in range(topics):
        rows.append(HEAD.format(f"topic-{number}", 10, 3, "min.insync.replicas=2"))
        for partition in range(10):
            first = (number + partition) % brokers
            replicas = ",".join(str((first + each) % brokers) for each in range(3))
            rows.append(ROW.format(f"topic-{number}", partition, first, replicas, replicas))
    (tmp_path / "t").write_text("".join(rows))
    spec = spec_of(built([str(tmp_path / "t")]).text)
    assert (len(spec.brokers), sum(len(topic.placement) for topic in spec.topics)) == (brokers, 10 * topics)

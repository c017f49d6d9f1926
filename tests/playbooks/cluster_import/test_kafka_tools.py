"""Outputs of Kafka's command-line tools, of every form that they have had."""

import pytest

from playbooks.cluster_import.description import NO_LEADER, ClusterDescription
from playbooks.cluster_import.kafka_tools import is_tool_output, read_tool_output
from playbooks.errors import PlaybookError

TOPICS = """\
Topic: orders\tTopicId: Zq1\tPartitionCount: 2\tReplicationFactor: 3\tConfigs: cleanup.policy=compact,delete,a.ms=6
\tTopic: orders\tPartition: 0\tLeader: 2\tReplicas: 1,2,3\tIsr: 2,3\tElr: \tLastKnownElr:
\tTopic: orders\tPartition: 1\tLeader: none\tReplicas: 2,3,1\tIsr: \tElr: 2\tLastKnownElr: N/A
"""
OLD_TOPICS = """\
Topic:orders\tPartitionCount:1\tReplicationFactor:2\tConfigs:retention.ms=1000
\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2
Topic:old\tPartitionCount:1\tReplicationFactor:1\tConfigs:\tMarkedForDeletion:true
\tTopic: old\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\tMarkedForDeletion: true
"""
CONFIGS = """\
All configs for topic orders are:
  retention.ms=1000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:retention.ms=1000, DEFAULT_CONFIG:log.retention.ms=7}
  min.insync.replicas=2 sensitive=false synonyms={STATIC_BROKER_CONFIG:min.insync.replicas=2}
  segment.ms=604800000 sensitive=false synonyms={DEFAULT_CONFIG:log.roll.hours=168}
All configs for broker 1 are:
  num.io.threads=4 sensitive=false synonyms={STATIC_BROKER_CONFIG:num.io.threads=4, DEFAULT_CONFIG:num.io.threads=8}
  ssl.key.password=null sensitive=true synonyms={}
  compression.type=producer sensitive=false synonyms={DEFAULT_CONFIG:compression.type=producer}
Default configs for brokers in the cluster are:
  message.max.bytes=2000000 sensitive=false synonyms={DYNAMIC_DEFAULT_BROKER_CONFIG:message.max.bytes=2000000}
Quota configs for client-id 'a' are consumer_byte_rate=1.0
"""
QUORUM = """\
ClusterId:              x
LeaderId:               3000
LeaderEpoch:            15
HighWatermark:          129
MaxFollowerLag:         0
MaxFollowerLagTimeMs:   0
CurrentVoters:          [{"id": 3000, "directoryId": "a", "endpoints": ["C://h:1"]}, {"id": 3001, "directoryId": null}]
CurrentObservers:       [{"id": 1, "directoryId": null}]
"""


def read(text: str) -> ClusterDescription:
    assert is_tool_output(text)
    return read_tool_output(text, "in.txt")


def lines_refused(text: str) -> list[int]:
    with pytest.raises(PlaybookError) as raised:
        read_tool_output(text, "in.txt")
    return [problem.line for problem in raised.value.problems]


def test_topics_have_placement_leaders_isr_and_configs() -> None:
    description = read(TOPICS)
    topic = description.topics["orders"]
    rows = [(each.replicas, each.leader, each.isr) for each in topic.partitions.values()]
    assert rows == [((1, 2, 3), 2, (2, 3)), ((2, 3, 1), NO_LEADER, ())]
    assert {name: given.value for name, given in topic.configs.items()} == {
        "cleanup.policy": "compact,delete",
        "a.ms": "6",
    }
    assert sorted(description.brokers) == [1, 2, 3]
    assert topic.partitions[1].place.line == 3


def test_blanks_of_a_copied_terminal_separate_as_tabs_do() -> None:
    assert read(TOPICS.replace("\t", "    ")).topics["orders"].partitions.keys() == {0, 1}


def test_the_form_before_2_4_is_read_without_topics_that_are_being_deleted() -> None:
    description = read(OLD_TOPICS)
    assert list(description.topics) == ["orders"]
    assert description.topics["orders"].configs["retention.ms"].value == "1000"
    assert len(description.notes) == 1


def test_replicas_that_a_reassignment_removes_are_left_out() -> None:
    line = "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 4,1,2\tIsr: 1,2\tAdding Replicas: 4\tRemoving Replicas: 2\n"
    description = read("Topic: t\tPartitionCount: 1\tReplicationFactor: 2\tConfigs: \n" + line)
    assert description.topics["t"].partitions[0].replicas == (4, 1)
    assert description.notes


def test_configs_are_taken_from_where_they_were_set() -> None:
    description = read(CONFIGS)
    assert list(description.topics["orders"].configs) == ["retention.ms"]
    assert list(description.brokers[1].configs) == ["num.io.threads"]
    assert {name: given.value for name, given in description.configs.items()} == {
        "min.insync.replicas": "2",
        "message.max.bytes": "2000000",
    }
    assert description.notes == ["quotas and credentials"]


@pytest.mark.parametrize(
    "text",
    [
        "Configs for topic 'orders' are cleanup.policy=compact,delete,retention.ms=1000\n",
        (
            "Dynamic configs for topic orders are:\n  cleanup.policy=compact,delete\n"
            "  retention.ms=1000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:retention.ms=1000}\n"
        ),
    ],
)
def test_older_forms_of_topic_configs(text: str) -> None:
    configs = read(text).topics["orders"].configs
    assert {name: given.value for name, given in configs.items()} == {
        "cleanup.policy": "compact,delete",
        "retention.ms": "1000",
    }


@pytest.mark.parametrize("header", ["Configs for broker 7 are:", "Dynamic configs for broker 7 are:"])
def test_older_forms_of_broker_configs(header: str) -> None:
    assert read(f"{header}\n  num.io.threads=4 sensitive=false synonyms={{}}\n").brokers[7].configs.keys() == {
        "num.io.threads"
    }


def test_the_quorum_is_that_of_current_voters() -> None:
    description = read(QUORUM)
    assert description.voters == (3000, 3001)
    assert description.mode is not None
    assert description.mode.value == "kraft"
    assert read(
        QUORUM.replace(QUORUM[QUORUM.index("[{") : QUORUM.index("]\nCurrentObs")], "[3000,3001,3002")
    ).voters == (
        3000,
        3001,
        3002,
    )


def test_lines_of_logging_are_skipped() -> None:
    noise = (
        "[2026-01-01 10:00:00,000] WARN something (org.apache.kafka)\n\nWARNING: Due to limitations in metric names\n"
    )
    assert list(read(noise + TOPICS).topics) == ["orders"]


@pytest.mark.parametrize(
    ("change", "lines"),
    [
        (("Leader: 2", "Leader: two"), [2]),
        (("Replicas: 1,2,3", "Replicas: 1,2,2"), [2]),
        (("Replicas: 1,2,3", "Replicas: "), [2]),
        (("Partition: 1\t", "Partition: 0\t"), [3]),
        (("PartitionCount: 2", "PartitionCount: 3"), [1]),
        (("PartitionCount: 2", "PartitionCount: x"), [1]),
        (("\tTopic: orders\tPartition: 1", "Topik: orders\tPartition: 1"), [1, 3]),
    ],
)
def test_wrong_lines_are_named(change: tuple[str, str], lines: list[int]) -> None:
    assert sorted(lines_refused(TOPICS.replace(*change))) == lines


def test_output_of_single_partitions_is_not_taken_for_a_topic() -> None:
    assert lines_refused("\n".join(TOPICS.split("\n")[1:])) == [1]


def test_an_entry_that_is_no_assignment_is_refused() -> None:
    assert lines_refused("All configs for topic t are:\n  nonsense\n") == [2]

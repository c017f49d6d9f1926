"""``--set`` edits a playbook's text and leaves the rest of it alone."""

import pytest
import yaml
from syrupy.assertion import SnapshotAssertion

from playbooks.parser.settings import SettingError, apply_settings, parse_setting

TEXT = """\
# a comment at the top
floodmark: 1
seed: 7   # kept
cluster:
  kafka: "3.9"   # kept, too
  brokers: 3
  config: {replica.lag.time.max.ms: 10000}
topics:
  - {name: orders, partitions: 1, config: {min.insync.replicas: 2}}
clients:
  producers:
    - name: checkout
      rate: 200/s
    - {name: audit}
steps:
  - at: 5s
    inject: crash
  - heal: all
empty:
text: |
  several
"""


def changed(*settings: str) -> dict[str, object]:
    text = apply_settings(TEXT, dict(map(parse_setting, settings)))
    assert text.count("#") == TEXT.count("#"), "comments are kept"
    loaded: dict[str, object] = yaml.safe_load(text)
    return loaded


@pytest.mark.parametrize(
    ("setting", "path", "value"),
    [
        ("seed=9", ("seed",), 9),
        ("cluster.kafka=4.0", ("cluster", "kafka"), "4.0"),
        ("cluster.brokers=5", ("cluster", "brokers"), 5),
        ("cluster.mode=kraft", ("cluster", "mode"), "kraft"),
        ("cluster.network.latency=5ms", ("cluster", "network", "latency"), "5ms"),
        ("cluster.config.replica.lag.time.max.ms=5", ("cluster", "config", "replica.lag.time.max.ms"), 5),
        ("cluster.config.min.insync.replicas=1", ("cluster", "config", "min.insync.replicas"), 1),
        ("topics.orders.partitions=4", ("topics", 0, "partitions"), 4),
        ("topics.1.partitions=4", ("topics", 0, "partitions"), 4),
        ("topics.orders.config.unclean.leader.election.enable=true",
         ("topics", 0, "config", "unclean.leader.election.enable"), True),
        ("producers.checkout.rate=1/s", ("clients", "producers", 0, "rate"), "1/s"),
        ("producers.checkout.config.acks=all", ("clients", "producers", 0, "config", "acks"), "all"),
        ("clients.producers.audit.config.linger.ms=5", ("clients", "producers", 1, "config", "linger.ms"), 5),
        ("steps.1.at=9s", ("steps", 0, "at"), "9s"),
        ("settle=3s", ("settle",), "3s"),
        ("empty.config.a.b=1", ("empty", "config", "a.b"), 1),
        ("empty.to_config.linger.ms=1", ("empty", "to_config", "linger.ms"), 1),
        ("seed=5 # s", ("seed",), 5),
        ("empty=x: y", ("empty",), {"x": "y"}),
        ("topics.orders.placement=[[1, 2]]", ("topics", 0, "placement"), [[1, 2]]),
    ],
)  # fmt: skip
def test_one_value_changes(setting: str, path: tuple[str | int, ...], value: object) -> None:
    found = changed(setting)
    node: object = found
    for key in path:
        node = node[key]  # type: ignore[index]
    assert node == value
    before = yaml.safe_load(TEXT)
    unchanged = [key for key in before if key != path[0]]
    assert {key: found[key] for key in unchanged} == {key: before[key] for key in unchanged}


def test_settings_are_made_in_order() -> None:
    found = changed("cluster.mode=kraft", "cluster.mode=zookeeper", "seed=1")
    assert (found["cluster"]["mode"], found["seed"]) == ("zookeeper", 1)  # type: ignore[index]


@pytest.mark.parametrize(
    "setting",
    [
        "nothing",
        "=3",
        "a..b=3",
        "producers.nobody.rate=1/s",
        "producers.chekout.rate=1/s",
        "steps.9.at=1s",
        "seed.deeper=1",
        "topics=3",
        "cluster=3",
        "text=x",
        "seed=[1",
    ],
)
def test_settings_of_unknown_keys_are_rejected(setting: str, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(SettingError) as caught:
        changed(setting)
    assert str(caught.value) == snapshot


@pytest.mark.parametrize("typed", ["'[1, 2]'", '"@octocat"', "'010'", '"a: b"'])
def test_quotes_around_a_value_are_removed(typed: str) -> None:
    found = changed(f"title={typed}")
    assert found["title"] == typed[1:-1]

"""``floodmark cluster import`` as it is typed."""

import ssl
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from playbooks.cluster_import import client_settings
from playbooks.errors import PlaybookError
from playbooks.parser.loader import load, read_fragment
from tests.cli.running import Typed
from tests.gateway.hosting import playbook, served

Type = Callable[..., Typed]

TOPICS = """\
Topic: orders\tPartitionCount: 2\tReplicationFactor: 2\tConfigs: min.insync.replicas=2
\tTopic: orders\tPartition: 0\tLeader: 2\tReplicas: 1,2\tIsr: 2,1
\tTopic: orders\tPartition: 1\tLeader: 2\tReplicas: 2,1\tIsr: 2,1
"""


@pytest.fixture
def topics(here: Path) -> Path:
    (here / "topics.txt").write_text(TOPICS)
    return here


def test_a_file_is_written_that_a_playbook_uses(typed: Type, topics: Path) -> None:
    found = typed("cluster", "import", "topics.txt", "--kafka", "3.9", "--rack", "1=a", "-o", "shop.yaml")
    assert found.code == 0
    assert read_fragment(topics / "shop.yaml").name == "shop"
    (topics / "p.yaml").write_text("floodmark: 1\ncluster: {from: shop.yaml}\n")
    assert load(topics / "p.yaml").spec.topics[0].placement == ((1, 2), (2, 1))


def test_standard_output_has_the_file_and_nothing_else(typed: Type, topics: Path) -> None:
    found = typed("cluster", "import", "topics.txt", "--kafka", "3.9", "-o", "-", "--anonymize")
    assert found.code == 0
    (topics / "out.yaml").write_text(found.out)
    assert read_fragment(topics / "out.yaml").name == "cluster"
    assert "orders" not in found.out
    assert found.err.startswith("wrote standard output")


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("none.txt",),
        ("topics.txt",),
        ("topics.txt", "--kafka", "9.9"),
        ("topics.txt", "--kafka", "4.0", "--mode", "zookeeper"),
        ("topics.txt", "--kafka", "3.9", "--mode", "other"),
        ("topics.txt", "--kafka", "3.9", "--rack", "a"),
        ("topics.txt", "--kafka", "3.9", "--rack", "7=a"),
        ("topics.txt", "--kafka", "3.9", "--name", "a b"),
        ("topics.txt", "--kafka", "3.9", "-o", "topics.txt"),
        ("topics.txt", "--kafka", "3.9", "-o", "none/cluster.yaml"),
        ("topics.txt", "--kafka", "3.9", "--command-config", "x"),
        ("--bootstrap", "127.0.0.1:1", "--kafka", "3.9", "--command-config", "none"),
    ],
)
def test_what_does_not_fit_is_one_error(typed: Type, topics: Path, words: tuple[str, ...]) -> None:
    found = typed("cluster", "import", *words)
    assert found.code == 2
    assert found.out == ""
    assert found.err.count("error:") == 1
    assert not (topics / "cluster.yaml").exists()


def test_escapes_of_a_file_do_not_reach_the_terminal(typed: Type, here: Path) -> None:
    (here / "t").write_text(TOPICS.replace("Leader: 2", "Leader: \x1b[31m", 1))
    found = typed("cluster", "import", "t", "--kafka", "3.9")
    assert found.code == 2
    assert "\x1b" not in found.err


JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="me" password="a b\\=";'


def test_properties_of_a_java_client_are_followed() -> None:
    text = f"security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.jaas.config={JAAS}\n"
    settings = client_settings("c", f"{text}ssl.endpoint.identification.algorithm=\nacks=all\n")
    context = settings.pop("ssl_context")
    assert settings == {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": "me",
        "sasl_plain_password": "a b=",
    }
    assert isinstance(context, ssl.SSLContext)
    assert not context.check_hostname


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("security.protocol=TLS\n", [1]),
        ("security.protocol=SASL_PLAINTEXT\nsasl.mechanism=GSSAPI\n", [0, 2]),
        ("security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config=x\n", [3]),
        ("security.protocol=SSL\nssl.truststore.location=/a.jks\n", [2]),
        ("security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.location=/none.pem\n", [0]),
    ],
)
def test_properties_that_cannot_be_followed_are_named(text: str, lines: list[int]) -> None:
    with pytest.raises(PlaybookError) as raised:
        client_settings("c", text)
    assert [problem.line for problem in raised.value.problems] == lines


@pytest.mark.sockets
@pytest.mark.slow
@pytest.mark.parametrize("kafka", ["2.8", "3.9", "4.4"])
def test_a_live_cluster_is_asked(typed: Type, here: Path, kafka: str) -> None:
    with served(playbook(kafka, config=", num.io.threads: 3")) as host:
        found = typed("cluster", "import", "--bootstrap", host.bootstrap, "--kafka", kafka)
        placed = {name: record.assignment for name, record in host.session.cluster.committed.records.items()}
    assert found.code == 0, found.err
    (here / "p.yaml").write_text("floodmark: 1\ncluster: {from: cluster.yaml}\n")
    spec = load(here / "p.yaml").spec
    assert [broker.id for broker in spec.brokers] == [1, 2, 3]
    assert spec.mode == ("kraft" if kafka > "3.3" else "zookeeper")
    assert spec.topics[0].placement == tuple(placed[f"orders-{number}"] for number in range(3))
    assert spec.topics[0].config["min.insync.replicas"] == 2
    assert spec.config["num.io.threads"] == 3


def test_without_the_client_library_the_error_says_what_to_install(
    typed: Type, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "kafka", None)
    found = typed("cluster", "import", "--bootstrap", "127.0.0.1:1", "--kafka", "3.9")
    assert found.code == 2
    assert "floodmark[live]" in found.err

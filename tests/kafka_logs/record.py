"""Recorder of the log directories in this directory: ``python -m tests.kafka_logs.record 4.1.2 [DIRECTORY]``.

It starts one controller and three brokers of a release on loopback, makes an unclean election that loses acknowledged
records, copies the files that the import reads, and writes next to each log what Kafka's own ``kafka-dump-log`` prints
of it. It needs Java 17 and the jars of :mod:`tests.real_kafka.kafka_jars`, and takes about two minutes.
"""

import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from tests.real_kafka.kafka_jars import SERVER, classpath

CONTROLLER: Final = 100
BROKERS: Final = (1, 2, 3)
JAVA: Final = ("java", "-Xmx300m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
PATIENCE_S: Final = 90
FIRST_PORT: Final = 24100
COPIED: Final = ("*.log", "*.checkpoint", "leader-epoch-checkpoint", "partition.metadata")


class Nodes:
    """One controller and three brokers, each with a directory of its own below ``home``."""

    def __init__(self, release: str, home: Path) -> None:
        self.release = release
        self.home = home
        self.processes: dict[int, subprocess.Popen[bytes]] = {}
        self.servers = ",".join(f"127.0.0.1:{FIRST_PORT + each}" for each in BROKERS)

    def format(self) -> None:
        """Write the configuration and format the log directory of every node."""
        cluster = "floodmarkRecordedLogs0"
        for node in (CONTROLLER, *BROKERS):
            directory = self.home / f"node-{node}"
            directory.mkdir(parents=True)
            (directory / "server.properties").write_text(self._properties(node), encoding="utf-8")
            arguments = ["format", "--cluster-id", cluster, "--config", str(directory / "server.properties")]
            self.tool("kafka.tools.StorageTool", *arguments)

    def _properties(self, node: int) -> str:
        port = FIRST_PORT + node
        role = "controller" if node == CONTROLLER else "broker"
        listener = "CONTROLLER" if node == CONTROLLER else "PLAINTEXT"
        lines = {
            "process.roles": role,
            "node.id": node,
            "controller.quorum.voters": f"{CONTROLLER}@127.0.0.1:{FIRST_PORT + CONTROLLER}",
            "controller.listener.names": "CONTROLLER",
            "listeners": f"{listener}://127.0.0.1:{port}",
            "log.dirs": self.home / f"node-{node}" / "data",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "num.network.threads": 1,
            "num.io.threads": 2,
            "background.threads": 1,
            "num.recovery.threads.per.data.dir": 1,
            "log.cleaner.dedupe.buffer.size": 4194304,
            "broker.session.timeout.ms": 6000,
            "broker.heartbeat.interval.ms": 1000,
            "replica.lag.time.max.ms": 6000,
            "replica.high.watermark.checkpoint.interval.ms": 500,
            "offsets.topic.num.partitions": 1,
            "transaction.state.log.num.partitions": 1,
            "transaction.state.log.min.isr": 1,
            "metadata.max.idle.interval.ms": 5000,
            "metadata.log.max.record.bytes.between.snapshots": 2500,
            "log.initial.task.delay.ms": 500,
        }
        if node != CONTROLLER:
            del lines["metadata.log.max.record.bytes.between.snapshots"]
        return "".join(f"{name}={value}\n" for name, value in lines.items())

    def start(self, *nodes: int) -> None:
        """Start nodes; a node that ran before uses the same directory again."""
        for node in nodes:
            log = (self.home / f"node-{node}" / "server.log").open("ab")
            properties = str(self.home / f"node-{node}" / "server.properties")
            command = [*JAVA, "-cp", classpath(self.release, SERVER), "kafka.Kafka", properties]
            self.processes[node] = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.home)

    def stop(self, *nodes: int, how: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal to nodes and wait for their end."""
        for node in nodes:
            process = self.processes.pop(node)
            process.send_signal(how)
            process.wait(60)

    def tool(self, main: str, *arguments: str) -> str:
        """Run one of Kafka's command-line tools and return what it prints."""
        command = [*JAVA, "-cp", classpath(self.release, SERVER), main, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=self.home)
        if done.returncode:
            raise RuntimeError(f"{main} {' '.join(arguments)}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        return done.stdout


@contextmanager
def running(release: str, home: Path) -> Iterator[Nodes]:
    """Yield a running cluster; end its processes afterwards."""
    nodes = Nodes(release, home)
    nodes.format()
    try:
        nodes.start(CONTROLLER, *BROKERS)
        yield nodes
    finally:
        for process in nodes.processes.values():
            process.kill()
        for process in nodes.processes.values():
            process.wait(60)


class Client:
    """An admin client and producers, and the history of what was acknowledged."""

    def __init__(self, servers: str) -> None:
        self.servers = servers
        self.admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
        self.acked: list[dict[str, Any]] = []

    def create(self, topic: str, replicas: list[int], **config: str) -> None:
        """Create a topic of one partition with these replicas, as soon as all brokers are registered."""
        self.until(lambda: set(BROKERS) <= set(self.metadata().brokers))
        settings = {name.replace("_", "."): value for name, value in config.items()}
        topics = [NewTopic(topic, num_partitions=1, replica_assignment=[replicas], config=settings)]
        for each in self.admin.create_topics(topics).values():
            each.result()
        self.until(lambda: sorted(self.isr(topic)) == sorted(replicas))

    def configure(self, topic: str, **config: str) -> None:
        """Change settings of a topic."""
        entries = [
            ConfigEntry(name.replace("_", "."), value, incremental_operation=AlterConfigOpType.SET)
            for name, value in config.items()
        ]
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
        for each in self.admin.incremental_alter_configs([resource]).values():
            each.result()

    def metadata(self) -> Any:
        """Return the metadata of the cluster."""
        return self.admin.list_topics(timeout=10)

    def partition(self, topic: str) -> Any:
        """Return the metadata of partition 0 of a topic."""
        return self.metadata().topics[topic].partitions[0]

    def isr(self, topic: str) -> list[int]:
        """Return the in-sync replicas of partition 0 of a topic."""
        known = self.metadata().topics.get(topic)
        return list(known.partitions[0].isrs) if known is not None and 0 in known.partitions else []

    def until(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition holds; errors of the client count as not yet."""
        end = time.monotonic() + PATIENCE_S
        while True:
            with suppress(KafkaException, KeyError):
                if condition():
                    return
            if time.monotonic() > end:
                raise TimeoutError("the cluster did not get there")
            time.sleep(0.2)

    def send(self, topic: str, prefix: str, count: int, **config: str) -> None:
        """Send records one batch at a time and remember each acknowledgement."""
        settings = {name.replace("_", "."): value for name, value in config.items()}
        producer = Producer({"bootstrap.servers": self.servers, "linger.ms": 20, "log_level": 0, **settings})
        transactional = "transactional.id" in settings
        if transactional:
            producer.init_transactions(60)
            producer.begin_transaction()
        for number in range(count):
            key, value = f"{prefix}-{number}", f"{prefix} record {number} " + "=" * 20
            producer.produce(topic, value, key, on_delivery=self._delivered)
            if number % 4 == 3:
                producer.flush(60)
        producer.flush(60)
        if transactional and prefix.startswith("abort"):
            producer.abort_transaction(60)
        elif transactional:
            producer.commit_transaction(60)

    def _delivered(self, error: Any, message: Any) -> None:
        if error is None:
            found = {"topic": message.topic(), "partition": message.partition(), "offset": message.offset()}
            self.acked.append({**found, "key": message.key().decode(), "at_ms": message.timestamp()[1]})


def lose_records(nodes: Nodes, client: Client) -> None:
    """Let the leader of ``orders-0`` acknowledge alone, die, and lose the election to a replica out of sync."""
    client.create("orders", [1, 2, 3], min_insync_replicas="1", unclean_leader_election_enable="true")
    client.create("payments", [2, 3, 1], min_insync_replicas="2")
    client.create("obsolete", [3])
    for codec in CODECS:
        client.send("payments", codec, 6, compression_type=codec, acks="all")
    client.send("payments", "commit", 3, transactional_id="recorder")
    client.send("payments", "abort", 2, transactional_id="recorder")
    client.send("orders", "first", 12, acks="all")
    client.configure("orders", retention_ms="86400000")
    for each in client.admin.delete_topics(["obsolete"]).values():
        each.result()
    nodes.stop(2, 3)
    client.until(lambda: client.isr("orders") == [1])
    client.send("orders", "alone", 8, acks="all")
    time.sleep(2)
    nodes.stop(1)
    nodes.start(2, 3)
    client.until(lambda: client.partition("orders").leader in {2, 3} and len(client.isr("orders")) > 1)
    client.send("orders", "after", 5, acks="all")
    time.sleep(2)


def copy_logs(source: Path, target: Path) -> None:
    """Copy the files that the import reads; directories and names stay as on the nodes."""
    for node in (CONTROLLER, *BROKERS):
        data = source / f"node-{node}" / "data"
        for path in sorted(data.rglob("*")):
            relative = path.relative_to(data)
            partition = relative.parts[0]
            if path.is_dir() or not _kept(partition, node, path):
                continue
            copy = target / f"node-{node}" / relative
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)


def _kept(partition: str, node: int, path: Path) -> bool:
    if partition.startswith("__cluster_metadata"):
        return node == CONTROLLER and any(path.match(pattern) for pattern in COPIED)
    if path.name == "bootstrap.checkpoint":
        return False
    if path.name in {"meta.properties", "replication-offset-checkpoint", "log-start-offset-checkpoint"}:
        return True
    return not partition.startswith("__") and any(path.match(pattern) for pattern in COPIED)


def dump(nodes: Nodes, logs: Path) -> None:
    """Write beside every log and snapshot what ``kafka-dump-log`` prints of it."""
    numbers = [int(part) for part in nodes.release.split(".")]
    main = "kafka.tools.DumpLogSegments" if numbers < [4, 2] else "org.apache.kafka.tools.DumpLogSegments"
    for path in sorted([*logs.rglob("*.log"), *logs.rglob("0*.checkpoint")]):
        if not path.stat().st_size:
            continue
        metadata = path.parent.name.startswith("__cluster_metadata")
        decoder = "--cluster-metadata-decoder" if metadata else "--print-data-log"
        text = nodes.tool(main, "--deep-iteration", decoder, "--files", str(path))
        target = logs / "dump" / path.relative_to(logs).parent / f"{path.name}.txt"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text.replace(str(logs), ""), encoding="utf-8")


def record(release: str, target: Path) -> None:
    """Record the logs of a release below a directory, before and after the deposed leader starts again."""
    with tempfile.TemporaryDirectory(prefix="floodmark-kafka-") as name, running(release, Path(name)) as nodes:
        client = Client(nodes.servers)
        lose_records(nodes, client)
        copy_logs(Path(name), target / f"{release}-lost")
        nodes.start(1)
        client.until(lambda: sorted(client.isr("orders")) == list(BROKERS))
        time.sleep(2)
        nodes.stop(*BROKERS, CONTROLLER, how=signal.SIGTERM)
        copy_logs(Path(name), target / f"{release}-rejoined")
        history = "".join(json.dumps(each) + "\n" for each in client.acked)
        (target / f"{release}-acked.jsonl").write_text(history, encoding="utf-8")
        for logs in ("lost", "rejoined"):
            dump(nodes, target / f"{release}-{logs}")


if __name__ == "__main__":
    record(sys.argv[1], Path(sys.argv[2]).absolute() if len(sys.argv) > 2 else Path(__file__).parent / uuid.uuid4().hex)

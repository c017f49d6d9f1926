"""A real cluster: brokers, KRaft controllers and clients, each in a namespace, joined by the router.

Nodes are named as targets of playbooks: ``broker(1)``, ``controller(1001)``, ``client(checkout)``. Clients that no step
targets share one process and one namespace with the admin client, the node ``clients``.
"""

import base64
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from cluster_model.cluster import Cluster
from cluster_model.spec import INTERNAL, ClusterSpec
from cluster_model.spec.cluster_spec import DUPLICATE_SUFFIX
from tests.real_kafka.history import METADATA_LOG, NODES, PROCESSES
from tests.real_kafka.metadata_view import MetadataView
from tests.real_kafka.namespaces import Namespace, make_namespace
from tests.real_kafka.processes import (
    AdminError,
    ClientProcess,
    HostedProcess,
    PendingAnswer,
    ServerProcess,
    logging_options,
    wait_until,
)
from tests.real_kafka.router import Router
from tests.real_kafka.settings import (
    config_texts,
    consumer_settings,
    features,
    members,
    producer_settings,
    properties_text,
    server_config,
)

SHARED: Final = "clients"
"""Node of the admin client and of all clients that no step targets."""
FIRST_CONTROLLER: Final = 1_001
PATIENCE_S: Final = 240
"""Bound of each wait while the cluster forms: many times what an idle machine needs."""
_BROKER_PORT: Final = 9_092
_CONTROLLER_PORT: Final = 9_093


class ClusterStartError(Exception):
    """The cluster did not form; the message has the reason and the end of the log that shows it."""


def broker_name(broker: int) -> str:
    """Return a broker as a target."""
    return f"broker({broker})"


def node_name(node: int) -> str:
    """Return a server's node id as a target."""
    return broker_name(node) if node < FIRST_CONTROLLER else f"controller({node})"


def client_name(client: str) -> str:
    """Return a client as a target."""
    return f"client({client})"


def placements(spec: ClusterSpec, seed: int) -> dict[str, list[list[int]]]:
    """Return the replicas of every partition as the model places them, the internal topics of its clients included."""
    found: dict[str, list[list[int]]] = {}
    records = Cluster.build(spec, seed).cluster_state.records
    for name in sorted(records, key=lambda name: (name.rpartition("-")[0], int(name.rpartition("-")[2]))):
        found.setdefault(name.rpartition("-")[0], []).append(list(records[name].assignment))
    return found


@dataclass(slots=True)
class RealCluster:
    """One cluster with its clients; ``directory`` is temporary, ``output`` gets the logs of all processes."""

    spec: ClusterSpec
    release: str
    seed: int
    controllers: int
    alone: frozenset[str]
    """Clients with a process of their own."""
    duplicated: frozenset[str]
    """Producers that have a second process, ``<name>.duplicate`` as in the model, which a step starts."""
    directory: Path
    output: Path
    report: Callable[[str], None] = lambda text: None
    """Called with a line about the progress."""
    view: MetadataView = field(default_factory=MetadataView)
    router: Router = field(init=False)
    servers: dict[str, ServerProcess] = field(default_factory=dict)
    clients: dict[str, ClientProcess] = field(default_factory=dict)
    cluster_id: str = ""
    start_unix_us: int = 0
    topics: dict[str, dict[str, Any]] = field(default_factory=dict)
    _namespaces: list[Namespace] = field(default_factory=list)
    _start_ns: int = 0

    def __post_init__(self) -> None:
        network = self.spec.network
        self.router = Router(network.latency_us, network.jitter_us, self.seed)
        # It must not begin with a hyphen, which StorageTool reads as an option.
        self.cluster_id = "K" + base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")[1:]

    # -- start --------------------------------------------------------------------------------------------------------

    def form(self) -> None:
        """Start everything, create the topics, and wait until all replicas are in sync.

        Raises:
            ClusterStartError: a process ends, or something takes too long.
            KafkaUnavailableError: the jars or the client program cannot be had.
            NamespaceUnavailableError: the kernel refuses a namespace.
        """
        self._make_servers()
        self._make_clients()
        self.router.start()
        self.report(f"formatting {len(self.servers)} servers of Kafka {self.release}")
        config = server_config(self.spec)

        def format_storage(server: ServerProcess) -> None:
            server.format(self._server_properties(server, config), self.cluster_id, features(self.spec))

        with ThreadPoolExecutor(2) as threads:
            list(threads.map(format_storage, self.servers.values()))
        self.report("starting servers and clients")
        for process in (*self.servers.values(), *self.clients.values()):
            process.start()
        self._wait(lambda: all(server.is_ready for server in self.servers.values()), "not all servers have started")
        self._wait(lambda: all(each.ready.is_set() for each in self.clients.values()), "not all clients have started")
        self.report("creating topics")
        self._create_topics()

    def begin(self) -> None:
        """Begin the scenario: time counts from here, and all clients work, except second processes."""
        self.start_unix_us, self._start_ns = time.time_ns() // 1_000, time.monotonic_ns()
        for process in self.clients.values():
            if not process.name.endswith(f"{DUPLICATE_SUFFIX})"):
                process.begin(self.start_unix_us)

    def now_us(self) -> int:
        """Return the time since the scenario began, 0 before that."""
        return (time.monotonic_ns() - self._start_ns) // 1_000 if self._start_ns else 0

    def _node(self, name: str) -> Namespace:
        namespace = make_namespace(f"10.77.0.{len(self._namespaces) + 1}")
        self._namespaces.append(namespace)
        self.router.connect(name, namespace.address, namespace.tun_fd)
        return namespace

    def _make_servers(self) -> None:
        options = tuple(logging_options(self.directory))
        nodes = [broker.id for broker in self.spec.brokers]
        nodes += [] if self.spec.combined else list(range(FIRST_CONTROLLER, FIRST_CONTROLLER + self.controllers))
        for node in nodes:
            name = node_name(node)
            log = self.output / NODES / str(node) / "server.log"
            directory = self.directory / str(node)
            self.servers[name] = ServerProcess(
                name, self._node(name), log, node=node, directory=directory, release=self.release, options=options
            )

    @property
    def voters(self) -> tuple[int, ...]:
        """Node ids of the controllers."""
        return self.spec.combined or tuple(range(FIRST_CONTROLLER, FIRST_CONTROLLER + self.controllers))

    @property
    def bootstrap(self) -> str:
        """``bootstrap.servers`` of every client."""
        names = [broker_name(broker.id) for broker in self.spec.brokers]
        return ",".join(f"{self.servers[name].namespace.address}:{_BROKER_PORT}" for name in names)

    def _server_properties(self, server: ServerProcess, config: Mapping[str, str]) -> dict[str, str]:
        broker = next((each for each in self.spec.brokers if each.id == server.node), None)
        roles = [*(["broker"] if broker else []), *(["controller"] if server.node in self.voters else [])]
        address = server.namespace.address
        ports = {
            "broker": f"PLAINTEXT://{address}:{_BROKER_PORT}",
            "controller": f"CONTROLLER://{address}:{_CONTROLLER_PORT}",
        }
        voters = [(node, self.servers[node_name(node)].namespace.address) for node in self.voters]
        found = {
            **config,
            "process.roles": ",".join(roles),
            "node.id": str(server.node),
            "listeners": ",".join(ports[role] for role in roles),
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.voters": ",".join(f"{node}@{where}:{_CONTROLLER_PORT}" for node, where in voters),
        }
        if broker:
            found |= {"advertised.listeners": ports["broker"], "inter.broker.listener.name": "PLAINTEXT"}
            found |= {"broker.rack": broker.rack} if broker.rack else {}
        return found

    def _make_clients(self) -> None:
        options = tuple(logging_options(self.directory))
        settings = self._client_settings()
        alone = [name for name in settings if name.removesuffix(DUPLICATE_SUFFIX) in self.alone]
        shared = [name for name in settings if name not in alone]
        for host, names in {SHARED: shared, **{name: [name] for name in alone}}.items():
            node = host if host == SHARED else client_name(host)
            namespace = self._node(node)
            file = self.output / PROCESSES / host.replace("/", "-")
            process = ClientProcess(
                node, namespace, file.with_suffix(".log"), release=self.release, history=file.with_suffix(".jsonl"),
                settings={name: self._write_settings(name, settings[name]) for name in names},
                options=options, on_event=self._event,
            )  # fmt: skip
            if host == SHARED:
                tails = [word for node in self.voters for word in ("--metadata", self._metadata_log(node), str(node))]
                process.arguments = ("--admin", self.bootstrap, *tails)
            self.clients[node] = process

    def _metadata_log(self, node: int) -> str:
        return str(self.servers[node_name(node)].log_dir / METADATA_LOG)

    def _client_settings(self) -> dict[str, dict[str, str]]:
        producers = list(self.spec.producers)
        producers += [
            replace(each, name=each.name + DUPLICATE_SUFFIX) for each in producers if each.name in self.duplicated
        ]
        found = {
            producer.name: producer_settings(producer, self.bootstrap, self.seed + number)
            for number, producer in enumerate(producers)
        }
        partitions = {topic: len(rows) for topic, rows in placements(self.spec, self.seed).items()}
        for group in self.spec.groups:
            for number, name in enumerate(members(group)):
                found[name] = consumer_settings(group, number, self.bootstrap, partitions)
        return found

    def _write_settings(self, name: str, settings: Mapping[str, str]) -> Path:
        path = self.directory / f"client-{name.replace('/', '-')}.properties"
        path.write_text(properties_text(settings), encoding="utf-8")
        return path

    def restart(self, node: str) -> None:
        """Start a process that is down, a second process of a producer for the first time.

        What a broker has before it truncates its logs is kept. A client works at once if its process stands by.
        """
        if node in self.servers:
            server = self.servers[node]
            kept = self.output / NODES / str(server.node) / f"before-{server.starts}"
            server.copy_logs(kept, metadata=False)
            server.start()
            return
        process = self.clients[node]
        if not process.stands_by:
            self.prepare(node)
        process.begin(self.start_unix_us)

    def prepare(self, node: str) -> None:
        """Start a client's process that is down so that it stands by for its restart, which then takes no time."""
        process = self.clients.get(node)
        if process is not None and not process.is_up and not process.stands_by:
            for path in process.settings.values():
                with path.open("a", encoding="utf-8") as file:
                    file.write(f"incarnation={process.incarnation + 1}\nfirst={1_000_000 * process.incarnation}\n")
            process.start()

    def _event(self, event: Mapping[str, Any]) -> None:
        if event.get("event") == "metadata":
            self.view.add(event)

    # -- topics -------------------------------------------------------------------------------------------------------

    def _create_topics(self) -> None:
        placed = placements(self.spec, self.seed)
        internal = {
            topic.name: topic for topic in Cluster.build(self.spec, self.seed).spec.topics if topic.name in INTERNAL
        }
        for topic in {topic.name: topic for topic in self.spec.topics} | internal:
            config = (internal.get(topic) or next(each for each in self.spec.topics if each.name == topic)).config
            texts = config_texts(config)
            rows = placed[topic]
            self.topics[topic] = {"partitions": len(rows), "placement": rows, "config": texts}
            text = ";".join(",".join(map(str, row)) for row in rows)
            self.ask_now(
                "create_topic", topic=topic, placement=text, **{f"set.{name}": value for name, value in texts.items()}
            )
        names = [f"{topic}-{number}" for topic, made in self.topics.items() for number in range(made["partitions"])]
        self._wait(lambda: self._in_sync(names), "not all replicas are in sync")
        if names:
            self._wait(lambda: self._leaders_answer(names), "not all leaders answer")

    def _in_sync(self, names: Iterable[str]) -> bool:
        states = [self.view.partitions.get(name) for name in names]
        return all(
            state is not None and set(state.isr) == set(state.replicas) and state.leader >= 0 for state in states
        )

    def _leaders_answer(self, names: list[str]) -> bool:
        try:
            self.ask_now("ends", partitions=",".join(names))
        except AdminError:
            return False
        return True

    @property
    def settled(self) -> bool:
        """Whether every server is ready, and every replica in sync."""
        return all(server.is_ready for server in self.servers.values()) and self._in_sync(list(self.view.partitions))

    def _wait(self, condition: Callable[[], bool], what: str) -> None:
        try:
            wait_until(condition, PATIENCE_S, what, self._refuse_exits)
        except TimeoutError as error:
            late = next((server for server in self.servers.values() if not server.is_ready), None)
            raise ClusterStartError(f"{error}\n{late.log_tail() if late else ''}") from None

    def _refuse_exits(self) -> None:
        for process in (*self.servers.values(), *self.clients.values()):
            if process.exit_code is not None:
                tail = "\n".join(process.log.read_text(encoding="utf-8", errors="replace").splitlines()[-15:])
                raise ClusterStartError(f"{process.name} has ended with code {process.exit_code}:\n{tail}")

    # -- while it runs ------------------------------------------------------------------------------------------------

    def process(self, node: str) -> HostedProcess:
        """Return the process of a node. Raises KeyError for an unknown one."""
        return self.servers[node] if node in self.servers else self.clients[node]

    @property
    def nodes(self) -> list[str]:
        """All nodes that have links."""
        return [*self.servers, *self.clients]

    @property
    def brokers(self) -> list[int]:
        """Ids of all brokers."""
        return [broker.id for broker in self.spec.brokers]

    def ask(self, verb: str, **parameters: str) -> PendingAnswer:
        """Send an operation to the admin client."""
        return self.clients[SHARED].ask(verb, parameters)

    def ask_now(self, verb: str, **parameters: str) -> Any:
        """Return the result of an operation. Raises :class:`AdminError`."""
        return self.ask(verb, **parameters).wait(60)

    def active_controller(self) -> int:
        """Return the node id of the active controller, -1 if the admin client cannot learn it."""
        if len(self.voters) == 1:
            node = self.voters[0]
            return node if self.servers[node_name(node)].is_up else -1
        try:
            return int(self.ask("quorum").wait(5))
        except AdminError:
            return -1

    # -- end ----------------------------------------------------------------------------------------------------------

    def kill_all(self) -> None:
        """Kill every process at once, so that nothing changes any more."""
        for process in (*self.clients.values(), *self.servers.values()):
            process.pause()
        for process in (*self.clients.values(), *self.servers.values()):
            process.kill()

    def close(self) -> None:
        """Kill what is left, and give up router and namespaces."""
        self.kill_all()
        self.router.stop()
        for namespace in self._namespaces:
            namespace.close()
        self._namespaces.clear()

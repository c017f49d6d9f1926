"""Process control of brokers, controllers and clients: crash, power loss, shutdown, restart and CPU speed.

This is what the operating system, the machine or an operator does to a process. The effect on a broker's logs, a
voter's vote or a client's records is decided in their own modules; nodes learn of each other only by messages, and by
connections that break or do not.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from cluster_model.broker.broker import Broker
from cluster_model.broker.fetch.replica_fetcher import FETCHER
from cluster_model.broker.partition.fetch_sessions import FETCH_WAIT
from cluster_model.client_factory import (
    FIRST_CONSUMER,
    FIRST_PRODUCER,
    LETTERS,
    ClientContext,
    configured_instance,
    make_consumer,
    make_producer,
    own_producer,
)
from cluster_model.clients.consumer.consumer import Consumer
from cluster_model.clients.consumer.offset_commits import CLOSE
from cluster_model.clients.consumer.record_handler import DeadLetterProducer
from cluster_model.clients.metadata import Metadata
from cluster_model.clients.producer.application_producers import Output
from cluster_model.clients.producer.producer import Producer, Unconfirmed
from cluster_model.controller.cluster_parts import ControlPlane
from cluster_model.controller.raft.raft_client import ALARM, LATE, WAIT
from cluster_model.faultpoints import ClientFaults
from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.network import Network
from cluster_model.kernel.node_context import NodeContext
from cluster_model.kernel.process import ProcessState
from cluster_model.log.crash_recovery import WRITTEN_BACK, tear
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.events import CRASH, POWER_LOSS, Event, NodeDown, NodeUp
from cluster_model.protocol.messages import NO_LEADER, Message, PartitionState
from cluster_model.spec.cluster_spec import DUPLICATE_SUFFIX, GroupSpec, ProducerSpec

# Processes of a cluster's clients: crash, restart, and a second instance of a transactional producer.
#
# A process that is killed loses everything that its client had in memory. The next one is a new program: a producer has
# an empty accumulator and gets a producer id, a consumer joins its group without a member id. The application's own
# state continues: its numbering of records, whether it still makes any, and its counters of outcomes.
#
# Records of a killed producer are *unknown* if they were ever sent, unless every attempt was rejected with an error
# that proves that nothing was written. Records that never left the process are in no log: they are *failed*. An
# application that ``resends`` sends both again when it is restarted.


# Duplicate instances of transactional producers: the same application, started again with the same transactional.id.
#
# This happens when a deployment starts the new process before the old one has ended, or when an orchestrator takes a
# slow process for a dead one. The second one calls ``initTransactions``, which aborts the open transaction of the first
# one and bumps the producer epoch, and then produces records of its own. The first one continues, unaware of it until
# one of its requests is rejected: it is the zombie that the epoch fences.


DUPLICATE_NODES: Final = 4_000
"""Offset from the node id of a producer to that of its duplicate instance."""
KILLED: Final = "crash"


class DuplicateProducers:
    """Duplicate instances of all transactional producers of a cluster; at most one for each producer."""

    def __init__(self, context: ClientContext, specs: Mapping[int, ProducerSpec]) -> None:
        """Keep the producers; ``specs``: node id → spec of its producer."""
        self._context = context
        self._specs = specs
        self._producers: dict[int, Producer] = {}
        """Node of the first process → producer of the duplicate instance, also after that has ended."""

    def is_there(self, node: int) -> bool:
        """Whether a producer has a running duplicate instance."""
        process = self._context.network.processes.get(node + DUPLICATE_NODES)
        return process is not None and process.state is not ProcessState.DOWN

    @property
    def absent(self) -> tuple[int, ...]:
        """Nodes of duplicate instances that have ended."""
        return tuple([node + DUPLICATE_NODES for node in self._producers if not self.is_there(node)])

    @property
    def present(self) -> tuple[tuple[ProducerSpec, Producer], ...]:
        """Running duplicate instances, with their specs."""
        return tuple([(self._spec(node), each) for node, each in self._producers.items() if self.is_there(node)])

    def _spec(self, node: int) -> ProducerSpec:
        spec = self._specs[node]
        plan = spec.transactions
        return replace(
            spec, name=spec.name + DUPLICATE_SUFFIX, transactions=None if plan is None else plan._replace(hang=0)
        )

    def start(self, node: int) -> None:
        """Start a duplicate instance of a producer that has none."""
        previous = self._producers.get(node)
        producer = self._create(node)
        network, emit = self._context.network, self._context.emit
        if previous is not None:
            producer.take_over(previous)
            network.restart(node + DUPLICATE_NODES)
        emit(NodeUp(network.kernel.now, self._spec(node).name, NO_LEADER))
        producer.begin(())

    def _create(self, node: int) -> Producer:
        network, spec = self._context.network, self._spec(node)
        producer = self._producers[node] = make_producer(self._context, node + DUPLICATE_NODES, spec)
        if node + DUPLICATE_NODES in network.processes:
            network.processes[node + DUPLICATE_NODES].run(producer)
        else:
            network.add(node + DUPLICATE_NODES, spec.name, producer)
        return producer

    def end(self, node: int) -> None:
        """Kill a producer's duplicate instance."""
        network = self._context.network
        network.wake_exchanges(node + DUPLICATE_NODES)
        network.crash(node + DUPLICATE_NODES)
        self._context.emit(NodeDown(network.kernel.now, self._spec(node).name, NO_LEADER, KILLED))
        self._producers[node].died()

    def stop(self) -> None:
        """Stop making records in all duplicate instances."""
        for _spec, producer in self.present:
            producer.stop()

    def save(self) -> tuple[Any, ...]:
        """Return all state, including the producers'."""
        return tuple([(node, producer.save()) for node, producer in self._producers.items()])

    def prepare(self, saved: tuple[Any, ...]) -> None:
        """Create the same duplicate instances as in a keyframe, before the network's state is loaded."""
        for node in tuple(self._producers):
            del self._producers[node], self._context.network.processes[node + DUPLICATE_NODES]
        for node, _producer in saved:
            self._create(node)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`, after :meth:`prepare`."""
        for node, producer in saved:
            self._producers[node].load(producer)


CLOSE_US: Final = 30_000_000
"""Longest duration of a clean shutdown."""


class ClosingProducer:
    """An application that has closed its producer and exits when the close is complete."""

    def __init__(self, port: NodeContext, producer: Producer) -> None:
        self._port = port
        self._producer = producer

    def exit_if_closed(self) -> None:
        """Exit if the producer is closed by now."""
        if self._producer.closed:
            self._port.exit(CLOSE)

    def receive(self, source: int, message: Message) -> None:
        """Handle a message."""
        self._producer.receive(source, message)
        self.exit_if_closed()

    def on_timer(self, timer: Payload) -> None:
        """Handle a timer."""
        self._producer.on_timer(timer)
        self.exit_if_closed()

    def on_disconnect(self, peer: int) -> None:
        """Handle a broken connection."""
        self._producer.on_disconnect(peer)
        self.exit_if_closed()

    def clock_stepped(self, by: int, *, runs: bool) -> None:
        """Handle a change of the machine's clock; batches that are too old by the new time are expired by a timer."""
        self._producer.clock_stepped(by, runs=runs)


class ClientProcesses:
    """All producers and consumers by name, and the nodes they run on."""

    def __init__(self, context: ClientContext) -> None:
        """Add every client to the network.

        Raises:
            ModelError: a client's topic does not exist, or settings contradict themselves.
        """
        self._context = context
        self.producers: dict[str, Producer] = {}
        self.consumers: dict[str, Consumer] = {}
        self.names: dict[int, str] = {}
        """Node id → name of its client."""
        self._producer_specs: dict[int, ProducerSpec] = {}
        self._members: dict[int, tuple[GroupSpec, int]] = {}
        self._unconfirmed: dict[int, tuple[Unconfirmed, ...]] = {}
        """Node of a producer that is down → records its application will send again."""
        self._leaving: dict[int, None] = {}
        """Nodes that are shutting down cleanly."""
        self._stopped = False
        self.faults = ClientFaults(context, self.names, self.producers, self.consumers)
        """Faults of applications and their connections."""
        self.duplicate_nodes = DuplicateProducers(context, self._producer_specs)
        """Duplicate instances of transactional producers."""
        spec = context.spec
        for node, each in enumerate(spec.producers, FIRST_PRODUCER):
            context.check_topic(each.topic)
            self._producer_specs[node] = each
            self._add(node, each.name, make_producer(context, node, each))
        members = [(group, member) for group in spec.groups for member in range(group.members)]
        for node, (group, member) in enumerate(members, FIRST_CONSUMER):
            for topic in () if group.coordinated and context.parts.profile.group_membership else group.topics:
                context.check_topic(topic)
            self._members[node] = (group, member)
            self._add(node, f"{group.name}/{member}", make_consumer(context, node, group, member))
        for node in self._members:
            self._add_dead_letters(node)

    def _add(self, node: int, name: str, client: Producer | Consumer) -> None:
        self.names[node] = name
        self._context.network.add(node, name, client)
        self._register(name, client)

    def _add_dead_letters(self, node: int) -> None:
        """Add a member's own producer, for dead-letter records or output."""
        own = own_producer(self.consumers[self.names[node]])
        if own is not None:
            self._context.check_topic(own.spec.topic)
            self._context.network.add(node + LETTERS, own.spec.name, own)

    @property
    def dead_letter_producers(self) -> tuple[DeadLetterProducer | Output, ...]:
        """Producers with which members send dead-letter records or their output."""
        own = [own_producer(each) for each in self.consumers.values()]
        return tuple([each for each in own if each is not None])

    def nodes_of_process(self, node: int) -> tuple[int, ...]:
        """Return the node, and that of its application's other client: both share one process."""
        processes = self._context.network.processes
        return (node, node + LETTERS) if node in self._members and node + LETTERS in processes else (node,)

    def _register(self, name: str, client: Producer | Consumer) -> None:
        if isinstance(client, Producer):
            self.producers[name] = client
        else:
            self.consumers[name] = client

    def begin(self, states: tuple[PartitionState, ...]) -> None:
        """Start all clients, with the cluster's initial metadata."""
        for producer in self.producers.values():
            producer.begin(states)
        racks = {broker.id: broker.rack for broker in self._context.spec.brokers if broker.rack}
        for consumer in self.consumers.values():
            consumer.begin(states, racks)
        for producer in self.dead_letter_producers:
            producer.begin(states)

    def stop_producers(self) -> None:
        """Stop all applications from making records, in the current process and in later ones."""
        self._stopped = True
        for producer in self.producers.values():
            producer.stop()
        self.duplicate_nodes.stop()

    def died(self, node: int, *, silent: bool = False) -> None:
        """Handle the end of a process; ``silent``: its machine lost power, so no connection is closed."""
        name, network = self.names[node], self._context.network
        self._leaving.pop(node, None)
        if node in self._producer_specs:
            self._producer_died(node, self.producers[name])
            return
        member = self.consumers[name]
        member.abandon("process ended")
        own = own_producer(member)
        if own is not None:
            (network.power_off if silent else network.crash)(node + LETTERS)
            own.died()
        self.renew(node)

    def _producer_died(self, node: int, previous: Producer) -> None:
        unconfirmed = previous.died()
        if self._producer_specs[node].resends:
            self._unconfirmed[node] = self._unconfirmed.get(node, ()) + unconfirmed
        successor = make_producer(self._context, node, self._producer_specs[node])
        successor.take_over(previous)
        if self._stopped:
            successor.stop()
        self._context.network.processes[node].run(successor)
        self._register(self.names[node], successor)
        self.faults.apply(node)

    def renew(self, node: int) -> None:
        """Prepare the next process of a member that is down, with the current configuration."""
        previous, successor = self._recreate(node, self.faults.instance(node))
        successor.succeed(previous)
        previous_own, next_own = own_producer(previous), own_producer(successor)
        if previous_own is not None and next_own is not None:
            next_own.take_over(previous_own)
        self.faults.apply(node)

    def _recreate(self, node: int, instance: str) -> tuple[Consumer, Consumer]:
        """Recreate a member with that ``group.instance.id``; returns the old and the new consumer."""
        name, processes = self.names[node], self._context.network.processes
        previous = self.consumers[name]
        successor = make_consumer(self._context, node, *self._members[node], instance)
        own = own_producer(successor)
        if own is not None:
            processes[node + LETTERS].run(own)
        processes[node].run(successor)
        self._register(name, successor)
        return previous, successor

    def instance_of(self, node: int) -> str:
        """Return the configured ``group.instance.id`` of a member, empty for none."""
        return configured_instance(*self._members[node]) if node in self._members else ""

    def started(self, node: int) -> None:
        """Start a new process, which knows nothing of the cluster but its brokers' addresses."""
        name = self.names[node]
        if node in self._producer_specs:
            producer = self.producers[name]
            producer.begin(())
            unconfirmed = self._unconfirmed.pop(node, ())
            if unconfirmed:
                producer.send_again(unconfirmed)
        else:
            consumer = self.consumers[name]
            own = own_producer(consumer)
            if own is not None:
                self._context.network.restart(node + LETTERS)
                own.begin(())
            consumer.begin(())

    def shut_down(self, node: int, timeout_us: int) -> None:
        """Shut a process down cleanly: ``Producer.close`` or ``Consumer.close`` runs first."""
        if node in self._leaving:
            return
        self._leaving[node] = None
        name = self.names[node]
        if node in self._producer_specs:
            self.producers[name].close(timeout_us)
            self._leave(node)
        else:
            self.consumers[name].shut_down()

    def _leave(self, node: int) -> None:
        """End a producer's process as soon as its client is closed."""
        process = self._context.network.processes[node]
        leaving = ClosingProducer(NodeContext(self._context.network, node), self.producers[self.names[node]])
        process.run(leaving)
        self.faults.wrap_node(node)
        leaving.exit_if_closed()

    def metadata_of(self, node: int) -> tuple[Metadata, ...]:
        """Return the metadata of each client in a process."""
        name = self.names[node]
        if name in self.producers:
            return (self.producers[name].metadata,)
        consumer = self.consumers[name]
        own = own_producer(consumer)
        return (consumer.metadata,) if own is None else (consumer.metadata, own.metadata)

    def save(self) -> tuple[Any, ...]:
        """Return all state, including the clients'."""
        return (
            tuple([producer.save() for producer in self.producers.values()]),
            tuple([consumer.save() for consumer in self.consumers.values()]),
            tuple(self._unconfirmed.items()), tuple(self._leaving), self.faults.save(), self._stopped,
            tuple([_instance(consumer) for consumer in self.consumers.values()]), self.duplicate_nodes.save(),
        )  # fmt: skip

    def prepare(self, saved: tuple[Any, ...]) -> None:
        """Create the same processes as in a keyframe, before the network's state is loaded."""
        self.duplicate_nodes.prepare(saved[-1])

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`, after :meth:`prepare`."""
        producers, consumers, unconfirmed, leaving, faults, self._stopped, instances, duplicate_nodes = saved
        self.duplicate_nodes.load(duplicate_nodes)
        self.faults.load(faults)
        for node, instance in zip(self._members, instances, strict=True):
            if _instance(self.consumers[self.names[node]]) != instance:
                self._recreate(node, instance)
        for producer, state in zip(self.producers.values(), producers, strict=True):
            producer.load(state)
        for consumer, state in zip(self.consumers.values(), consumers, strict=True):
            consumer.load(state)
        self._unconfirmed = dict(unconfirmed)
        self._leaving = dict.fromkeys(leaving)
        for node in self._producer_specs:
            if node in self._leaving:
                self._leave(node)
            else:
                self._context.network.processes[node].run(self.producers[self.names[node]])
        for node in self._members:
            self.consumers[self.names[node]].leaving = node in self._leaving
        for node in self.names:
            self.faults.apply(node)


def _instance(consumer: Consumer) -> str:
    """Return the ``group.instance.id`` of a member's current process, empty for none."""
    return "" if consumer.coordination is None else consumer.coordination.settings.instance


# Lifecycle of a cluster's processes: crash, power loss, shutdown, restart and CPU speed.


_FREE: Final = (ALARM, LATE, WAIT, FETCH_WAIT, FETCHER)
"""Timers that cost a slow CPU nothing: waits that are over, and checks whether anything is due."""


class ProcessController:
    """Lifecycle of all processes of a cluster; a process with two clients is named by its consumer's node."""

    def __init__(
        self,
        network: Network,
        brokers: Mapping[int, Broker],
        plane: ControlPlane,
        clients: ClientProcesses,
        emit: Callable[[Event], None],
    ) -> None:
        self._network = network
        self._brokers = brokers
        self._plane = plane
        self._clients = clients
        self._emit = emit
        self._leaving: dict[int, None] = {}
        """Nodes that are shutting down cleanly."""
        self._restarting: dict[int, None] = {}
        """Nodes among them that are to be restarted as soon as they have ended."""

    # -- crash and shutdown -------------------------------------------------------------------------------------------

    def crash(self, node: int, detail: str = CRASH, *, torn: bool = False) -> None:
        """Kill a process; ``torn``: a broker dies in the middle of a write.

        The page cache survives, and peers' connections are reset; a torn batch is truncated at the next start.
        """
        self._network.wake_exchanges(node)
        self._stopped(node)
        if torn and node in self._brokers:
            tear([replica.log for replica in self._brokers[node].replicas.values()])
        self._network.crash(node)
        self._on_exit(node, detail)

    def power_loss(self, node: int, keep: int = -1, tail: str = WRITTEN_BACK) -> None:
        """Cut the power of a process's machine: unflushed data is lost, and no connection is closed.

        ``tail`` says how much of a broker's logs survives, one of ``log.crash_recovery.TAILS``; ``keep`` is the number
        of records of each log that survive, unless it is -1. Voters and ZooKeeper servers fsync everything they
        acknowledge.
        """
        self._network.wake_exchanges(node)
        self._stopped(node)
        self._network.power_off(node)
        self._on_exit(node, POWER_LOSS, silent=True)
        if node in self._brokers:
            self._brokers[node].logs.power_lost(keep, tail)

    def _stopped(self, node: int) -> None:
        """Discard a process's memory."""
        if node in self._brokers:
            self._brokers[node].stopped()
        elif node in self._plane.servers:
            self._plane.servers[node][1].stopped()

    def _on_exit(self, node: int, detail: str, *, silent: bool = False) -> None:
        self._leaving.pop(node, None)
        self._restarting.pop(node, None)
        now, name = self._network.kernel.now, self._network.processes[node].name
        self._emit(NodeDown(now, name, self._broker_id(node), detail))
        if node in self._clients.names:
            self._clients.died(node, silent=silent)

    def _broker_id(self, node: int) -> int:
        return node if node in self._brokers else NO_LEADER

    def shutdown(self, node: int, timeout_us: int = CLOSE_US) -> None:
        """Shut a running process down cleanly (SIGTERM); that takes time.

        A broker leaves the cluster as its version does, flushes and exits. A voter that leads the quorum resigns first.
        A client closes its producer or consumer; ``timeout_us`` is how long a producer may take to deliver.

        Raises:
            ModelError: no such process, or it is not running.
        """
        process = self._network.processes.get(node)
        if process is None or process.state is not ProcessState.RUNNING:
            raise ModelError(f"node {node} is not a running process", code="not_running")
        self._network.wake_exchanges(node)
        if node in self._brokers:
            self._leaving[node] = None
            self._brokers[node].shut_down()
        elif node in self._plane.servers:
            self._leaving[node] = None
            self._plane.servers[node][1].shut_down()
        elif node in self._clients.names:
            self._leaving[node] = None
            self._clients.shut_down(node, timeout_us)
        else:
            raise ModelError(f"node {node} cannot be shut down", code="no_shutdown")

    def is_leaving(self, node: int) -> bool:
        """Whether a process is shutting down cleanly and has not ended yet."""
        return node in self._leaving

    def start_again(self, node: int) -> None:
        """Restart a process that is about to end as soon as it has ended."""
        self._restarting[node] = None

    def exited(self, node: int, incarnation: int, reason: str, *, again: bool = False) -> None:
        """Handle a process that has exited in that incarnation; ``again``: restart it at once."""
        if self._network.processes[node].incarnation == incarnation:
            again = again or node in self._restarting
            self.crash(node, reason)
            if again:
                self.restart(node)

    # -- restart ------------------------------------------------------------------------------------------------------

    def restart(self, node: int) -> None:
        """Start a process that is down."""
        network = self._network
        network.restart(node)
        self._emit(NodeUp(network.kernel.now, network.processes[node].name, self._broker_id(node)))
        if node in self._brokers:
            self._brokers[node].started()
        elif node in self._plane.servers:
            self._plane.servers[node][1].started()
        elif node in self._clients.names:
            self._clients.started(node)

    # -- CPU speed ----------------------------------------------------------------------------------------------------

    def slow(self, node: int, fault: int, cost_us: int) -> None:
        """Let every message and timer of a process take ``cost_us`` of its single CPU; several faults add up."""
        self._network.slow_cpu(self._clients.nodes_of_process(node), fault, cost_us, _FREE)

    def quicken(self, node: int, fault: int) -> None:
        """Remove that fault's :meth:`slow`; after the last one waiting work is handled at once, in order."""
        self._network.quicken_cpu(self._clients.nodes_of_process(node), fault)

    def save(self) -> tuple[Any, ...]:
        """Return all state; slow CPUs are saved by the network."""
        return (tuple(self._leaving), tuple(self._restarting))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        leaving, again = saved
        self._leaving, self._restarting = dict.fromkeys(leaving), dict.fromkeys(again)

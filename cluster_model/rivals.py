"""Second processes of transactional producers: the same application, started once more with the same transactional.id.

A deployment that starts the new process before the old one has ended, an orchestrator that takes a slow process for a
dead one: for a while there are two. The second one calls ``initTransactions``, which aborts what the first has open and
gives the id another epoch, and makes records of its own from then on. The first one goes on, and knows nothing of it
until a request of its is refused: it is the zombie that the epoch is there to fence.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from cluster_model.client_factory import Ground, make_producer
from cluster_model.clients.producer.producer import Producer
from cluster_model.kernel.process import ProcessState
from cluster_model.protocol.events import NodeDown, NodeUp
from cluster_model.protocol.messages import NOBODY
from cluster_model.spec.cluster_spec import RIVAL, ProducerSpec

RIVALS: Final = 4_000
"""What the node of a second process is more than the first one's."""
KILLED: Final = "crash"


class Rivals:
    """Of all producers of one cluster; each has one second process at most."""

    def __init__(self, ground: Ground, specs: Mapping[int, ProducerSpec]) -> None:
        """``specs``: node → its producer."""
        self._ground = ground
        self._specs = specs
        self._producers: dict[int, Producer] = {}
        """Node of the first process → what the second one runs, or ran last."""

    def is_there(self, node: int) -> bool:
        """Whether a producer has a second process."""
        process = self._ground.network.processes.get(node + RIVALS)
        return process is not None and process.state is not ProcessState.DOWN

    @property
    def absent(self) -> tuple[int, ...]:
        """Nodes of second processes that have ended."""
        return tuple([node + RIVALS for node in self._producers if not self.is_there(node)])

    @property
    def present(self) -> tuple[tuple[ProducerSpec, Producer], ...]:
        """Those that run, with what they are made from."""
        return tuple([(self._spec(node), each) for node, each in self._producers.items() if self.is_there(node)])

    def _spec(self, node: int) -> ProducerSpec:
        spec = self._specs[node]
        plan = spec.transactions
        return replace(spec, name=spec.name + RIVAL, transactions=None if plan is None else plan._replace(hang=0))

    def start(self, node: int) -> None:
        """Start a second process of a producer that has none."""
        former = self._producers.get(node)
        producer = self._made(node)
        network, emit = self._ground.network, self._ground.emit
        if former is not None:
            producer.succeed(former)
            network.restart(node + RIVALS)
        emit(NodeUp(network.kernel.now, self._spec(node).name, NOBODY))
        producer.begin(())

    def _made(self, node: int) -> Producer:
        network, spec = self._ground.network, self._spec(node)
        producer = self._producers[node] = make_producer(self._ground, node + RIVALS, spec)
        if node + RIVALS in network.processes:
            network.processes[node + RIVALS].run(producer)
        else:
            network.add(node + RIVALS, spec.name, producer)
        return producer

    def end(self, node: int) -> None:
        """Kill it."""
        network = self._ground.network
        network.rouse(node + RIVALS)
        network.crash(node + RIVALS)
        self._ground.emit(NodeDown(network.kernel.now, self._spec(node).name, NOBODY, KILLED))
        self._producers[node].died()

    def stop(self) -> None:
        """No more records are made."""
        for _spec, producer in self.present:
            producer.stop()

    def save(self) -> tuple[Any, ...]:
        """All state, the producers' included."""
        return tuple([(node, producer.save()) for node, producer in self._producers.items()])

    def prepare(self, saved: tuple[Any, ...]) -> None:
        """Have the same second processes as a keyframe, before the network's is loaded."""
        for node in tuple(self._producers):
            del self._producers[node], self._ground.network.processes[node + RIVALS]
        for node, _producer in saved:
            self._made(node)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`, after :meth:`prepare`."""
        for node, producer in saved:
            self._producers[node].load(producer)

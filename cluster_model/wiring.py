"""What happens to a cluster's connections from outside: limits, losses, late answers, breaks.

It stands for network cards, routers, firewalls, proxies and the systems of both ends. A link goes by (source, target);
where a process has more than one client, all of them are meant.
"""

from collections.abc import Callable, Iterable, Mapping

from cluster_model.kernel.network import Network
from cluster_model.kernel.shapes import Measures, Shape
from cluster_model.link_faultpoints import kind_of
from cluster_model.log.batch_store import Lineages
from cluster_model.message_sizes import size_of

Pair = tuple[int, int]


class Wiring:
    """The facade's way to links."""

    __slots__ = ("_network", "_together")

    def __init__(
        self, network: Network, together: Callable[[int], tuple[int, ...]], lineages: Mapping[str, Lineages]
    ) -> None:
        """``together`` are the nodes of a process, given one of them."""
        self._network = network
        self._together = together
        network.troubles.measures = Measures(lambda message: size_of(message, lineages), kind_of)

    def shape(self, source: int, target: int, fault: int, shape: Shape) -> None:
        """Let a fault do this to one direction, until it is lifted; a process has one network card for all clients."""
        if shape.cards:
            shape = shape._replace(sender=source, receiver=target)
        for one, other in self.links(source, target):
            self._network.troubles.shape(one, other, fault, shape)

    def lift(self, fault: int) -> None:
        """Undo of all that a fault did by :meth:`shape`; what waits in a line of its own goes on at once."""
        self._network.troubles.lift(fault)

    def sever(self, pairs: Iterable[Pair]) -> int:
        """Break the connections between these processes; between how many there was one."""
        return sum(self._network.troubles.sever(one, other) for one, other in self._between(pairs))

    def connected(self, pairs: Iterable[Pair]) -> list[Pair]:
        """Those of these pairs between which there is a connection now."""
        stands = self._network.standing
        return [(one, other) for one, other in self._between(pairs) if stands(one, other) or stands(other, one)]

    def _between(self, pairs: Iterable[Pair]) -> list[Pair]:
        """Both directions are one connection."""
        found: dict[Pair, None] = {}
        for source, target in pairs:
            for one, other in self.links(source, target):
                if (other, one) not in found:
                    found[one, other] = None
        return list(found)

    def links(self, source: int, target: int) -> list[Pair]:
        """The links between two processes: an application may have more than one client."""
        return [(one, other) for one in self._together(source) for other in self._together(target)]

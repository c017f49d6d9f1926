"""A cluster of one partition that tests advance step by step, with a method for each kind of step."""

from typing import Any

from cluster_model.manual.cluster import ManualCluster
from cluster_model.manual.verbs import MANUAL_VERBS
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, TopicSpec

P = "orders-0"


class HandSteppedCluster:
    """A manual cluster with one partition, ``orders-0``, on up to three brokers."""

    def __init__(
        self,
        kafka: str,
        *,
        mode: str | None = None,
        placement: tuple[int, ...] = (1, 2, 3),
        config: dict[str, int | str | bool] | None = None,
        brokers: dict[str, int | str | bool] | None = None,
    ) -> None:
        """``config`` is the topic's, ``brokers`` every broker's."""
        topic = TopicSpec("orders", 1, len(placement), (placement,), config or {})
        ids = tuple(BrokerSpec(b) for b in sorted(placement))
        spec = ClusterSpec(kafka, mode, ids, (topic,), config=brokers or {}, manual=True)
        self.cluster = ManualCluster(spec, 1)

    def do(self, verb: str, **params: Any) -> str:
        if "partition" not in params and "partition" in MANUAL_VERBS.get(verb, MANUAL_VERBS["show"]).params:
            params["partition"] = P
        return self.cluster.act(verb, params)

    def notify(self, *brokers: int, epoch: int | str = "latest") -> None:
        for broker in brokers:
            assert self.do("deliver", broker=broker, epoch=epoch) == ""

    def lead(self, leader: int, *, notify: tuple[int, ...], unclean: bool = False) -> None:
        assert self.do("elect", leader=leader, unclean=unclean) == ""
        self.notify(*notify)

    def append(self, broker: int, *names: str, acks: int | str = 1) -> str:
        return self.do("append", broker=broker, acks=acks, names=list(names))

    def fetch(self, *followers: int) -> None:
        for follower in followers:
            assert self.do("fetch", follower=follower) == "", follower

    def ends(self) -> dict[int, str]:
        """Return LEO/HW of each broker; an asterisk marks a broker that acts as leader."""
        return {
            int(broker): f"{state['leo']}/{state['hw']}{'*' if state['role'] == 'leader' else ''}"
            for broker, state in self.cluster.state().items()
            if broker != "controller"
        }

    def names(self, broker: int) -> list[Any]:
        return [name for _epoch, name in self.cluster.query.log(P, broker)]

    def state(self, broker: int) -> dict[str, Any]:
        return self.cluster.state()[str(broker)]

    def close(self) -> "HandSteppedCluster":
        self.cluster.close()
        return self

    def broken(self) -> set[str]:
        """Return the names of the invariants violated so far."""
        return set(self.cluster.checker.invariants.violations)

"""Whom a strike is to hit, and how hard: an action drawn for a live cluster, near a place where something goes on."""

from typing import Final

from cluster_model.cluster import Cluster
from cluster_model.spec.cluster_spec import FIRST_ZOOKEEPER
from faults.catalogue import CATALOGUE
from faults.declarations.action import Action, Value
from faults.declarations.fault import NUMERIC, Fault, Param
from faults.declarations.operation import OPERATIONS
from faults.declarations.targets import selector_of
from faults.declarations.usual import usual
from playbooks.fuzz.protocol_states import own_partitions
from playbooks.fuzz.seeds import Dice

_MOST_COUNT: Final = 5
_STRONG: Final = 4
"""A number may be so many times its default, or so many times less squared."""


class Aimer:
    """Draws actions for one cluster."""

    def __init__(self, cluster: Cluster, dice: Dice) -> None:
        self._cluster = cluster
        self._dice = dice

    def action(self, name: str, where: str, for_us: int) -> Action:
        """A fault or an operation; ``where`` is a partition, group or selector that it is to be near, or empty."""
        partition = self._partition(where)
        if name in OPERATIONS:
            return self._operation(name, partition)
        fault = CATALOGUE[name]
        target = self._target(fault, where, partition)
        params: dict[str, Value] = {}
        for param in fault.params:
            value = self._value(fault, param, target, partition)
            if value is not None and value != param.default:
                params[param.name] = value
        return Action("inject", name, target, params, for_us if fault.lasting else -1)

    def _partition(self, where: str) -> str:
        names = own_partitions(self._cluster)
        if where in self._cluster.world.records:
            return where
        return self._dice.of(names) if names else ""

    def _operation(self, name: str, partition: str) -> Action:
        brokers = tuple(self._cluster.brokers)
        action = usual(name, self._cluster, partition, self._dice.of(brokers))
        params = {key: value for key, value in action.params.items() if key != "unclean"}
        return Action("admin", name, "", params)

    # -- whom ---------------------------------------------------------------------------------------------------------

    def _target(self, fault: Fault, where: str, partition: str) -> str:
        if fault.at_least > 1 or fault.accepts in ("controllers", "plane"):
            return fault.target
        if where.startswith("broker("):
            return where
        if fault.accepts in ("producers", "consumers", "clients"):
            return self._client(fault.accepts)
        return self._broker(fault.accepts, partition)

    def _client(self, kind: str) -> str:
        cluster = self._cluster
        names = {"producers": tuple(cluster.producers), "consumers": tuple(cluster.consumers)}
        every = names.get(kind, (*names["producers"], *names["consumers"]))
        return selector_of(-1, self._dice.of(every))

    def _broker(self, accepts: str, partition: str) -> str:
        """Rather where the partition's fate is decided than anywhere; now and then several at once."""
        dice, cluster = self._dice, self._cluster
        drawn = dice.below(100)
        if not partition or drawn >= 92:
            return self._elsewhere(accepts)
        if drawn < 40:
            return f"leader({partition})"
        record = cluster.world.records[partition]
        followers = [broker for broker in record.assignment if broker != record.leader]
        in_sync = [broker for broker in followers if broker in record.isr]
        if drawn < 65 and in_sync:
            return f"broker({dice.of(in_sync)})"
        if drawn < 78 and followers:
            return f"broker({dice.of(followers)})"
        if drawn < 84 and followers:
            return f"followers({partition})"
        if drawn < 87:
            return f"isr({partition})"
        return f"broker({dice.of(tuple(cluster.brokers))})"

    def _elsewhere(self, accepts: str) -> str:
        """The control plane, a client or a coordinator, where such a fault can be done to it."""
        dice, cluster = self._dice, self._cluster
        choices = ["brokers"] if dice.chance(10) else [f"broker({broker})" for broker in cluster.brokers]
        if accepts in ("processes", "nodes"):
            choices += ["controller", "controller", "controller"]
            choices += [selector_of(node) for node in cluster.plane.servers if node >= FIRST_ZOOKEEPER]
        if accepts in ("processes", "nodes", "hosts"):
            choices += [selector_of(-1, name) for name in (*cluster.producers, *cluster.consumers)]
        choices += [f"coordinator({group.name})" for group in cluster.spec.groups]
        return dice.of(choices)

    # -- how hard -----------------------------------------------------------------------------------------------------

    def _value(self, fault: Fault, param: Param, target: str, partition: str) -> Value | None:
        """A value; None leaves it at its default. Every parameter draws, whatever comes of it."""
        dice = self._dice
        usual_one = dice.chance(50)
        if param.type == "target":
            return self._other_side(fault, param, target, partition, usual_one=usual_one)
        if usual_one:
            return None
        if param.type in NUMERIC:
            return self._number(param)
        if param.type == "bool":
            return dice.chance(50)
        if param.type == "choice":
            return dice.of(param.choices)
        return partition if param.type == "partition" and dice.chance(50) else None

    def _number(self, param: Param) -> int | None:
        default = param.default
        if not isinstance(default, int) or default < 0:
            return None
        if param.type == "int":
            return min(param.high, max(param.low, self._dice.below(_MOST_COUNT)))
        if default == 0:
            return None
        low = max(param.low, default // (_STRONG * _STRONG), 1)
        return self._dice.spread(low, min(param.high, default * _STRONG))

    def _other_side(self, fault: Fault, param: Param, target: str, partition: str, *, usual_one: bool) -> str | None:
        """The other ends of links, or the member whose id is claimed."""
        if fault.accepts == "consumers":
            return self._client("consumers")
        if usual_one or param.name == "bridge":
            return None
        cluster, dice = self._cluster, self._dice
        choices = ["brokers", "controllers", *[f"broker({broker})" for broker in cluster.brokers]]
        if partition:
            choices += [f"leader({partition})", f"followers({partition})"]
        if cluster.producers:
            choices.append("producers")
        if cluster.consumers:
            choices.append("consumers")
        return dice.of([choice for choice in choices if choice != target])

"""Load that is not as usual: more or fewer records, or most of them with one key."""

from typing import Any, Final

from cluster_model.cluster import Cluster
from cluster_model.util.murmur import partition_for_key
from faults.declarations.fault import PERCENT, SECOND, Aim, Expectation, Fault, FaultError, Injury, Param, Stage, table
from faults.declarations.impact import each_of, names, plain
from faults.declarations.spelling import percent
from faults.declarations.targets import TARGETS
from faults.kinds.lifting import Lifted


class Rate(Lifted):
    """Another pace."""

    def apply(self, stage: Stage, injury: Injury) -> None:
        """From now on."""
        for node in injury.nodes:
            stage.cluster.clients.faults.pace(node, injury.id, int(injury.params["rate"]))

    def expect(self, cluster: Cluster, aim: Aim) -> Expectation:
        """What the producers would send, and who reads it."""
        hit = tuple([cluster.clients.names[node] for node in aim.nodes])
        topics = [each.topic for each in cluster.spec.producers if each.name in hit]
        readers = [
            name
            for name, consumer in cluster.consumers.items()
            if any(partition.rpartition("-")[0] in topics for partition in consumer.assignment)
        ]
        rate = int(aim.params["rate"])
        who = each_of(cluster, aim.nodes)
        if not rate:
            return plain(f"{who} makes no records", (*hit, *readers))
        loops = any(each.loop is not None for each in cluster.spec.producers if each.name in hit)
        what = "records, or of those in flight in a closed loop," if loops else "records"
        sentence = f"{who} makes {percent(rate)} of its usual {what} for {len(readers)} readers"
        return plain(sentence, (*hit, *readers))


class HotKey(Lifted):
    """One key that most records have."""

    def aim(self, stage: Stage, aim: Aim) -> Aim:
        """Draw the key, if none is given: one for all targets, from the stream that targets are drawn from."""
        if not aim.nodes or aim.params["key"] >= 0:
            return aim
        fewest = min(_keys(stage.cluster, node) for node in aim.nodes)
        if not fewest:
            return aim
        params: dict[str, Any] = dict(aim.params)
        params["key"] = stage.cluster.stream(TARGETS).below(fewest)
        return Aim(aim.nodes, params, aim.links)

    def check(self, stage: Stage, aim: Aim) -> None:
        """There must be keys, and they must decide where records go."""
        for node in aim.nodes:
            name, keys = stage.cluster.name_of(node), _keys(stage.cluster, node)
            if not keys:
                raise FaultError(f"the records of {name} have no keys")
            if not stage.cluster.producers[name].keyed:
                raise FaultError(f"the records of {name} do not go by their keys: its partitioner decides otherwise")
            if aim.params["key"] >= keys:
                raise FaultError(f"{name} has key-0 to key-{keys - 1}, found key {aim.params['key']}")

    def apply(self, stage: Stage, injury: Injury) -> None:
        """From the next record on."""
        for node in injury.nodes:
            stage.cluster.clients.faults.heat(
                node, injury.id, int(injury.params["key"]), int(injury.params["share"])
            )  # fmt: skip

    def expect(self, cluster: Cluster, aim: Aim) -> Expectation:
        """Where they would go."""
        hit = tuple([cluster.clients.names[node] for node in aim.nodes])
        key, share = int(aim.params["key"]), percent(int(aim.params["share"]))
        topics = dict.fromkeys(each.topic for each in cluster.spec.producers if each.name in hit)
        if not all(_keys(cluster, node) for node in aim.nodes):
            return plain(f"nothing: the records of {names(cluster, aim.nodes)} have no keys")
        if key < 0:
            return plain(f"{share} of the records go to one partition of {', '.join(topics)}", hit)
        homes = []
        for topic in topics:
            total = sum(name.rpartition("-")[0] == topic for name in cluster.world.records)
            if total:
                homes.append(f"{topic}-{partition_for_key(b'key-%d' % key, total)}")
        return plain(f"{share} of the records have key-{key} and go to {', '.join(homes)}", hit)


def _keys(cluster: Cluster, node: int) -> int:
    """How many keys a producer's records have."""
    name = cluster.name_of(node)
    return next(each.keys for each in cluster.spec.producers if each.name == name)


def _rate(default: int) -> Param:
    return Param("rate", "percent", "Of the usual; 0% stops.", default=default * PERCENT, high=100_000 * PERCENT)


FAULTS: Final = table(
    Fault(
        name="rate_change",
        letter="v",
        title="rate change",
        family="clients",
        summary="The application makes more or fewer records than usual; in a closed loop, so many times more or "
        "fewer are in flight.",
        params=(_rate(300),),
        accepts="producers",
        lasting=True,
        heals="records are made at the usual rate",
        glyph="%",
        colour="warning",
        cause="more users, a batch job, a feature that is switched on, an upstream that has stopped",
        may_break="consumers that keep up only with the usual load; buffer.memory and the latency of acks=all",
        usual_for_us=60 * SECOND,
        behaviour=Rate(),
    ),
    Fault(
        name="traffic_spike",
        letter="T",
        title="traffic spike",
        family="clients",
        summary="For a while the application makes many times its usual records: a rate change that is short and "
        "sharp.",
        params=(_rate(1_000),),
        accepts="producers",
        lasting=True,
        heals="records are made at the usual rate; what has piled up is worked off",
        glyph="^",
        colour="alarm",
        cause="a sale, a retry storm upstream, a backlog that is let go at once",
        may_break="lag of groups with little to spare; retention by size; quotas and buffers",
        usual_for_us=15 * SECOND,
        behaviour=Rate(),
    ),
    Fault(
        name="hot_key",
        letter="1",
        title="hot key",
        family="clients",
        summary="Most of the new records have one and the same key, so most go to one partition (murmur2 of the key).",
        params=(
            Param("share", "percent", "Of the records.", default=80 * PERCENT, low=1, high=100 * PERCENT),
            Param("key", "int", "N of key-N; -1: drawn by the session's seed.", default=-1, low=-1, high=1 << 31),
        ),
        accepts="producers",
        lasting=True,
        heals="keys come as often as ever",
        glyph="*",
        colour="warning",
        cause="one customer, device or product that everything is about; a default value used as a key",
        may_break="one partition's lag, whose only reader cannot keep up, while averages look fine; more consumers or "
        "partitions do not help",
        usual_for_us=60 * SECOND,
        behaviour=HotKey(),
    ),
)
"""Faults by name."""

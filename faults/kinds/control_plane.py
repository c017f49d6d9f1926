"""Wall clocks that are off, and jump when the fault comes and goes."""

from typing import Final

from cluster_model.broker.partition.partition import Replica
from cluster_model.cluster import Cluster
from faults.declarations.fault import (
    HOUR,
    SECOND,
    Aim,
    Alias,
    Behaviour,
    Expectation,
    Fault,
    FaultError,
    Injury,
    Param,
    Stage,
    table,
)
from faults.declarations.impact import hit, names

AHEAD: Final = "ahead"
BEHIND: Final = "behind"
_DAY: Final = 24 * HOUR
_MILLION: Final = 1_000_000


def _off_by(injury: Injury, now: int) -> int:
    """µs, negative behind: what it was set by, and what it has drifted since."""
    params = injury.params
    off = int(params["by"]) + (now - injury.since_us) * int(params["drift"]) // _MILLION
    return off if params["direction"] == AHEAD else -off


class ClockSkew(Behaviour):
    """The machine's clock is set; a drift is steps of a second."""

    def check(self, stage: Stage, aim: Aim) -> None:
        """A clock that is neither off nor drifts is right."""
        del stage
        if not aim.params["by"] and not aim.params["drift"]:
            raise FaultError("clock_skew needs by or drift, found neither")

    def apply(self, stage: Stage, injury: Injury) -> None:
        """Set each machine's clock."""
        self._set(stage, injury, _off_by(injury, stage.cluster.now_us))

    def woken(self, stage: Stage, injury: Injury) -> None:
        """It has drifted for another second."""
        self._set(stage, injury, _off_by(injury, stage.cluster.now_us))

    def heal(self, stage: Stage, injury: Injury) -> None:
        """Set it right."""
        self._step(stage.cluster, injury, 0)

    def _set(self, stage: Stage, injury: Injury, off_us: int) -> None:
        self._step(stage.cluster, injury, off_us)
        if injury.params["drift"]:
            stage.wake(injury, SECOND)

    def _step(self, cluster: Cluster, injury: Injury, off_us: int) -> None:
        for node in injury.nodes:
            for each in cluster.clients.together(node):
                cluster.network.skew(each, injury.id, off_us)

    def expect(self, cluster: Cluster, aim: Aim) -> Expectation:
        """What its retention deletes, and whose records are refused."""
        ahead = int(aim.params["by"]) * (1 if aim.params["direction"] == AHEAD else -1)
        brokers = [node for node in aim.nodes if node in cluster.brokers]
        doomed = [
            replica.partition
            for node in brokers
            for replica in cluster.brokers[node].replicas.values()
            if _deletes(replica, cluster.now_us, ahead)
        ]
        refused = _refused(cluster, aim.nodes, ahead)
        found = []
        if doomed:
            known = dict.fromkeys(doomed)
            what = doomed[0] if len(known) == 1 else f"{len(known)} partitions"
            found.append(f"its next look at retention.ms deletes segments of {what}")
        if refused:
            found.append(f"records of {', '.join(refused)} are refused with INVALID_TIMESTAMP")
        way = AHEAD if ahead >= 0 else BEHIND
        told = "; ".join(found) or "timestamps, and ages that go by them, are off by it"
        return Expectation(
            f"{names(cluster, aim.nodes)}: clock {abs(ahead) // 1_000} ms {way}; {told}",
            clients=tuple(dict.fromkeys((*refused, *hit(cluster, aim.nodes, doomed)))),
        )


def _deletes(replica: Replica, now: int, ahead: int) -> bool:
    """Whether the oldest segment would be too old by such a clock, and is not by the one that is."""
    log = replica.log
    rules = log.rules
    oldest = log.segments.all[0]
    if not rules.delete or not rules.by_timestamp or rules.retention_us < 0 or not oldest.size:
        return False
    age = replica.wall_time(now) - oldest.newest_us
    return age <= rules.retention_us < age + ahead


def _refused(cluster: Cluster, nodes: tuple[int, ...], ahead: int) -> tuple[str, ...]:
    """Producers whose timestamps a leader would not take: theirs or the leader's clock is among those that are set."""
    found: dict[str, None] = {}
    clocks = cluster.network.clocks
    by_node = {name: node for node, name in cluster.clients.names.items()}
    for spec in cluster.spec.producers:
        producer = by_node[spec.name]
        for partition, record in cluster.world.records.items():
            if partition.rpartition("-")[0] != spec.topic or record.leader not in cluster.brokers:
                continue
            rules = cluster.brokers[record.leader].replicas[partition].log.rules
            apart = clocks.of(producer).ahead_us - clocks.of(record.leader).ahead_us
            apart += ahead * ((producer in nodes) - (record.leader in nodes))
            if not rules.log_append_time and not -rules.oldest_us <= apart <= rules.newest_us:
                found[spec.name] = None
    return tuple(found)


FAULTS: Final = table(
    Fault(
        name="clock_skew",
        letter="K",
        title="clock skew",
        family="control plane",
        summary="The machine's wall clock jumps ahead or back, and back again when healed: timestamps of records, "
        "retention, compaction lags, look-ups by time and the timeouts that Kafka reckons by Time.milliseconds go by "
        "it; timers and whatever goes by a monotonic clock do not.",
        params=(
            Param("by", "duration", "How far it jumps.", default=2 * HOUR, high=3_650 * _DAY),
            Param("direction", "choice", "Which way it is off.", default=AHEAD, choices=(AHEAD, BEHIND)),
            Param(
                "drift",
                "percent",
                "How much faster, or slower if it is behind, it goes from then on.",
                default=0,
                high=_MILLION // 2,
            ),
        ),
        accepts="hosts",
        lasting=True,
        heals="the clock jumps back to the right time; what was deleted or refused by the wrong one stays so",
        glyph="◴",
        colour="warning",
        cause="no NTP, a virtual machine that was suspended or moved, a wrong time zone in the hardware clock",
        may_break="retention, which deletes segments before their time or never; producers that are refused with "
        "INVALID_TIMESTAMP; the ISR, transactions and members that are timed out by a jump",
        aliases=(
            Alias("clock_jump"),
            Alias("bump_time"),
        ),
        behaviour=ClockSkew(),
        example="leader(orders-0)",
    ),
)
"""Faults by name."""

"""The read at the end of a session: what a fresh client would be served that reads every partition from its beginning.

Without it nobody could tell what is lost behind the last record that anybody read. It is an ok poll of a new process:
of the leader's log from its start to its high watermark, without markers, aborted data and batches that are damaged.
Behind the last stable offset somebody has to read uncommitted data. A partition without a leader serves nobody.
"""

from collections.abc import Iterator
from typing import NamedTuple

from cluster_model.broker.partition.partition import Replica
from cluster_model.checker.anomalies.history_checker import Anomalies
from cluster_model.checker.anomalies.operations import Read
from cluster_model.observation.cluster_state import World
from cluster_model.protocol.batch import ABORT, TRANSACTIONAL
from cluster_model.util.ranges import subtract


class Served(NamedTuple):
    """A part of what the last read is served; of a partition of which there is nothing one without a stint."""

    partition: str
    caught_up: bool
    """Whether the read comes to the end of the leader's log."""
    log_start: int
    stint: int = -1
    log_offset: int = -1
    end_offset: int = -1


def served_by(world: World, key: str) -> list[Served]:
    """All parts of a partition, ascending; those that touch are one."""
    leader = world.true_leader(key)
    if leader is None or not world.is_up(leader.broker):
        return [Served(key, caught_up=False, log_start=0)]
    caught_up, start = leader.hw == leader.log.leo, leader.log.log_start
    parts: list[Served] = []
    for _key, stint, low, high in served(leader):
        touches = parts and (parts[-1].stint, parts[-1].end_offset) == (stint, low)
        first = parts.pop().log_offset if touches else low
        parts.append(Served(key, caught_up, start, stint, first, high))
    return parts or [Served(key, caught_up, start)]


def read_all(world: World, anomalies: Anomalies, now: int) -> None:
    """Read every partition that clients have named."""
    for key in tuple(anomalies.facts.keys):
        facts = anomalies.facts.key(key)
        leader = world.true_leader(key) if key in world.records else None
        facts.led = leader is not None and world.is_up(leader.broker)
        facts.caught_up = facts.led and leader is not None and leader.hw == leader.log.leo
        if leader is None or not world.is_up(leader.broker):
            continue
        facts.start = leader.log.log_start
        for read in served(leader):
            facts.observe(*read[1:])
            facts.returned(*read[1:])


def served(leader: Replica) -> Iterator[Read]:
    """What a leader serves, a part per stint and hole."""
    log, key = leader.log, leader.partition
    transactional = log.lineages.any_transactional(log.extents)
    damaged = [(each.start, each.end) for each in leader.damages]
    if not transactional:
        for index, (first, stint) in enumerate(log.extents):
            end = log.extents[index + 1][0] if index + 1 < len(log.extents) else log.leo
            low, high = max(first, log.log_start), min(end, leader.hw)
            if low < high:
                yield from (Read(key, stint, *part) for part in subtract([(low, high)], damaged))
        return
    for lineage, batch, start, end in log.batches_between(log.log_start, leader.hw):
        if batch.kind >= ABORT or (batch.kind == TRANSACTIONAL and log.transactions.is_aborted(batch)):
            continue
        yield from (Read(key, lineage.id, *part) for part in subtract([(start, end)], damaged))

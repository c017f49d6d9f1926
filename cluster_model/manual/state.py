"""What each broker holds and believes of a partition, as steps by hand assert and print it."""

from typing import Any

from cluster_model.broker.partition.partition import Replica
from cluster_model.inspection.condition_functions import Query
from cluster_model.manual.consume import HandConsumer
from cluster_model.manual.context import Ground


def state_of(ground: Ground, query: Query, consumer: HandConsumer, partition: str) -> dict[str, dict[str, Any]]:
    """Broker id as text, ``controller``, and ``consumer`` once it has done anything → field → value."""
    found = {
        str(broker): {"up": ground.up[broker], **_replica(replica), "log": query.log(partition, broker)}
        for broker, replica in ground.parts.replicas[partition].items()
    }
    record = ground.parts.committed.records[partition]
    found["controller"] = {
        "leader": record.leader,
        "epoch": record.leader_epoch,
        "partition_epoch": record.partition_epoch,
        "isr": sorted(record.isr),
        "elr": sorted(record.state.elr),
        "recovering": record.state.recovering,
        "live": sorted(ground.live),
    }
    reader = consumer.state(partition)
    return found if reader is None else {**found, "consumer": reader}


def _replica(replica: Replica) -> dict[str, Any]:
    leadership, log = replica.leadership, replica.log
    pending = None if leadership is None else leadership.pending
    remotes = {} if leadership is None else leadership.remotes
    return {
        "role": "leader" if leadership is not None else "none" if replica.following is None else "follower",
        "leader": replica.leader,
        "epoch": replica.leader_epoch,
        "leo": log.leo,
        "hw": replica.hw,
        "log_start": log.log_start,
        "epochs": [list(entry) for entry in log.epochs.entries],
        "isr": [] if leadership is None else sorted(leadership.isr),
        "pending": [] if pending is None else sorted(pending),
        "followers": {str(broker): remote.leo for broker, remote in remotes.items()},
        "fetcher": _fetcher(replica),
        "segments": [segment.base for segment in log.segments.all],
        "flushed": log.recovery_point,
        "checkpointed": replica.checkpointed_hw,
    }


def _fetcher(replica: Replica) -> str:
    following = replica.following
    if following is None:
        return "none"
    return "failed" if following.failed else "truncating" if following.truncating else "running"

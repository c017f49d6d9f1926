"""Who leads instead, in a refusal of Produce or Fetch, and where that broker listens (KIP-951).

Only versions that have room for the addresses tell: ``KafkaApis.handleProduceRequest`` from 10 on,
``handleFetchRequest`` from 16 on, though the leader's field is in Fetch since 12. A client that heard of a leader
without its address would have to look it up among brokers of which it may be the one that is missing.
"""

from collections.abc import Iterable
from typing import Any, Final

from gateway.protocol import api_versions
from gateway.protocol.context import Call

_SINCE: Final = {api_versions.PRODUCE: 10, api_versions.FETCH: 16}

Hint = tuple[int, int] | None
"""(leader, its epoch), as the model's broker says."""


def told(call: Call, hint: Hint) -> dict[str, Any]:
    """The field of a partition, if this version has it."""
    if hint is None or call.version < _SINCE[call.api]:
        return {}
    return {"current_leader": {"leader_id": hint[0], "leader_epoch": hint[1]}}


def endpoints(call: Call, hints: Iterable[Hint]) -> list[dict[str, Any]]:
    """Where those leaders listen that the broker knows to be alive, each once."""
    if call.version < _SINCE[call.api]:
        return []
    live = call.house.cluster.brokers[call.broker].metadata.live
    racks = call.house.racks()
    found = []
    for leader in dict.fromkeys(hint[0] for hint in hints if hint is not None):
        if leader in live:
            host, port = call.house.addresses[leader]
            found.append({"node_id": leader, "host": host, "port": port, "rack": racks[leader]})
    return found

"""What a broker that is not the leader says about who is: so that a client need not ask for metadata (KIP-951)."""

from collections.abc import Mapping
from typing import Final

from cluster_model.broker.partition.partition import Replica
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import NOBODY, FetchData, PartitionState, ProduceResponse
from cluster_model.protocol.versions import Profile

Hint = tuple[int, int]
"""(leader, its epoch)."""
_FETCH: Final = (KafkaError.NOT_LEADER_OR_FOLLOWER, KafkaError.FENCED_LEADER_EPOCH)


class LeaderHints:
    """One broker's word: its replica's, else its metadata cache's (``KafkaApis.getCurrentLeader``)."""

    __slots__ = ("_replicas", "_states", "given")

    def __init__(self, profile: Profile, replicas: Mapping[str, Replica], states: Mapping[str, PartitionState]) -> None:
        self.given = profile.leader_hints
        self._replicas = replicas
        self._states = states

    def _of(self, partition: str) -> Hint | None:
        replica = self._replicas.get(partition)
        known = self._states.get(partition) if replica is None or replica.leader_epoch < 0 else replica
        return None if known is None or known.leader == NOBODY else (known.leader, known.leader_epoch)

    def refusal(self, correlation: int, partition: str, error: KafkaError) -> ProduceResponse:
        """The answer to a produce request that failed."""
        told = self._of(partition) if self.given and error is KafkaError.NOT_LEADER_OR_FOLLOWER else None
        return ProduceResponse(correlation, partition, error, -1, -1, -1, -1, told)

    def on_fetch(self, found: list[FetchData]) -> list[FetchData]:
        """A consumer's answers, with what goes with their errors."""
        if not self.given or not any(data.error for data in found):
            return found
        return [data._replace(current=self._of(data.partition)) if data.error in _FETCH else data for data in found]

"""Which partitions were moved from whom to whom in one balancing (``AbstractStickyAssignor.PartitionMovements``)."""

from cluster_model.assignors.base import TopicPartition

Way = tuple[str, str]
"""From one member to another."""


class Movements:
    """Undoing an earlier move of the same topic is better than a second one the other way round."""

    __slots__ = ("_by_topic", "_ways")

    def __init__(self) -> None:
        self._ways: dict[TopicPartition, Way] = {}
        """Partition → from its first owner to its present one."""
        self._by_topic: dict[str, dict[Way, dict[TopicPartition, None]]] = {}

    def moved(self, partition: TopicPartition, source: str, target: str) -> None:
        """A partition went from one member to another."""
        way = self._ways.pop(partition, None)
        if way is not None:
            del self._by_topic[partition.topic][way][partition]
            source = way[0]
        if source != target:
            self._ways[partition] = (source, target)
            self._by_topic.setdefault(partition.topic, {}).setdefault((source, target), {})[partition] = None

    def better(self, partition: TopicPartition, source: str, target: str) -> TopicPartition:
        """What to move instead: the lowest of the topic that went the other way, else the partition itself."""
        way = self._ways.get(partition)
        if way is not None:
            source = way[0]
        undone = self._by_topic.get(partition.topic, {}).get((target, source), {})
        return min(undone, default=partition)

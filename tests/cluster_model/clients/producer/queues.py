"""A producer's queues, just enough of them to drive a partitioner as an accumulator does."""

from cluster_model.clients.producer.partitioners import Queue, RecordPlacement, Topic


class Waiting:
    """Batches that wait, each a count of bytes and whether it is closed; per partition, oldest first."""

    def __init__(self, total: int, batch_bytes: int, available: tuple[int, ...] | None = None) -> None:
        self.batch_bytes = batch_bytes
        self.queues: dict[int, list[list[int]]] = {}
        self.available = tuple(range(total)) if available is None else available
        self.total = total
        self.checked: list[Queue] = []
        """As of the last look before sending."""

    @property
    def topic(self) -> Topic:
        return Topic(self.available, self.total, self.full, lambda: self.checked)

    def full(self, partition: int) -> bool:
        queue = self.queues.get(partition)
        return not queue or bool(queue[-1][1]) or queue[-1][0] >= self.batch_bytes

    def fits(self, partition: int, size: int) -> bool:
        """A try: it closes a batch that has no room."""
        queue = self.queues.get(partition)
        if not queue:
            return False
        if queue[-1][1] or queue[-1][0] + size > self.batch_bytes:
            queue[-1][1] = 1
            return False
        return True

    def put(self, partition: int, size: int) -> None:
        if self.fits(partition, size):
            self.queues[partition][-1][0] += size
        else:
            self.queues.setdefault(partition, []).append([size, 0])

    def send_all(self) -> None:
        for queue in self.queues.values():
            queue.clear()
        self.check()

    def check(self) -> None:
        self.checked = [
            Queue(partition, len(queue), partition in self.available)
            for partition, queue in sorted(self.queues.items())
        ]


def send(
    placement: RecordPlacement, waiting: Waiting, size: int, key: bytes | None = None, own: int | None = None
) -> int:
    """One record, all the way into a batch; where it went."""
    topic = waiting.topic
    partition = placement.select(own, key, topic, lambda tried: waiting.fits(tried, size))
    waiting.put(partition, size)
    placement.appended(own, key, partition, size, topic)
    return partition

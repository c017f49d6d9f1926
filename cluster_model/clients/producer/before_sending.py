"""What comes before a record has a partition: interceptors, whose errors nobody hears of, and the serializer.

Interceptors (KIP-42) run one after the other, each on what the one before it made of the record. What one throws is
logged and ignored, and the next gets the record as it was before. What a serializer throws goes to the caller of
``send``, and the record is not sent (``KafkaProducer.doSend``).
"""

from collections.abc import Callable
from typing import Final

from cluster_model.clients.sizes import every
from cluster_model.protocol.events import Event, InterceptorFailed
from cluster_model.spec.cluster_spec import Interceptor

UNSERIALIZED: Final = "SerializationException"
"""The error of a record that the serializer refuses; it is thrown, and Kafka gives it no code."""


class Chain:
    """A producer's interceptors. Of every so many records of a partition the last is the one that one throws at."""

    __slots__ = ("_client", "_emit", "_failing", "interceptors", "most")

    def __init__(self, client: str, interceptors: tuple[Interceptor, ...], emit: Callable[[Event], None]) -> None:
        self._client = client
        self._emit = emit
        self.interceptors = interceptors
        self._failing = tuple(each for each in interceptors if each.fails)
        self.most = sum(each.adds for each in interceptors)
        """Bytes that a record gets at most."""

    def passed(self, now: int, partition: str, number: int, count: int) -> None:
        """Records have gone through: what was thrown is in the log of the application."""
        for each in self._failing:
            failed = every(each.fails, number, count)
            if failed:
                first = number + (each.fails - 1 - number) % each.fails
                self._emit(InterceptorFailed(now, self._client, each.name, partition, first, failed))

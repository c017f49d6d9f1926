"""Hashes of keys and the partitions that each partitioner chooses, with the same random numbers in Kafka and the model.

A case is a partitioner, a number of partitions, and steps. A step of the built-in partitioner is a record with its
bytes, the partitions with a leader, whether the queued batch is full before and after it, and new queue sizes or None.
A step of any other is a record with its key, the partitions with a leader, and whether it needs a new batch.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, Final

from cluster_model.clients.producer.partitioners import (
    CLASSES,
    BuiltInPartitioner,
    PartitionerConfig,
    Queue,
    RecordPlacement,
    Topic,
    partitioner_of,
)
from cluster_model.kernel.rng import RandomStream
from cluster_model.protocol.versions import ClientProfile
from cluster_model.util.deterministic_math import murmur2
from tests.real_kafka.vectors.subject import Answers, Exemption, Subject

BUILT_IN: Final = "built in"
NAMES: Final = {
    "default": "DefaultPartitioner", "round robin": "RoundRobinPartitioner",
    "uniform sticky": "UniformStickyPartitioner",
}  # fmt: skip
_CASES: Final = 24
_STEPS: Final = 24
_KEYS: Final = 300

Case = dict[str, Any]


class RecordedNumbers(RandomStream):
    """The random numbers that Java's generator returned, from the first on, as Kafka uses them."""

    __slots__ = ("_numbers",)

    def __init__(self, numbers: Sequence[int]) -> None:
        super().__init__(0, "recorded")
        self._numbers = iter(numbers)

    def below(self, bound: int) -> int:
        number = next(self._numbers)
        return number + (1 << 31) if bound == 1 << 32 else (number & 0x7FFFFFFF) % bound


def questions(_release: str) -> dict[str, Any]:
    """Return the keys and the cases, the same for every release."""
    return {"keys": [key.hex() for key in _keys()], "cases": _cases()}


@cache
def _keys() -> tuple[bytes, ...]:
    stream = RandomStream(1, "keys")
    drawn = [bytes(stream.below(256) for _ in range(stream.below(24))) for _ in range(_KEYS)]
    words = [text.encode() for text in ("", "a", "order-1", "user-42", "äöü", "foobar")]
    return tuple(dict.fromkeys((*words, *drawn)))


@cache
def _cases() -> dict[str, Case]:
    found: dict[str, Case] = {}
    for name in (*NAMES, BUILT_IN):
        stream = RandomStream(1, name)
        for number in range(_CASES):
            total = (1, 2, 3, 6, 7, 12)[number % 6]
            case: Case = {"partitioner": name, "total": total}
            if name == BUILT_IN:
                case["batch bytes"] = (100, 1_000)[stream.below(2)]
                case["steps"] = [_built_in_step(stream, total) for _ in range(_STEPS)]
            else:
                case["steps"] = [_step(stream, total, keyed=number % 3 == 2) for _ in range(_STEPS)]
            found[f"{name}/{total} partitions/{number}"] = case
    return found


def _led(stream: RandomStream, total: int) -> list[int]:
    """Return the partitions with a leader: mostly all, sometimes some or none."""
    kind = stream.below(6)
    return list(range(total)) if kind > 1 else [number for number in range(total) if kind and stream.below(2)]


def _step(stream: RandomStream, total: int, *, keyed: bool) -> list[Any]:
    key = _keys()[stream.below(len(_keys()))].hex() if keyed and stream.below(2) else None
    return [key, _led(stream, total), stream.below(3) == 0]


def _built_in_step(stream: RandomStream, total: int) -> list[Any]:
    queues = None
    if stream.below(4) == 0:
        queues = [[number, stream.below(5)] for number in range(total) if stream.below(6)]
    return [20 + stream.below(400), _led(stream, total), stream.below(3) == 0, stream.below(3) == 0, queues]


def model_answers(release: str, kafka: Answers) -> Answers:
    """Return all hashes, and the choices of the partitioners that the release has."""
    client = ClientProfile.of(release)
    numbers: list[int] = kafka["random numbers"]
    found: dict[str, Any] = {f"murmur2/{key.hex()}": (murmur2(key) ^ 1 << 31) - (1 << 31) for key in _keys()}
    for item, case in _cases().items():
        name: str = case["partitioner"]
        if name == BUILT_IN:
            if client.built_in_partitioner:
                found[item] = list(_built_in(case, RecordedNumbers(numbers)))
        elif CLASSES[NAMES[name]](client):
            found[item] = list(_chosen(client, case, RecordedNumbers(numbers)))
    return found


def _always(answer: bool) -> Callable[[int], bool]:
    return lambda _partition: answer


def _chosen(client: ClientProfile, case: Case, stream: RandomStream) -> Iterator[int]:
    placement = RecordPlacement(partitioner_of(client, PartitionerConfig(NAMES[case["partitioner"]]), stream))
    for key, led, full in case["steps"]:
        topic = Topic(tuple(led), case["total"], _always(True), tuple)
        yield placement.select(None, None if key is None else bytes.fromhex(key), topic, _always(not full))


def _built_in(case: Case, stream: RandomStream) -> Iterator[int]:
    total: int = case["total"]
    partitioner = BuiltInPartitioner(stream, case["batch bytes"])
    queues: list[Queue] = []
    for size, led, full_before, full_after, eligible in case["steps"]:
        if eligible is not None:
            waiting = dict(eligible)
            queues[:] = [Queue(number, waiting.get(number, 0), number in waiting) for number in range(total)]
        topic = Topic(tuple(led), total, _always(full_before), lambda: queues)
        partition = partitioner.partition(None, topic)
        yield partition
        partitioner.on_append(None, partition, size, topic._replace(full=_always(full_after)))


_ONE_TURN: Final = "RoundRobinPartitioner takes one turn a record (KAFKA-17632)"

PARTITIONER_CHOICES: Final = Subject(
    "partitioner_choices",
    "PartitionerChoices",
    "murmur2, and the choices of every partitioner with recorded random numbers",
    model_answers,
    questions=questions,
    fixed=(
        Exemption("round robin/[!1]*", _ONE_TURN, "3.9.2", "3.9.2"),
        Exemption("round robin/12*", _ONE_TURN, "3.9.2", "3.9.2"),
    ),
)

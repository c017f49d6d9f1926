"""Sequences of batches and markers for the producer state of a leader (``ProducerStateManager``).

A case is a list of calls; its answer has one word for each: the outcome, with the base offset of what was appended or
of the duplicate, and the last stable offset after it.

- ``plain`` and ``transactional`` are batches of a client: producer id, epoch, first sequence number, records.
- ``commit`` and ``abort`` are markers: producer id, epoch, coordinator epoch. Those of ``commit2`` and ``abort2`` say
  that the transaction has version 2 (KIP-1228), which leaders know since 4.2.
- ``replicated`` raises the high watermark to the end of the log.
- ``clock`` sets the time in minutes; producers expire after a day, checked every ten minutes.
"""

import random
from typing import Final

from cluster_model.broker.partition.producer_state_manager import admit, producer_state
from cluster_model.log.transaction_index import TransactionIndex
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import ALL, ProduceRequest
from cluster_model.protocol.records import ABORT, COMMIT, PLAIN, TRANSACTIONAL, Batch
from cluster_model.protocol.releases import parse_version
from cluster_model.protocol.versions import Profile
from tests.real_kafka.kafka_jars import SERVER
from tests.real_kafka.vectors.servers.case_text import case_text, parse_fields
from tests.real_kafka.vectors.subject import Answers, Exemption, Subject, releases_since

_SEQUENCES: Final = 240
_VERSION_2_SEQUENCES: Final = 80
_VERSION_2_SINCE: Final = (4, 2, 0)
_CALLS: Final = 14
_DAY_MINUTES: Final = 1440
_MINUTE_US: Final = 60_000_000
_KINDS: Final = {
    "plain": PLAIN, "transactional": TRANSACTIONAL, "commit": COMMIT, "abort": ABORT, "commit2": COMMIT,
    "abort2": ABORT,
}  # fmt: skip
_LARGEST: Final = 2**31 - 1


def cases(release: str) -> list[str]:
    """Return the cases, the same for every release but those of transactions of version 2."""
    source = random.Random(98)
    found = [_Producers(source, number).case() for number in range(_SEQUENCES)]
    if parse_version(release) >= _VERSION_2_SINCE:
        source = random.Random(1228)
        found += [_VersionTwoProducer(source, number).case() for number in range(_VERSION_2_SEQUENCES)]
    return found


def model_answers(release: str, kafka: Answers) -> Answers:
    """Return the model's answers to Kafka's cases."""
    profile = Profile.of(release)
    return {case: _Leader(profile).answer(parse_fields(case)["calls"]) for case in kafka}


class _Leader:
    """Producer state of one leader in the model, and the end of its log."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.producers = producer_state(profile, _DAY_MINUTES * _MINUTE_US, TransactionIndex())
        self.end = self.high_watermark = self.now = 0

    def answer(self, calls: str) -> str:
        return " ".join(f"{self._result(call)}/{self._last_stable()}" for call in calls.split(","))

    def _last_stable(self) -> int:
        return min(self.high_watermark, self.producers.transactions.first_unstable(self.high_watermark))

    def _result(self, call: str) -> str:
        name, *numbers = call.split(":")
        if name == "replicated":
            self.high_watermark = self.end
            self.producers.transactions.replicated(self.end)
            return "ok"
        given = [int(number) for number in numbers]
        if name == "clock":
            self.now = given[0] * _MINUTE_US
            return "ok"
        kind = _KINDS[name]
        if kind >= ABORT:
            producer_id, epoch, coordinator_epoch = given
            version = 2 if name.endswith("2") else 0
            return self._append(kind, producer_id, epoch, -1, 1, coordinator_epoch, version)
        producer_id, epoch, sequence, records = given
        return self._append(kind, producer_id, epoch, sequence, records, -1)

    def _append(
        self, kind: int, producer_id: int, epoch: int, sequence: int, records: int, coordinator: int, version: int = 0
    ) -> str:
        request = ProduceRequest(
            0, "t-0", ALL, 0, "", producer_id, sequence, records, 0, producer_epoch=epoch, kind=kind,
            coordinator_epoch=coordinator, transaction_version=version,
        )  # fmt: skip
        error, duplicate = admit(self.producers, self.profile, request, self.now)
        if error is not KafkaError.NONE:
            return error.name
        if duplicate >= 0:
            return f"duplicate@{duplicate}"
        batch = Batch(
            self.end, records, 0, self.now, "", producer_id, sequence, ALL, producer_epoch=epoch, kind=kind,
            coordinator_epoch=coordinator,
        )  # fmt: skip
        self.end += records
        self.producers.written(batch, self.now)
        if kind:
            self.producers.transactions.note(batch, batch.base)
        return f"ok@{batch.base}"


class _Producers:
    """Draws the calls of a few producers, most of them in sequence."""

    def __init__(self, source: random.Random, number: int) -> None:
        self.source, self.number = source, number
        self.minutes = 0
        self.next = {1: 0, 2: source.choice((0, 0, 5, _LARGEST - 3))}
        self.epochs = {1: 0, 2: 0}
        self.sent: list[str] = []

    def case(self) -> str:
        """Return a case."""
        calls = [self._call() for _ in range(_CALLS)]
        name = "transactions" if self.number % 2 else "idempotent"
        return case_text(f"{name}/{self.number}", {"calls": ",".join(calls)})

    def _call(self) -> str:
        source = self.source
        producer = source.choice((1, 1, 2))
        chance = source.random()
        if chance < 0.1 and self.sent:
            return source.choice(self.sent[-7:])
        if chance < 0.15:
            self.minutes += source.choice((3, 10, _DAY_MINUTES - 7, _DAY_MINUTES, _DAY_MINUTES + 10))
            return f"clock:{self.minutes}"
        if chance < 0.25:
            self.epochs[producer] += 1
            self.next[producer] = source.choice((0, 0, 0, self.next[producer]))
        if self.number % 2 and chance > 0.6:
            if chance > 0.78:
                return "replicated"
            epoch = max(0, self.epochs[producer] + source.choice((0, 0, 0, 0, 1, -1)))
            return f"{source.choice(('commit', 'abort'))}:{producer}:{epoch}:{source.choice((3, 3, 3, 4, 2))}"
        return self._data(producer)

    def _data(self, producer: int) -> str:
        source = self.source
        count = source.choice((1, 2, 3))
        first = self.next[producer]
        epoch = self.epochs[producer]
        chance = source.random()
        if chance < 0.1:
            first = max(0, first + source.choice((-1, 1, 2, -4)))
        elif chance < 0.15:
            epoch = max(0, epoch - 1)
        else:
            self.next[producer] = (first + count) % (_LARGEST + 1)
        kind = "transactional" if self.number % 2 and chance < 0.9 else "plain"
        self.sent.append(f"{kind}:{producer}:{epoch}:{first}:{count}")
        return self.sent[-1]


class _VersionTwoProducer:
    """Draws the calls of one producer, whose epoch rises with each transaction; some markers are late or repeated."""

    def __init__(self, source: random.Random, number: int) -> None:
        self.source, self.number = source, number
        self.epoch = self.next = 0
        self.marked = ""

    def case(self) -> str:
        """Return a case."""
        calls = ",".join(self._call() for _ in range(_CALLS))
        return case_text(f"version_2/{self.number}", {"calls": calls})

    def _call(self) -> str:
        source = self.source
        chance = source.random()
        if chance < 0.15 and self.marked:
            return self.marked
        if chance < 0.5:
            count = source.choice((1, 2, 3))
            first, self.next = self.next, self.next + count
            return f"transactional:1:{self.epoch}:{first}:{count}"
        if chance < 0.6:
            return "replicated"
        name = source.choice(("commit2", "commit2", "abort2", "abort2", "commit"))
        epoch = self.epoch + source.choice((1, 1, 1, 1, 0, -1))
        self.marked = f"{name}:1:{max(0, epoch)}:{source.choice((3, 3, 3, 4))}"
        if epoch > self.epoch:
            self.epoch, self.next = epoch, 0
        return self.marked


PRODUCER_STATES: Final = Subject(
    "producer_states",
    "ProducerStates",
    "ProducerStateManager: duplicates, sequences, epochs, markers, expiry, last stable offset",
    model_answers,
    SERVER,
    releases_since(0, 11, 0),
    questions=cases,
    fixed=(
        Exemption("*", "0.11 knows the last batch only, and no producer begins above 0 (KAFKA-5494)", until="0.11.0.3"),
        Exemption("*", "a batch older than all known ones has no error of its own (KAFKA-6683)", "1.0.2", "1.0.2"),
        Exemption("transactions/*", "markers do not delay the expiry of producers (KAFKA-9144)", "1.0.2", "2.3.1"),
        Exemption("transactions/*", "a known marker and no known batch (KAFKA-7298)", "2.0.1", "2.4.1"),
    ),
)

"""Transitions of a transactional id's state (``TransactionMetadata``, ``TransactionState``).

A case is the producer epoch at the start and a list of calls; its answer has one word for each: the state after it, as
``state/producer id/epoch/last epoch/previous id/partitions/start in ms``, or ``invalid`` where it is not allowed. The
previous id is -1 where it is the current one; the start is left out in state EMPTY, where no release uses it.

- ``init:epoch`` requests a new epoch with the epoch that the producer has, -1 for none (KIP-360).
- ``add:partitions`` adds partitions to the transaction.
- ``commit:version`` and ``abort:version`` end it; with version 2 the epoch is raised (KIP-890, 4.0).
- ``fence`` ends it in the producer's place; ``fence_failed`` is a fence that cannot be written.
- ``complete`` follows the last marker.
"""

import random
from typing import Final

from cluster_model.coordinators.transaction.transaction_state_manager import (
    IDLE,
    NO_EPOCH,
    NO_ID,
    TransactionMetadata,
    TransitMetadata,
    TxnState,
    TxnValue,
)
from cluster_model.protocol.releases import parse_version
from cluster_model.protocol.versions import Profile
from tests.real_kafka.kafka_jars import SERVER
from tests.real_kafka.vectors.servers.case_text import case_text, parse_fields
from tests.real_kafka.vectors.subject import Answers, Exemption, Subject

_SEQUENCES: Final = 160
_CALLS: Final = 10
_TIMEOUT_US: Final = 60_000_000
_ID: Final = 7
_FIRST_NEW_ID: Final = 900
_STEP_MS: Final = 10
_OVERFLOW: Final = "epoch 32767 belongs to no producer, so it is never raised; the model has no check of its own"


def cases(release: str) -> list[str]:
    """Return the cases of a release; those with transactions of version 2 for 4.0 and later."""
    source = random.Random(890)
    drawn = [_sequence(source, number) for number in range(_SEQUENCES)]
    return [case for case in drawn if case.startswith("v1/") or parse_version(release) >= (4, 0, 0)]


def model_answers(release: str, kafka: Answers) -> Answers:
    """Return the model's answers to Kafka's cases."""
    profile = Profile.of(release)
    return {case: _Producer(case, profile).answer() for case in kafka}


class _Producer:
    """A transactional id in the model, whose changes are written at once."""

    def __init__(self, case: str, profile: Profile) -> None:
        fields = parse_fields(case)
        self.profile = profile
        self.calls = fields["calls"].split(",")
        self.now = 0
        self.new_ids = _FIRST_NEW_ID
        self.metadata = TransactionMetadata("id", TxnValue(_ID, int(fields["epoch"]), _TIMEOUT_US, TxnState.EMPTY))

    def answer(self) -> str:
        return " ".join(map(self._result, self.calls))

    def _result(self, call: str) -> str:
        self.now += _STEP_MS * 1_000
        name, _colon, number = call.partition(":")
        metadata = self.metadata
        try:
            transit = self._prepared(name, number)
        except ValueError:
            metadata.pending = None
            return "invalid"
        if transit is None:
            # The code depends on the version of the request; the gateway translates it.
            return "PRODUCER_FENCED" if self.profile.producer_fenced else "INVALID_PRODUCER_EPOCH"
        if name == "fence_failed":
            metadata.pending = None
            metadata.failed_fence = True
        else:
            metadata.complete(transit)
        return self._state()

    def _prepared(self, name: str, number: str) -> TransitMetadata | None:
        metadata, now = self.metadata, self.now
        is_end = name in ("commit", "abort") and not (name == "abort" and number == "2" and metadata.state in IDLE)
        if (name == "init" and metadata.state not in IDLE) or (is_end and metadata.state is not TxnState.ONGOING):
            raise ValueError(metadata.state)  # The coordinator rejects it before it asks the metadata.
        if name == "init":
            expected = int(number)
            if metadata.exhausted:
                return metadata.prepare_rotation(self._new_id(), _TIMEOUT_US, now, expected=expected != NO_EPOCH)
            return metadata.prepare_epoch(_TIMEOUT_US, expected, now)
        if name == "add":
            partitions = tuple(f"t-{partition}" for partition in number.split("+"))
            return metadata.prepare_partitions(partitions, now, keeps_previous=not self.profile.forgets_replaced_id)
        if name in ("fence", "fence_failed"):
            return metadata.prepare_end(committed=False, now=now, fence=metadata.prepare_fence())
        if name in ("commit", "abort"):
            bumps = number == "2"
            next_id = self._new_id() if bumps and metadata.exhausted else NO_ID
            return metadata.prepare_end(
                committed=name == "commit", now=now, bumps=bumps, next_id=next_id,
                keeps_previous=not self.profile.forgets_replaced_id,
            )  # fmt: skip
        return metadata.prepare_complete(now)

    def _new_id(self) -> int:
        self.new_ids += 1
        return self.new_ids - 1

    def _state(self) -> str:
        value = self.metadata.value
        partitions = "+".join(sorted(partition.removeprefix("t-") for partition in value.partitions))
        start = "" if self.metadata.state is TxnState.EMPTY else str(value.start_us // 1_000)
        return (
            f"{self.metadata.state.name}/{value.producer_id}/{value.producer_epoch}/{self.metadata.last_epoch}/"
            f"{value.previous_producer_id}/{partitions}/{start}"
        )


def _sequence(source: random.Random, number: int) -> str:
    """Return the calls of one id, most of them in the order of a producer's life."""
    version = number % 2 + 1
    epoch = source.choice((-1, 0, 5, 32_764, 32_765, 32_766))
    calls = [f"init:{source.choice((-1, epoch))}"]
    usual = {"init": "add", "add": "end", "end": "complete", "complete": "add", "fence": "complete"}
    state = "init"
    while len(calls) < _CALLS:
        state = usual[state] if source.random() < 0.75 else source.choice(list(usual))
        if state == "init":
            calls.append(f"init:{source.choice((-1, -1, epoch, epoch + 1, epoch + 2, 0, 1))}")
        elif state == "add":
            calls.append(f"add:{'+'.join(map(str, sorted(source.sample(range(4), source.randint(1, 2)))))}")
        elif state == "end":
            calls.append(f"{source.choice(('commit', 'abort'))}:{2 if version == 2 else 0}")
        elif state == "fence":
            calls.append(source.choice(("fence", "fence", "fence_failed")) if version == 1 else "fence")
        else:
            calls.append("complete")
    return case_text(f"v{version}/{number}", {"epoch": str(epoch), "calls": ",".join(calls)})


TRANSACTION_TRANSITIONS: Final = Subject(
    "transaction_transitions",
    "TransactionTransitions",
    "TransactionMetadata: states, epochs and ids after each transition",
    model_answers,
    SERVER,
    ("2.5.1", "2.7.2", "2.8.2", "3.9.2", "4.0.2", "4.1.2", "4.2.2", "4.3.1", "4.4.0"),
    questions=cases,
    stated=(
        Exemption("v1/158 *", "2.5 raises the epoch again for each fence that cannot be written", "2.5.1", "2.5.1"),
        Exemption("v2/15 *", _OVERFLOW, since="4.0.2"),
        Exemption("v2/135 *", _OVERFLOW, since="4.0.2"),
    ),
    fixed=(
        Exemption("v1/*init*init*", "a replaced producer id is known until the next InitProducerId"),
        Exemption("v?/*", "a replaced producer id is known until the next change", since="4.1.2"),
    ),
)

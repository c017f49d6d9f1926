"""A consumer's positions: initialisation, reset and validation (``SubscriptionState``, ``OffsetFetcher``).

A position is initialised to the group's committed offset, reset (``auto.offset.reset`` through ListOffsets), or
advanced by polled records. It carries the leader epoch of the last record read. When metadata names another leader, the
consumer requests the end offset of that epoch before it continues (KIP-320): an end below the position means that
records it read were truncated. A position set by a reset has no epoch and is not validated.
"""

import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from cluster_model.clients.metadata import Metadata
from cluster_model.kernel.node_context import NodeContext
from cluster_model.protocol.errors import KafkaError, ModelError
from cluster_model.protocol.events import ConsumerReset, Event, TruncationDetected
from cluster_model.protocol.messages import (
    CONSUMER,
    EARLIEST,
    LATEST,
    NO_LEADER,
    READ_UNCOMMITTED,
    EpochEnd,
    EpochEndRequest,
    EpochEndResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
)
from cluster_model.protocol.versions import Profile

# ``auto.offset.reset``: the new position of a consumer without one, or with one that is out of range.


BY_DURATION: Final = "by_duration"
_SECOND: Final = 1_000_000
_UNITS: Final = {"D": 86_400 * _SECOND, "H": 3_600 * _SECOND, "M": 60 * _SECOND, "S": _SECOND}


class ResetPolicy(NamedTuple):
    """Offset reset policy: ``name`` is none, earliest, latest or by_duration with the duration ``back_us``."""

    name: str
    back_us: int = 0

    @property
    def is_none(self) -> bool:
        """Whether the application gets an exception instead of a reset."""
        return self.name == "none"

    def timestamp(self, now: int) -> int:
        """Return the timestamp for ListOffsets; the lab's clock begins at 0, and any earlier time means EARLIEST."""
        if self.name == BY_DURATION:
            return now - self.back_us if now > self.back_us else EARLIEST
        return EARLIEST if self.name == "earliest" else LATEST


def reset_policy(profile: Profile, text: str) -> ResetPolicy:
    """Parse the policy of a configuration.

    Raises:
        ModelError: by_duration before 4.0.
    """
    name, _colon, duration = text.partition(":")
    if name != BY_DURATION:
        return ResetPolicy(name)
    if not profile.client.reset_by_duration:
        raise ModelError(
            f"auto.offset.reset by_duration exists since Kafka 4.0, this is {profile.client.version}",
            code="not_in_version",
        )
    back = 0
    for number, fraction, unit in re.findall(r"([0-9]+)(\.[0-9]+)?([DHMS])", duration):
        back += int(number) * _UNITS[unit] + int(fraction[1:].ljust(6, "0") if fraction else 0)
    return ResetPolicy(name, back)


INITIALIZING: Final = 1
"""The partition has no position yet: the group's committed offset is to be fetched."""
AWAIT_RESET: Final = 2
"""The position is to be reset."""
AWAIT_VALIDATION: Final = 3
"""The position is to be validated against the leader."""

InFlightRequest = tuple[int, int, int]
"""(correlation, broker, sent at) of a request in flight."""


class SubscriptionState:
    """Positions of the assigned partitions, in the order in which they are fetched."""

    __slots__ = (
        "_correlation", "_current", "_detects", "_emit", "_metadata", "_named", "_policy", "_port", "_requests",
        "_retry_at", "_seen", "_settings", "_states", "_timestamps", "_validated_against", "assigned", "epochs",
        "failure", "frozen", "isolation", "offsets", "on_new_leader", "paused", "withheld",
    )  # fmt: skip

    def __init__(
        self,
        port: NodeContext,
        named: tuple[str, str],
        profile: Profile,
        policy: ResetPolicy,
        settings: tuple[int, int],
        metadata: Metadata,
        emit: Callable[[Event], None],
    ) -> None:
        """Make it without partitions; ``named`` is (member, group), ``settings`` (backoff, request timeout) in µs."""
        self._port = port
        self._named = named
        self._detects = profile.client.detects_truncation
        self._current = metadata.epoch if profile.kip_320 and self._detects else _no_epoch
        self._policy = policy
        self._settings = settings
        self._metadata = metadata
        self._emit = emit
        self.assigned: dict[str, None] = {}
        """Assigned partitions, the next to fetch first."""
        self.offsets: dict[str, int] = {}
        """Positions by partition."""
        self.epochs: dict[str, int] = {}
        """Leader epoch of the last record read, by partition."""
        self.failure = ""
        """Exception that the next poll throws, by Kafka's name."""
        self.frozen = False
        """Nothing is returned or fetched, during a commit before a rebalance."""
        self.isolation = READ_UNCOMMITTED
        """Isolation level of resets to the end."""
        self.withheld: tuple[str, ...] = ()
        """Partitions not returned or fetched because they are about to be revoked (KIP-848)."""
        self.paused: dict[str, tuple[int, ...]] = {}
        """Partitions paused by the application, with the reasons."""
        self.on_new_leader: Callable[[str], object] = _nothing
        """Called with a partition whose leader or leader epoch has changed."""
        self._states: dict[str, int] = {}
        """States of the partitions that cannot be fetched now."""
        self._validated_against: dict[str, tuple[int, int]] = {}
        """(leader, epoch) that a position was last validated against."""
        self._requests: dict[str, InFlightRequest] = {}
        self._timestamps: dict[str, int] = {}
        """Timestamp of a reset's request, where it is not the policy's first one."""
        self._retry_at: dict[str, int] = {}
        self._correlation = port.first_number
        self._seen = -1

    # --- the assignment

    def assign(self, partitions: tuple[str, ...]) -> None:
        """Set the assignment: retained partitions keep their positions, new ones have none yet."""
        assignment = dict.fromkeys(partitions)
        for removed in [partition for partition in self.assigned if partition not in assignment]:
            self._forget(removed)
        for partition in assignment:
            if partition not in self.assigned:
                self.assigned[partition] = None
                self._states[partition] = INITIALIZING

    def _forget(self, partition: str) -> None:
        del self.assigned[partition]
        tables: tuple[dict[str, Any], ...] = (
            self.offsets, self.epochs, self._states, self._validated_against, self._requests, self._timestamps,
            self._retry_at, self.paused,
        )  # fmt: skip
        for table in tables:
            table.pop(partition, None)

    def initializing(self) -> list[str]:
        """Return the partitions whose committed offset is to be fetched."""
        return [partition for partition, state in self._states.items() if state == INITIALIZING]

    def fetchable(self, partition: str) -> bool:
        """Return whether a partition is assigned, has a valid position and is neither paused nor withheld."""
        free = not self.frozen and partition not in self.withheld and not (self.paused and partition in self.paused)
        return free and partition in self.offsets and partition not in self._states

    def pause(self, why: int) -> None:
        """Pause the assigned partitions; a partition that is revoked and assigned again is no longer paused."""
        for partition in self.assigned:
            reasons = self.paused.get(partition, ())
            self.paused[partition] = reasons if why in reasons else (*reasons, why)

    def resume(self, why: int) -> bool:
        """Undo :meth:`pause` for a reason; return whether any partition is resumed."""
        before = len(self.paused)
        left = {name: tuple(each for each in reasons if each != why) for name, reasons in self.paused.items()}
        self.paused = {partition: reasons for partition, reasons in left.items() if reasons}
        return len(self.paused) < before

    def put_last(self, partition: str) -> None:
        """Move a partition to the end of the fetch order."""
        if partition in self.assigned:
            del self.assigned[partition]
            self.assigned[partition] = None

    # --- moves

    def advance(self, partition: str, offset: int, epoch: int) -> None:
        """Move a position to ``offset`` after a poll returned records, the last of them of ``epoch``."""
        self.offsets[partition] = offset
        if epoch >= 0:
            self.epochs[partition] = epoch

    def seek(self, partition: str, offset: int, epoch: int = -1) -> None:
        """Set a position; with an epoch it is first validated against the current leader (``seekUnvalidated``)."""
        self._settle(partition, offset, epoch)
        if epoch >= 0 and self._detects and self._metadata.leader(partition) != NO_LEADER:
            self._validated_against[partition] = self._leader(partition)
            self._states[partition] = AWAIT_VALIDATION

    def _settle(self, partition: str, offset: int, epoch: int) -> None:
        self._states.pop(partition, None)
        self._requests.pop(partition, None)
        self._timestamps.pop(partition, None)
        self._retry_at.pop(partition, None)
        self.offsets[partition] = offset
        if epoch >= 0:
            self.epochs[partition] = epoch
        else:
            self.epochs.pop(partition, None)
        self._validated_against[partition] = self._leader(partition)

    def _leader(self, partition: str) -> tuple[int, int]:
        return (self._metadata.leader(partition), self._metadata.epoch(partition))

    def to_committed(self) -> None:
        """Reset all positions to the group's committed offsets."""
        partitions = tuple(self.assigned)
        for partition in partitions:
            self._forget(partition)
        self.assign(partitions)

    def unset(self, partition: str) -> None:
        """Handle a partition without a committed offset: apply ``auto.offset.reset``, or fail."""
        if self._policy.is_none:
            self.failure = "NoOffsetForPartitionException"
        else:
            self.reset(partition)

    def out_of_range(self, partition: str) -> None:
        """Handle a position that is out of range at the leader: apply ``auto.offset.reset``, or fail."""
        if self._policy.is_none:
            self.failure = "OffsetOutOfRangeException"
        else:
            self.reset(partition)

    def reset(self, partition: str) -> None:
        """Start a reset by ``auto.offset.reset``."""
        self._states[partition] = AWAIT_RESET
        self._requests.pop(partition, None)
        self._timestamps.pop(partition, None)

    # --- requests

    def poll(self) -> None:
        """Send the requests for resets and validations that are due (``updateFetchPositions``)."""
        if self._seen != self._metadata.version:
            self._seen = self._metadata.version
            if self._detects:
                self._validate_positions()
        now = self._port.now
        for partition, state in tuple(self._states.items()):
            if state != INITIALIZING and partition not in self._requests and self._retry_at.get(partition, 0) <= now:
                leader = self._metadata.leader(partition)
                if leader == NO_LEADER:
                    self._metadata.refresh()
                else:
                    self._send_request(partition, leader, state, now)

    def _validate_positions(self) -> None:
        """Mark positions whose leader changed for validation (``maybeValidatePositionForCurrentLeader``)."""
        for partition in self.offsets:
            leader = self._leader(partition)
            if leader[0] == NO_LEADER or leader == self._validated_against.get(partition):
                continue
            self._validated_against[partition] = leader
            self.on_new_leader(partition)
            if self._states.get(partition) in (None, AWAIT_VALIDATION) and partition in self.epochs:
                self._states[partition] = AWAIT_VALIDATION
                self._requests.pop(partition, None)

    def _send_request(self, partition: str, leader: int, state: int, now: int) -> None:
        self._correlation += 1
        self._requests[partition] = (self._correlation, leader, now)
        current = self._current(partition)
        if state == AWAIT_VALIDATION:
            requested = ((partition, self.epochs[partition], current),)
            self._port.send(leader, EpochEndRequest(self._correlation, requested, CONSUMER))
        else:
            timestamp = self._timestamps.get(partition, self._policy.timestamp(self._port.wall_now))
            request = ListOffsetsRequest(self._correlation, partition, timestamp, current, isolation=self.isolation)
            self._port.send(leader, request)

    def next_action_us(self) -> int:
        """Return when a request is to be sent or times out, -1 for never."""
        timeout = self._settings[1]
        now = self._port.now
        times = [sent_at + timeout for _correlation, _broker, sent_at in self._requests.values()]
        times += [at for partition, at in self._retry_at.items() if partition not in self._requests and at > now]
        return min(times, default=-1)

    def overdue(self, now: int) -> list[int]:
        """Return the brokers whose requests timed out."""
        timeout = self._settings[1]
        return [broker for _correlation, broker, sent_at in self._requests.values() if now - sent_at >= timeout]

    def on_disconnect(self, broker: int) -> None:
        """Handle the failure of all requests to a broker."""
        for partition, (_correlation, target, _sent_at) in tuple(self._requests.items()):
            if target == broker:
                self._retry_later(partition)

    def _retry_later(self, partition: str) -> None:
        self._requests.pop(partition, None)
        self._retry_at[partition] = self._port.now + self._settings[0]

    def _is_expected(self, partition: str, correlation_id: int) -> bool:
        return self._requests.get(partition, (-1, 0, 0))[0] == correlation_id

    def listed(self, response: ListOffsetsResponse) -> None:
        """Handle the response to a reset (``resetPositionIfNeeded``)."""
        partition = response.partition
        if not self._is_expected(partition, response.correlation_id):
            return
        if response.error:
            self._retry_later(partition)
            self._metadata.refresh()
        elif response.log_offset < 0:
            # No record is that recent: by_duration then resets to the end (KIP-1106).
            self._requests.pop(partition)
            self._timestamps[partition] = LATEST
        else:
            before = self.offsets.get(partition, -1)
            self._settle(partition, response.log_offset, -1)
            self._emit(ConsumerReset(self._port.now, *self._named, partition, response.log_offset, before))

    def on_epoch_end(self, response: EpochEndResponse) -> None:
        """Handle the response to a validation (``maybeCompleteValidation``)."""
        for answer in response.partitions:
            if self._is_expected(answer.partition, response.correlation_id):
                if answer.error:
                    self._retry_later(answer.partition)
                    if answer.error != KafkaError.UNKNOWN_LEADER_EPOCH:
                        self._metadata.refresh()
                else:
                    self._validated(answer)

    def _validated(self, answer: EpochEnd) -> None:
        partition = answer.partition
        offset = self.offsets[partition]
        self._requests.pop(partition)
        self._retry_at.pop(partition, None)
        unknown = answer.end < 0 or answer.epoch < 0
        if not unknown and answer.end >= offset:
            del self._states[partition]
            return
        end = -1 if unknown else answer.end
        self._emit(TruncationDetected(self._port.now, *self._named, partition, self.epochs[partition], offset, end))
        if self._policy.is_none:
            self.failure = "LogTruncationException"
        elif unknown:
            self.reset(partition)
        else:
            self._settle(partition, answer.end, answer.epoch)

    def save(self) -> tuple[Any, ...]:
        """Return all state."""
        return (
            tuple(self.assigned), tuple(self.offsets.items()), tuple(self.epochs.items()), self.failure, self.frozen,
            tuple(self._states.items()), tuple(self._validated_against.items()), tuple(self._requests.items()),
            tuple(self._timestamps.items()), tuple(self._retry_at.items()), self._correlation, self.withheld,
            tuple(self.paused.items()),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        (
            assigned, offsets, epochs, self.failure, self.frozen, states, checked, requested, timestamps, retry_at,
            self._correlation, self.withheld, paused,
        ) = saved  # fmt: skip
        self.paused = dict(paused)
        self.assigned = dict.fromkeys(assigned)
        self.offsets, self.epochs, self._states = dict(offsets), dict(epochs), dict(states)
        self._validated_against, self._requests, self._timestamps = dict(checked), dict(requested), dict(timestamps)
        self._retry_at = dict(retry_at)
        # Validating a position again against the same leader has no effect.
        self._seen = -1


def _nothing(_partition: str) -> None:
    """Ignore the change."""


def _no_epoch(_partition: str) -> int:
    """Return the current leader epoch of a request before 2.3: none (KAFKA-7747)."""
    return -1

"""Typed trace events: what happened, one frozen tuple each.

These are the words that the checker, the recorder, the screen and the report share. Every class carries ``kind`` (its
name in a recorded session) and only fields named in :data:`COLUMNS`, so that a session is one flat table: a row has
the event's fields and nulls elsewhere. Names are only ever added, never reused with another meaning or type.

Units: ``_us`` is virtual microseconds; offsets called ``log_offset`` are the first offset meant, ``end_offset`` is
exclusive.
"""

from typing import Final, NamedTuple

SCHEMA_VERSION: Final = 1
"""Version of the recorded columns; raised when one is added."""

COLUMNS: Final[dict[str, str]] = {
    "at_us": "int",
    "kind": "str",
    "partition": "str",
    "broker": "int",
    "node": "str",
    "leader": "int",
    "leader_epoch": "int",
    "partition_epoch": "int",
    "isr": "ints",
    "previous_isr": "ints",
    "log_offset": "int",
    "end_offset": "int",
    "hw": "int",
    "client": "str",
    "group_id": "str",
    "sequence": "int",
    "count": "int",
    "acks": "int",
    "error": "str",
    "latency_us": "int",
    "clean": "bool",
    "committed": "bool",
    "by": "str",
    "fault_id": "int",
    "fault": "str",
    "target": "str",
    "until_us": "int",
    "rule": "str",
    "invariant": "str",
    "detail": "str",
    "cause": "str",
    "ok": "bool",
    "bytes": "int",
}
"""Column name → type (``int``, ``str``, ``bool`` or ``ints``, a list of ints)."""


class NodeDown(NamedTuple):
    """A process is gone. ``detail`` is ``crash`` (page cache kept) or ``power_loss``. ``broker`` is -1 for others."""

    kind = "node_down"
    at_us: int
    node: str
    broker: int
    detail: str


class NodeUp(NamedTuple):
    """A process that was down runs again; a broker is not yet registered with the controller."""

    kind = "node_up"
    at_us: int
    node: str
    broker: int


class NodePaused(NamedTuple):
    """A process stopped handling events without dying: a stop-the-world collection, SIGSTOP."""

    kind = "node_paused"
    at_us: int
    node: str
    broker: int


class NodeResumed(NamedTuple):
    """A paused process goes on, with everything it was sent meanwhile still queued."""

    kind = "node_resumed"
    at_us: int
    node: str
    broker: int


class BrokerRegistered(NamedTuple):
    """The controller accepted a broker (again); the broker counts as live from here."""

    kind = "broker_registered"
    at_us: int
    broker: int


class BrokerFenced(NamedTuple):
    """The controller gave a broker up: its session ended. ``detail`` says why."""

    kind = "broker_fenced"
    at_us: int
    broker: int
    detail: str


class FaultInjected(NamedTuple):
    """A fault began. ``until_us`` is when it heals by itself, -1 if only on request; ``detail`` its parameters."""

    kind = "fault_injected"
    at_us: int
    fault_id: int
    fault: str
    target: str
    until_us: int
    detail: str


class FaultHealed(NamedTuple):
    """A fault ended, by itself or because somebody healed it."""

    kind = "fault_healed"
    at_us: int
    fault_id: int
    fault: str
    target: str


class LeaderElected(NamedTuple):
    """The controller decided on a leader (a new epoch exists; brokers have yet to hear). ``by`` is the reason."""

    kind = "leader_elected"
    at_us: int
    partition: str
    leader: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]
    clean: bool
    by: str


class PartitionOffline(NamedTuple):
    """The controller found nobody to lead: leader -1 until a member of ``isr`` is back."""

    kind = "partition_offline"
    at_us: int
    partition: str
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]


class IsrChanged(NamedTuple):
    """The committed ISR changed. ``by`` is ``leader`` (AlterPartition, or a ZooKeeper write) or ``controller``."""

    kind = "isr_changed"
    at_us: int
    partition: str
    leader: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]
    previous_isr: tuple[int, ...]
    by: str


class BecameLeader(NamedTuple):
    """A broker took leadership up; ``log_offset`` is its LEO, the start of its epoch."""

    kind = "became_leader"
    at_us: int
    partition: str
    broker: int
    leader_epoch: int
    log_offset: int
    hw: int


class BecameFollower(NamedTuple):
    """A broker began to follow ``leader`` in ``leader_epoch``."""

    kind = "became_follower"
    at_us: int
    partition: str
    broker: int
    leader: int
    leader_epoch: int


class Truncated(NamedTuple):
    """A replica dropped ``[log_offset, end_offset)``. ``rule`` names the protocol rule, or ``power loss``."""

    kind = "truncated"
    at_us: int
    partition: str
    broker: int
    leader_epoch: int
    log_offset: int
    end_offset: int
    hw: int
    rule: str


class Appended(NamedTuple):
    """A leader wrote ``count`` records of ``client`` at ``log_offset``; ``sequence`` numbers the client's records."""

    kind = "appended"
    at_us: int
    partition: str
    broker: int
    leader_epoch: int
    log_offset: int
    count: int
    client: str
    sequence: int
    acks: int


class HwAdvanced(NamedTuple):
    """A leader's high watermark moved up to ``hw`` (exclusive)."""

    kind = "hw_advanced"
    at_us: int
    partition: str
    broker: int
    leader_epoch: int
    hw: int


class RecordsSent(NamedTuple):
    """An application handed ``count`` records to its producer, numbered from ``sequence`` per client and partition."""

    kind = "records_sent"
    at_us: int
    client: str
    partition: str
    sequence: int
    count: int
    acks: int


class RecordsAcked(NamedTuple):
    """The success callback. ``log_offset`` is -1 for acks=0; ``latency_us`` counts from :class:`RecordsSent`."""

    kind = "records_acked"
    at_us: int
    client: str
    partition: str
    sequence: int
    count: int
    acks: int
    broker: int
    leader_epoch: int
    log_offset: int
    latency_us: int


class RecordsFailed(NamedTuple):
    """An error that proves the records were not written."""

    kind = "records_failed"
    at_us: int
    client: str
    partition: str
    sequence: int
    count: int
    acks: int
    error: str
    latency_us: int


class RecordsUnknown(NamedTuple):
    """An error or timeout after which the records may or may not be in the log."""

    kind = "records_unknown"
    at_us: int
    client: str
    partition: str
    sequence: int
    count: int
    acks: int
    error: str
    latency_us: int


class ProduceRefused(NamedTuple):
    """One attempt to produce was answered with an error, or not at all; the producer may try again."""

    kind = "produce_refused"
    at_us: int
    client: str
    partition: str
    broker: int
    acks: int
    error: str
    sequence: int
    count: int


class RecordsRead(NamedTuple):
    """A consumer was handed ``[log_offset, log_offset + count)``; ``latency_us`` since the newest was appended."""

    kind = "records_read"
    at_us: int
    client: str
    group_id: str
    partition: str
    broker: int
    leader_epoch: int
    log_offset: int
    count: int
    latency_us: int


class ConsumerReset(NamedTuple):
    """A consumer's position was out of range and moved by ``auto.offset.reset`` from ``end_offset`` to ``log_offset``."""

    kind = "consumer_reset"
    at_us: int
    client: str
    group_id: str
    partition: str
    log_offset: int
    end_offset: int


class RecordsMissing(NamedTuple):
    """Acknowledged records that the current leader's log does not hold. ``committed``: somebody could have read them."""

    kind = "records_missing"
    at_us: int
    partition: str
    client: str
    sequence: int
    count: int
    log_offset: int
    leader_epoch: int
    acks: int
    committed: bool
    cause: str


class RecordsLost(NamedTuple):
    """The verdict on acknowledged records at the end of a session: gone. ``cause`` is one plain sentence."""

    kind = "records_lost"
    at_us: int
    partition: str
    client: str
    sequence: int
    count: int
    log_offset: int
    leader_epoch: int
    acks: int
    committed: bool
    cause: str


class InvariantViolated(NamedTuple):
    """A property of the protocol did not hold, at the first event that broke it."""

    kind = "invariant_violated"
    at_us: int
    invariant: str
    partition: str
    broker: int
    detail: str
    cause: str


class StepTaken(NamedTuple):
    """A step of the playbook, or an operator, acted. ``error`` is Kafka's refusal, empty where there was none."""

    kind = "step_taken"
    at_us: int
    by: str
    target: str
    detail: str
    error: str


class ExpectationChecked(NamedTuple):
    """An expectation got its verdict."""

    kind = "expectation_checked"
    at_us: int
    rule: str
    ok: bool
    detail: str


Event = (
    NodeDown
    | NodeUp
    | NodePaused
    | NodeResumed
    | BrokerRegistered
    | BrokerFenced
    | FaultInjected
    | FaultHealed
    | LeaderElected
    | PartitionOffline
    | IsrChanged
    | BecameLeader
    | BecameFollower
    | Truncated
    | Appended
    | HwAdvanced
    | RecordsSent
    | RecordsAcked
    | RecordsFailed
    | RecordsUnknown
    | ProduceRefused
    | RecordsRead
    | ConsumerReset
    | RecordsMissing
    | RecordsLost
    | InvariantViolated
    | StepTaken
    | ExpectationChecked
)
"""Any trace event."""

KINDS: Final[dict[str, type[Event]]] = {cls.kind: cls for cls in Event.__args__}
"""Recorded kind → event class."""

DATA_KINDS: Final = frozenset(
    {"appended", "hw_advanced", "records_sent", "records_acked", "records_read", "produce_refused"}
)
"""Kinds that come with every batch; all others are rare, worth a line on a screen and an immediate flush."""


def describe(event: Event) -> str:
    """One line of text for an event, the same on the screen, in a log and in a golden file (without its time)."""
    parts = [event.kind]
    for name, value in zip(event._fields[1:], event[1:], strict=True):
        if value in ("", -1) or value == ():
            continue
        parts.append(f"{name}={','.join(map(str, value)) if isinstance(value, tuple) else value}")
    return " ".join(parts)

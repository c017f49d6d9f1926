"""What a session does to its cluster, and what it finds: faults, steps, operations, guards and verdicts."""

from typing import ClassVar

from cluster_model.protocol.events.base import TraceEvent, event


@event
class FaultInjected(TraceEvent):
    """A fault began. ``until_us`` is when it heals by itself, -1 if only on request; ``detail`` its parameters."""

    kind: ClassVar[str] = "fault_injected"
    at_us: int
    fault_id: int
    fault: str
    target: str
    until_us: int
    detail: str


@event
class FaultHealed(TraceEvent):
    """A fault ended, by itself or because somebody healed it."""

    kind: ClassVar[str] = "fault_healed"
    at_us: int
    fault_id: int
    fault: str
    target: str


@event
class FaultSkipped(TraceEvent):
    """A fault that was to be injected only where there is somebody to strike found nobody: ``detail`` says who is not.

    ``target`` is what was asked for, a selector.
    """

    kind: ClassVar[str] = "fault_skipped"
    at_us: int
    fault: str
    target: str
    detail: str


@event
class GuardActed(TraceEvent):
    """A guard of the playbook refused a fault, healed all that were active, or stopped the chaos for good.

    ``rule`` is the guard, ``detail`` what it did: ``refused``, ``healed`` or ``stopped``; ``fault`` and ``target`` name
    what was refused or healed, ``cause`` is why.
    """

    kind: ClassVar[str] = "guard_acted"
    at_us: int
    rule: str
    detail: str
    fault: str
    target: str
    cause: str


@event
class StepTaken(TraceEvent):
    """A step of the playbook, or an operator, acted. ``error`` is Kafka's refusal, empty where there was none."""

    kind: ClassVar[str] = "step_taken"
    at_us: int
    by: str
    target: str
    detail: str
    error: str


@event
class AdminRequested(TraceEvent):
    """An administrator began an operation; ``by`` is the step or the operator, ``detail`` its parameters."""

    kind: ClassVar[str] = "admin_requested"
    at_us: int
    operation_id: int
    operation: str
    by: str
    detail: str


@event
class AdminProgress(TraceEvent):
    """An operation of several parts came a part further."""

    kind: ClassVar[str] = "admin_progress"
    at_us: int
    operation_id: int
    operation: str
    detail: str


@event
class AdminAnswered(TraceEvent):
    """An operation came to its end. ``error`` is Kafka's first refusal, empty where there was none.

    ``detail`` tells what came of each part; ``latency_us`` counts from :class:`AdminRequested`.
    """

    kind: ClassVar[str] = "admin_answered"
    at_us: int
    operation_id: int
    operation: str
    by: str
    error: str
    detail: str
    latency_us: int


@event
class ExpectationChecked(TraceEvent):
    """An expectation got its verdict."""

    kind: ClassVar[str] = "expectation_checked"
    at_us: int
    rule: str
    ok: bool
    detail: str


@event
class RecordsMissing(TraceEvent):
    """Acknowledged records that the leader's log does not hold. ``committed``: somebody could have read them."""

    kind: ClassVar[str] = "records_missing"
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


@event
class RecordsLost(TraceEvent):
    """The verdict on acknowledged records at the end of a session: gone. ``cause`` is one plain sentence."""

    kind: ClassVar[str] = "records_lost"
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


@event
class InvariantViolated(TraceEvent):
    """A property of the protocol did not hold, at the first event that broke it.

    ``[log_offset, end_offset)`` and ``leader_epoch`` are what it concerns, -1 where it is about none. ``known`` is
    empty for what must not happen under this version; else it says which version fixed it.
    """

    kind: ClassVar[str] = "invariant_violated"
    at_us: int
    invariant: str
    partition: str
    broker: int
    detail: str
    cause: str
    log_offset: int = -1
    end_offset: int = -1
    leader_epoch: int = -1
    known: str = ""

    @property
    def offset(self) -> int:
        """First log offset concerned, -1 for none."""
        return self.log_offset


@event
class LivenessOverdue(TraceEvent):
    """Something that had to come true in time has not: noticed now, owed since ``since_us`` within ``bound_us``.

    The clock runs from ``since_us``, when the last disturbance was over. ``known`` says why this version need not keep
    the property, empty where it must.
    """

    kind: ClassVar[str] = "liveness_overdue"
    at_us: int
    property: str
    partition: str
    broker: int
    detail: str
    since_us: int
    bound_us: int
    known: str

"""Events of a session: faults, playbook steps, admin operations, guardrails and verdicts."""

from typing import ClassVar

from cluster_model.protocol.events.base import TraceEvent, event


@event
class FaultInjected(TraceEvent):
    """A fault was injected into its target.

    ``until_us`` is when it heals by itself, -1 if only on request. ``detail`` is its parameters.
    """

    kind: ClassVar[str] = "fault_injected"
    at_us: int
    fault_id: int
    fault: str
    target: str
    until_us: int
    detail: str


@event
class FaultHealed(TraceEvent):
    """A fault ended, by itself or because it was healed."""

    kind: ClassVar[str] = "fault_healed"
    at_us: int
    fault_id: int
    fault: str
    target: str


@event
class FaultSkipped(TraceEvent):
    """A conditional fault was skipped because nothing matched its target.

    ``target`` is the requested selector, ``detail`` says what did not match.
    """

    kind: ClassVar[str] = "fault_skipped"
    at_us: int
    fault: str
    target: str
    detail: str


@event
class GuardActed(TraceEvent):
    """A guardrail of the playbook refused a fault, healed all active faults, or stopped fault injection permanently.

    ``rule`` is the guardrail, ``detail`` is its action: ``refused``, ``healed`` or ``stopped``. ``fault`` and
    ``target`` name the refused or healed fault, ``cause`` is the reason.
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
    """A playbook step or an operator performed an action; ``error`` is Kafka's error, empty on success."""

    kind: ClassVar[str] = "step_taken"
    at_us: int
    by: str
    target: str
    detail: str
    error: str


@event
class AdminRequested(TraceEvent):
    """An admin operation began; ``by`` is the step or operator that started it, ``detail`` its parameters."""

    kind: ClassVar[str] = "admin_requested"
    at_us: int
    operation_id: int
    operation: str
    by: str
    detail: str


@event
class AdminProgress(TraceEvent):
    """An admin operation of several parts completed one of them."""

    kind: ClassVar[str] = "admin_progress"
    at_us: int
    operation_id: int
    operation: str
    detail: str


@event
class AdminAnswered(TraceEvent):
    """An admin operation ended; ``error`` is Kafka's first error, empty on success.

    ``detail`` is the result of each part; ``latency_us`` counts from :class:`AdminRequested`.
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
    """An expectation of the playbook was evaluated: ``ok`` is its verdict."""

    kind: ClassVar[str] = "expectation_checked"
    at_us: int
    rule: str
    ok: bool
    detail: str


@event
class RecordsMissing(TraceEvent):
    """Acknowledged records are missing from the leader's log.

    ``committed``: they were below the high watermark, so consumers could have read them.
    """

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
    """Acknowledged records are lost, as evaluated at the end of a session; ``cause`` is one sentence."""

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
    """An invariant of the protocol was violated, reported at the first event that violates it.

    ``[log_offset, end_offset)`` and ``leader_epoch`` are the affected records, -1 where it is about none. ``known``
    says which version fixed it, where the violation is a known flaw of this version; it is empty for a violation that
    this version must not have.
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
        """First affected log offset, -1 for none."""
        return self.log_offset


@event
class LivenessViolated(TraceEvent):
    """A liveness property missed its deadline: it was pending since ``since_us`` and had to hold within ``bound_us``.

    The deadline counts from ``since_us``, when the last disturbance ended. ``known`` says why this version does not
    guarantee the property; it is empty where the version must.
    """

    kind: ClassVar[str] = "liveness_violated"
    at_us: int
    property: str
    partition: str
    broker: int
    detail: str
    since_us: int
    bound_us: int
    known: str

"""What a mark on the timeline is called, in as few cells as say it; the whole words stand among the events."""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from tui.terminal import glyphs
from tui.terminal.format import count, names
from tui.viewmodel.timeline.event_text import node_name

FAULTS: Final = "faults"
CLUSTER: Final = "cluster"
CLIENTS: Final = "clients"
SAFETY: Final = "safety"
LANES: Final = (FAULTS, CLUSTER, CLIENTS, SAFETY)
"""The lanes of marks, from top to bottom."""


class Sort(NamedTuple):
    """Where a kind of events stands, and what one or many of them are called."""

    lane: str
    one: str
    many: str


def _sorts(lane: str, *nouns: tuple[str, str, str]) -> dict[str, Sort]:
    return {kind: Sort(lane, one, many) for kind, one, many in nouns}


SORTS: Final[dict[str, Sort]] = {
    **_sorts(
        FAULTS,
        ("fault_injected", "fault", "faults"),
        ("fault_healed", "fault ended", "faults ended"),
        ("fault_skipped", "skipped fault", "skipped faults"),
        ("guard_acted", "guard", "times a guard"),
        ("step_taken", "step", "steps"),
        ("admin_requested", "operation", "operations"),
        ("admin_progress", "progress", "times progress"),
        ("admin_answered", "answer", "answers"),
        ("topic_config_changed", "setting", "settings"),
        ("broker_config_changed", "setting", "settings"),
        ("batch_damaged", "damaged batch", "damaged batches"),
    ),
    **_sorts(
        CLUSTER,
        ("node_down", "node down", "nodes down"),
        ("node_up", "start", "starts"),
        ("node_paused", "pause", "pauses"),
        ("node_resumed", "node goes on", "nodes go on"),
        ("broker_registered", "registration", "registrations"),
        ("broker_fenced", "fenced broker", "fenced brokers"),
        ("controller_changed", "controller", "controllers"),
        ("leader_elected", "election", "elections"),
        ("partition_offline", "offline", "offline"),
        ("isr_changed", "ISR change", "ISR changes"),
        ("partition_created", "new partition", "new partitions"),
        ("partition_deleted", "deleted partition", "deleted partitions"),
        ("replica_deleted", "dropped log", "dropped logs"),
        ("elr_changed", "ELR change", "ELR changes"),
        ("recovery_changed", "recovery", "recoveries"),
        ("assignment_changed", "reassignment", "reassignments"),
        ("truncated", "cut log", "cut logs"),
        ("segment_rolled", "new segment", "new segments"),
        ("log_start_moved", "log shortened", "logs shortened"),
        ("log_cleaned", "compaction", "compactions"),
        ("recovery_finished", "logs loaded", "times logs loaded"),
        ("corrupt_batch_found", "corrupt batch", "corrupt batches"),
    ),
    **_sorts(
        CLIENTS,
        ("records_failed", "failed", "times failed"),
        ("records_unknown", "unknown", "times unknown"),
        ("consumer_reset", "jump", "jumps"),
        ("truncation_detected", "truncation seen", "truncations seen"),
        ("consumer_failed", "member ended", "members ended"),
        ("group_rebalanced", "rebalance", "rebalances"),
        ("partitions_assigned", "assignment", "assignments"),
        ("partitions_revoked", "given up", "times given up"),
        ("partitions_lost", "partitions lost", "times partitions lost"),
        ("handler_failed", "skipped", "times skipped"),
        ("commit_failed", "failed commit", "failed commits"),
        ("interceptor_failed", "interceptor", "interceptors"),
        ("records_abandoned", "abandoned", "times abandoned"),
        ("transaction_aborted", "abort", "aborts"),
        ("transaction_unknown", "unknown commit", "unknown commits"),
        ("transaction_overdue", "transaction waits", "transactions wait"),
        ("transaction_left_open", "open transaction", "open transactions"),
        ("producer_fenced", "fenced producer", "fenced producers"),
        ("record_dead_lettered", "dead letter", "dead letters"),
    ),
    **_sorts(
        SAFETY,
        ("records_missing", "missing", "times missing"),
        ("records_lost", "lost", "times lost"),
        ("invariant_violated", "broken rule", "broken rules"),
        ("liveness_overdue", "overdue", "overdue"),
        ("expectation_checked", "expectation", "expectations"),
    ),
}  # fmt: skip
"""Kind of a rare event → where it stands."""

LOAD_KIND: Final = "records_acked"
"""What the load is counted in."""
_IN_RECORDS: Final = frozenset({"records_failed", "records_unknown", "records_missing", "records_lost"})
"""Kinds whose marks count records, not events."""


def lane_of(kind: str) -> str:
    """The lane of a kind; what nobody has placed is the cluster's."""
    sort = SORTS.get(kind)
    return sort.lane if sort is not None else CLUSTER


def label(event: Any, times: int, records: int, role: str) -> str:
    """The name of a mark that stands for so many events, this one the first of them, and for so many records."""
    kind = event.kind
    sort = SORTS.get(kind) or Sort(CLUSTER, kind.replace("_", " "), kind.replace("_", " "))
    if kind in _IN_RECORDS:
        return f"{count(records)} {sort.one}"
    if times == 1:
        short = _SHORT.get(kind)
        return short(event) if short is not None else sort.one
    unclean = "unclean " if kind == "leader_elected" and role == "alarm" else ""
    return f"{count(times)} {unclean}{sort.many}"


def _target(event: Any) -> str:
    return str(event.target).replace("broker ", "b")


def _isr(event: Any) -> str:
    out = [each for each in event.previous_isr if each not in event.isr]
    back = [each for each in event.isr if each not in event.previous_isr]
    change = [f"{glyphs.MINUS}b{each}" for each in out] + [f"+b{each}" for each in back]
    return f"ISR {' '.join(change)}" if change else "ISR"


def _elected(event: Any) -> str:
    return f"{'' if event.clean else 'unclean '}b{event.leader} e{event.leader_epoch}"


def _group(event: Any) -> str:
    return f"{SORTS[event.kind].one} {event.group_id}"


def _client(event: Any) -> str:
    return f"{event.client} {SORTS[event.kind].one}"


_SHORT: Final[dict[str, Callable[[Any], str]]] = {
    "fault_injected": lambda event: f"{event.fault.replace('_', ' ')} {_target(event)}",
    "fault_healed": lambda event: f"{event.fault.replace('_', ' ')} {_target(event)} ended",
    "guard_acted": lambda event: f"guard {event.rule} {event.detail}",
    "step_taken": lambda event: str(event.by),
    "admin_requested": lambda event: event.operation.replace("_", " "),
    "admin_progress": lambda event: f"{event.operation.replace('_', ' ')}: {event.detail}",
    "admin_answered": lambda event: f"{event.operation.replace('_', ' ')} {'refused' if event.error else 'done'}",
    "node_down": lambda event: f"{node_name(event)} down",
    "node_up": lambda event: f"{node_name(event)} up",
    "node_paused": lambda event: f"{node_name(event)} paused",
    "node_resumed": lambda event: f"{node_name(event)} goes on",
    "broker_registered": lambda event: f"b{event.broker} registered",
    "broker_fenced": lambda event: f"b{event.broker} fenced",
    "controller_changed": lambda event: f"controller {node_name(event)}",
    "leader_elected": _elected,
    "partition_offline": lambda event: f"{event.partition} offline",
    "isr_changed": _isr,
    "truncated": lambda event: f"b{event.broker} cuts to {event.log_offset}",
    "recovery_finished": lambda event: f"b{event.broker} loaded",
    "consumer_reset": lambda event: f"jump to {event.log_offset}",
    "consumer_failed": _client,
    "group_rebalanced": _group,
    "producer_fenced": lambda event: f"{event.client} fenced",
    "invariant_violated": lambda event: str(event.invariant),
    "liveness_overdue": lambda event: f"overdue {event.property}",
    "expectation_checked": lambda event: f"{'held' if event.ok else 'broken'}: {event.rule}",
    "partition_created": lambda event: f"new {event.partition}",
    "partition_deleted": lambda event: f"{event.partition} deleted",
}


def partitions_of(events: list[Any]) -> str:
    """The partitions that events speak of, the first of many."""
    found = dict.fromkeys(event.partition for event in events if getattr(event, "partition", ""))
    return names(list(found))


def brokers_of(events: list[Any]) -> str:
    """The brokers that events speak of."""
    found = [getattr(event, name, -1) for event in events for name in ("broker", "leader")]
    return names([f"b{each}" for each in dict.fromkeys(found) if each >= 0])


def nodes_of(events: list[Any], named: Mapping[str, int]) -> list[int]:
    """The nodes that events speak of, by id, or by a name of those that can be aimed at."""
    found = [getattr(event, "broker", -1) for event in events]
    found += [named.get(getattr(event, "target", ""), -1) for event in events]
    return [each for each in dict.fromkeys(found) if each >= 0]

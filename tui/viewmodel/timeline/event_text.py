"""Text of the rare events: the line of each kind in the feed, and the short label of its mark on the timeline."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from cluster_model.util.quantities import compact_count, few_names
from tui.terminal import glyphs
from tui.terminal.format import parameters, records

# Damaged batches in the feed.


DamageText = tuple[str, str, tuple[object, ...], str]
"""Glyph, role, the key that must be equal for two events to merge, and the line."""

DAMAGE_KINDS: Final = ("batch_corrupted", "corrupt_batch_found")
"""Kinds of events that :func:`describe_damage` describes."""


def describe_damage(event: Any) -> DamageText:
    """Text of a corrupted batch: the corruption itself, or the broker that found it and what it stopped."""
    key = (event.kind, event.partition, event.broker, event.log_offset)
    location = f"{event.partition} at offset {event.log_offset}"
    if event.kind == "batch_corrupted":
        return glyphs.DIVERGED, "alarm", key, f"b{event.broker}'s replica of {location} is corrupted, not yet detected"
    if event.by == "recovery":
        return glyphs.DIVERGED, "alarm", key, f"b{event.broker} recovery: {location} is corrupt, truncated there"
    activity = "fetch" if event.by == "follower" else "log cleaner"
    return glyphs.DIVERGED, "warning", key, f"b{event.broker} {activity}: {location} is corrupt: {event.detail}"


# Consumers, their groups, and producers in the feed.


ClientText = tuple[str, str, tuple[object, ...], str]
"""Glyph, role, the key that must be equal for two events to merge, and the line."""

_PARTITIONS: Final = {
    "partitions_assigned": (glyphs.OK, "calm", "is assigned"),
    "partitions_revoked": (glyphs.MORE_RIGHT, "text", "revokes"),
    "partitions_lost": (glyphs.DOWN, "warning", "lost"),
}
CLIENT_KINDS: Final = (
    "truncation_detected",
    "consumer_failed",
    "group_rebalanced",
    "offsets_expired",
    "commit_failed",
    "handler_failed",
    "interceptor_failed",
    "records_abandoned",
    "record_dead_lettered",
    *_PARTITIONS,
)
"""Kinds of events that :func:`describe_client` describes."""


def describe_client(event: Any) -> ClientText:
    """Text of an event of a client or of its group."""
    if event.kind == "offsets_expired":
        text = f"group {event.group_id}: offset {event.log_offset} of {event.partition} expired, {event.detail}"
        return glyphs.BULLET, "warning", (event.group_id, event.partition), text
    key = (event.client, event.at_us)
    if event.kind == "consumer_failed":
        return glyphs.DOWN, "alarm", key, f"{event.client} stopped: {event.error}"
    if event.kind == "commit_failed":
        # Automatic commits are retried every retry.backoff.ms while their coordinator is unavailable.
        same = (event.client, event.by, event.error)
        return glyphs.DOWN, "warning", same, f"{event.client}: commit failed ({event.by}): {event.error}"
    if event.kind == "handler_failed":
        text = f"{event.client} failed to process {event.count} records of {event.partition} from {event.log_offset} on"
        return glyphs.BULLET, "warning", key, text
    if event.kind == "record_dead_lettered":
        text = f"{event.client} sent {event.partition} offset {event.log_offset} to dead-letter topic {event.detail}"
        return glyphs.BULLET, "warning", (*key, event.partition, event.log_offset), text
    if event.kind == "records_abandoned":
        text = f"{event.client} skipped {event.count} records of {event.partition} from offset {event.log_offset}"
        return glyphs.BULLET, "warning", key, f"{text}: {event.by}"
    if event.kind == "interceptor_failed":
        text = f"{event.client}: interceptor {event.by} threw for {event.count} records of {event.partition}"
        return glyphs.BULLET, "warning", (*key, event.by), f"{text}; sent unchanged"
    if event.kind == "group_rebalanced":
        return glyphs.OK, "calm", key, f"group {event.group_id} rebalanced: {event.count} members, {event.detail}"
    if event.kind in _PARTITIONS:
        glyph, role, verb = _PARTITIONS[event.kind]
        return glyph, role, key, f"{event.client} {verb} {event.count} partitions: {event.detail}"
    where = f"{event.partition}, epoch {event.leader_epoch}"
    ends = "unknown to the leader" if event.end_offset < 0 else f"truncated at {event.end_offset}"
    text = f"{event.client} read up to offset {event.log_offset} of {where}, which is now {ends}"
    return glyphs.TRUNCATING, "warning", key, text


# Liveness violations in the feed.


def describe_liveness(event: Any) -> tuple[str, str, tuple[object, ...], Callable[[Any], str]]:
    """Return glyph, role, the key that must be equal for two events to merge, and the line of an entry."""
    where = f" of {event.partition}" if event.partition else ""
    text = f"deadline missed: {event.property}{where}: {event.detail}"
    role = "warning" if event.known else "alarm"
    return glyphs.VIOLATION, role, (event.property, event.partition, event.broker), lambda _entry: text


# Operations of an administrator in the feed.


OperationText = tuple[str, str, tuple[object, ...], str]
"""Glyph, role, the key that must be equal for two events to merge, and the line."""


def describe_operation(event: Any) -> OperationText:
    """Text of an operation that was requested, progressed or was answered."""
    number = event.operation_id
    name = f"operation #{number} {event.operation.replace('_', ' ')}"
    if event.kind == "admin_requested":
        how = f" {event.detail}" if event.detail else ""
        return glyphs.MORE_RIGHT, "text", (number,), f"{event.by}: {name}{how}"
    if event.kind == "admin_progress":
        return glyphs.BULLET, "quiet", (number, event.at_us, event.detail), f"{name}: {event.detail}"
    more = f", {event.detail}" if event.detail else ""
    if event.error:
        return glyphs.DOWN, "warning", (number,), f"{name} failed: {event.error}{more}"
    return glyphs.OK, "calm", (number,), f"{name} done{more}"


# Transactions in the feed.


TransactionText = tuple[str, str, tuple[object, ...], str]
"""Glyph, role, the key that must be equal for two events to merge, and the line."""

TRANSACTION_KINDS: Final = (
    "transaction_aborted",
    "transaction_unknown",
    "transaction_timed_out",
    "transaction_left_open",
    "producer_fenced",
)
"""Kinds of events that :func:`describe_transaction` describes."""


def describe_transaction(event: Any) -> TransactionText:
    """Text of an event of a transaction, or of its producer."""
    key = (event.kind, event.client, event.at_us)
    if event.kind == "producer_fenced":
        return glyphs.DOWN, "alarm", key, f"{event.client} ({event.detail}) fenced: {event.error}"
    producer = f"{event.client} ({event.detail})"
    if event.kind == "transaction_timed_out":
        return glyphs.LAGGING, "warning", key, f"{producer}: {event.by} timed out, retrying"
    amount = records(event.count)
    if event.kind == "transaction_aborted":
        role, why = ("warning", f": {event.error}") if event.error else ("quiet", "")
        return glyphs.MORE_RIGHT, role, key, f"{producer} aborted a transaction of {amount}{why}"
    if event.kind == "transaction_unknown":
        return glyphs.LAGGING, "warning", key, f"{producer}: outcome of the commit of {amount} unknown: {event.error}"
    return glyphs.LAGGING, "warning", key, f"{producer} left a transaction of {amount} open"


@dataclass(slots=True)
class FeedEntry:
    """Events that make one line of the feed: equal events of one moment, and their repeats."""

    key: tuple[object, ...]
    at_us: int
    glyph: str
    role: str
    text_of: Callable[["FeedEntry"], str]
    event: Any
    """The latest of the events."""
    partitions: list[str] = field(default_factory=list)
    records: int = 0
    repeats: int = 1
    """How often an identical event happened."""
    repeat_key: tuple[object, ...] = ()
    """Key that is equal in its repeats."""
    _searched: tuple[tuple[int, ...], str] = ((), "")
    """State of the entry, and its text at that state."""

    @property
    def last_us(self) -> int:
        """Virtual time of the latest event."""
        return int(self.event.at_us)

    def searched(self) -> str:
        """Return the text in which a search looks for words: that of the line, and all partitions."""
        state = (self.repeats, self.records, len(self.partitions), self.last_us)
        if self._searched[0] != state:
            self._searched = (state, " ".join((self.text_of(self), *self.partitions)))
        return self._searched[1]

    def partition_names(self) -> str:
        """Return the names of its partitions, shortened when there are many."""
        return few_names(self.partitions)


EventText = tuple[str, str, tuple[object, ...], Callable[[FeedEntry], str]]


def own_action(event: Any) -> bool:
    """Return whether it is an operator's own action, which already has a toast and a line of the fault."""
    return bool(event.kind == "step_taken" and event.by == "operator")


def describe_event(event: Any) -> EventText:
    """Return glyph, role, the key that must be equal for two events to merge, and the function that writes the line."""
    describe = _DESCRIBERS.get(event.kind)
    if describe is None:
        return glyphs.BULLET, "quiet", (event.at_us, id(event)), lambda entry: entry.event.kind.replace("_", " ")
    return describe(event)


def node_name(event: Any) -> str:
    """Return ``b2`` for a broker, the name of any other node."""
    return f"b{event.broker}" if event.broker >= 0 else str(event.node)


def _isr_text(isr: tuple[int, ...]) -> str:
    return f"{{{','.join(map(str, isr))}}}"


def _node_down(event: Any) -> EventText:
    texts = {
        "power_loss": "lost power, page cache lost" if event.broker >= 0 else "lost power",
        "disk_loss": "lost its disk and halted",
        "shutdown": "shut down cleanly",
        "close": "closed cleanly",
        "out_of_memory": "ran out of memory and exited",
    }
    ended, _colon, reason = event.detail.partition("exit: ")
    text = f"exited: {reason}" if reason and not ended else texts.get(event.detail, "crashed")
    return glyphs.DOWN, "down", (event.node,), lambda e: f"{node_name(e.event)} {text}"


def _node_up(event: Any) -> EventText:
    return glyphs.IN_SYNC, "calm", (event.node,), lambda e: f"{node_name(e.event)} started"


def _node_upgraded(event: Any) -> EventText:
    return glyphs.OK, "calm", (event.node,), lambda e: f"{node_name(e.event)} upgraded {e.event.detail}"


def _feature_finalized(event: Any) -> EventText:
    return glyphs.OK, "calm", (event.detail,), lambda _entry: f"feature level finalized: {event.detail}"


def _node_paused(event: Any) -> EventText:
    return glyphs.PAUSED, "warning", (event.node,), lambda e: f"{node_name(e.event)} paused, does not respond"


def _node_resumed(event: Any) -> EventText:
    return glyphs.IN_SYNC, "calm", (event.node,), lambda e: f"{node_name(e.event)} resumed"


def _registered(event: Any) -> EventText:
    return (
        glyphs.IN_SYNC,
        "calm",
        (event.broker,),
        lambda e: f"b{e.event.broker} registered and unfenced",
    )


def _controller(event: Any) -> EventText:
    return (
        glyphs.IN_SYNC,
        "calm",
        (event.node,),
        lambda e: f"{node_name(e.event)} is the controller, epoch {e.event.leader_epoch}",
    )


def _fenced(event: Any) -> EventText:
    return (
        glyphs.LAGGING,
        "warning",
        (event.broker,),
        lambda e: f"b{e.event.broker} fenced by the controller: {e.event.detail}",
    )


def _injected(event: Any) -> EventText:
    how = parameters(event.fault, event.detail)
    tail = f" ({how})" if how else ""
    return (
        glyphs.MORE_BELOW,
        "warning",
        (event.fault_id,),
        lambda e: f"fault #{e.event.fault_id} {e.event.fault.replace('_', ' ')} on {e.event.target}{tail}",
    )


def _healed(event: Any) -> EventText:
    return (
        glyphs.MORE_ABOVE,
        "calm",
        (event.fault_id,),
        lambda e: f"fault #{e.event.fault_id} {e.event.fault.replace('_', ' ')} on {e.event.target} ended",
    )


def _guarded(event: Any) -> EventText:
    what = f" {event.fault.replace('_', ' ')} on {event.target}" if event.fault else " all faults"
    text = f"safety guard {event.rule} {event.detail}{what}: {event.cause}"
    return glyphs.FENCED, "warning", (event.at_us, event.rule), lambda _entry: text


def _skipped(event: Any) -> EventText:
    text = f"{event.fault.replace('_', ' ')} on {event.target} skipped: {event.detail}"
    return glyphs.MORE_RIGHT, "quiet", (event.at_us, event.fault, event.target), lambda _entry: text


def _elected(event: Any) -> EventText:
    how = "" if event.clean else "UNCLEAN election: "
    return (
        glyphs.LEADER,
        "strong" if event.clean else "alarm",
        (event.leader, event.clean, event.by),
        lambda e: (
            f"{how}b{e.event.leader} elected for {e.partition_names()}, epoch {e.event.leader_epoch}"
            + (f" ({e.event.by})" if e.event.by else "")
        ),
    )


def _partition_created(event: Any) -> EventText:
    return glyphs.IN_SYNC, "calm", (event.leader,), lambda e: f"{e.partition_names()} created, leader b{e.event.leader}"


def _partition_deleted(_event: Any) -> EventText:
    return glyphs.DOWN, "warning", (), lambda e: f"{e.partition_names()} deleted with all its records"


def _replica_deleted(event: Any) -> EventText:
    return (
        glyphs.DOWN,
        "quiet",
        (event.broker, event.by),
        lambda e: f"b{e.event.broker} deleted its log of {e.partition_names()}",
    )


def _configured(event: Any) -> EventText:
    broker = f"b{event.broker}" if event.kind == "broker_config_changed" and event.broker >= 0 else "all brokers"
    owner = f"topic {event.target}" if event.kind == "topic_config_changed" else broker
    return glyphs.MORE_RIGHT, "quiet", (owner, event.detail), lambda _e: f"{owner} config: {event.detail or 'defaults'}"


def _offline(event: Any) -> EventText:
    return (
        glyphs.DOWN,
        "alarm",
        (event.isr,),
        lambda e: f"no leader for {e.partition_names()}: waiting for a broker of {_isr_text(e.event.isr)}",
    )


def _isr_changed(event: Any) -> EventText:
    out = sorted(set(event.previous_isr) - set(event.isr))
    back = sorted(set(event.isr) - set(event.previous_isr))
    change = " ".join([f"{glyphs.MINUS}b{each}" for each in out] + [f"+b{each}" for each in back]) or "unchanged"
    return (
        glyphs.BULLET,
        "warning" if out else "calm",
        (tuple(out), tuple(back)),
        lambda e: (
            f"ISR {change} on {e.partition_names()}"
            + (f", now {_isr_text(e.event.isr)}" if len(e.partitions) == 1 else "")
        ),
    )


def _elr_changed(event: Any) -> EventText:
    return (
        glyphs.BULLET,
        "calm",
        (event.elr,),
        lambda e: f"{e.partition_names()}: ELR (eligible leaders outside the ISR) {_isr_text(e.event.elr)}",
    )


def _recovery_changed(event: Any) -> EventText:
    word = "recovering from" if event.recovering else "recovered from"
    return glyphs.BULLET, "calm", (word,), lambda e: f"{e.partition_names()} {word} an unclean election"


def _assigned(event: Any) -> EventText:
    word = "reassigning: replicas" if event.adding or event.removing else "replicas"
    return (
        glyphs.BULLET,
        "calm",
        (word, event.replicas),
        lambda e: f"{e.partition_names()} {word} {_isr_text(e.event.replicas)}",
    )


def _rolled(event: Any) -> EventText:
    return (
        glyphs.MORE_RIGHT,
        "quiet",
        (event.broker, event.partition),
        lambda e: (
            f"b{e.event.broker} rolled a new segment of {e.partition_names()} at {e.event.log_offset} ({e.event.rule})"
        ),
    )


def _cleaned(event: Any) -> EventText:
    return (
        glyphs.MORE_RIGHT,
        "quiet",
        (event.broker, event.partition),
        lambda e: (
            f"b{e.event.broker} compacted {e.partition_names()} to {e.event.end_offset}, "
            f"{e.event.count} records removed"
        ),
    )


def _start_moved(event: Any) -> EventText:
    return (
        glyphs.MORE_RIGHT,
        "quiet",
        (event.broker, event.partition, event.by),
        lambda e: f"b{e.event.broker} deleted {e.partition_names()} up to {e.event.end_offset} ({e.event.by})",
    )


def _recovered(event: Any) -> EventText:
    return (
        glyphs.IN_SYNC,
        "calm",
        (event.broker,),
        lambda e: f"b{e.event.broker} loaded {e.event.count} logs: {e.event.detail}",
    )


def _truncated(event: Any) -> EventText:
    gone = event.end_offset - event.log_offset
    if gone <= 0:
        return glyphs.TRUNCATING, "quiet", (event.broker, event.rule), lambda e: f"b{e.event.broker}: no truncation"
    return (
        glyphs.TRUNCATING,
        "truncating",
        (event.broker, event.partition, event.at_us),
        lambda e: (
            f"b{e.event.broker} truncated {e.partition_names()} to {e.event.log_offset},"
            f" {records(e.event.end_offset - e.event.log_offset)} removed ({e.event.rule})"
        ),
    )


def _failed(event: Any) -> EventText:
    return (
        glyphs.DOWN,
        "warning",
        (event.client, event.error),
        lambda e: f"{e.event.client}: {records(e.records)} failed on {e.partition_names()}: {e.event.error}",
    )


def _unknown(event: Any) -> EventText:
    return (
        glyphs.LAGGING,
        "warning",
        (event.client, event.error),
        lambda e: (
            f"{e.event.client}: outcome of {records(e.records)} unknown on {e.partition_names()}: {e.event.error}"
        ),
    )


def _reset_text(event: Any) -> str:
    start = "starts" if event.end_offset < 0 else f"reset from offset {event.end_offset}"
    return f"{start} {'at' if event.end_offset < 0 else 'to'} offset {event.log_offset}"


def _reset(event: Any) -> EventText:
    return (
        glyphs.TRUNCATING,
        "warning",
        (event.client, event.log_offset) if event.end_offset < 0 else (event.group_id, event.partition),
        lambda e: f"{e.event.client} {_reset_text(e.event)} on {e.partition_names()}",
    )


def _cause_or_count(entry: FeedEntry) -> str:
    """Return why acknowledged records are missing, or, without a known cause, how many and where."""
    cause: str = entry.event.cause
    return cause or f"{records(entry.records, 'acked')} on {entry.partition_names()}"


def _missing(event: Any) -> EventText:
    return (
        glyphs.LOST,
        "alarm",
        (event.client, event.cause),
        lambda e: f"missing: {_cause_or_count(e)}",
    )


def _lost(event: Any) -> EventText:
    return (
        glyphs.LOST,
        "lost",
        (event.client, event.cause),
        lambda e: f"lost: {_cause_or_count(e)}",
    )


def _violated(event: Any) -> EventText:
    return (
        glyphs.VIOLATION,
        "alarm",
        (event.invariant,),
        lambda e: (
            f"{'expected ' * bool(e.event.known)}violation of {e.event.invariant} "
            f"on {e.partition_names()}: {e.event.detail}"
        ),
    )


def _step(event: Any) -> EventText:
    refused = f", failed: {event.error}" if event.error else ""
    text = f"{event.by}: {event.detail}{refused}"
    return glyphs.MORE_RIGHT, "warning" if refused else "quiet", (event.by, event.at_us), lambda _entry: text


def _operation(event: Any) -> EventText:
    glyph, role, key, text = describe_operation(event)
    return glyph, role, key, lambda _entry: text


def _group(event: Any) -> EventText:
    glyph, role, key, text = describe_client(event)
    return glyph, role, key, lambda _entry: text


def _transaction(event: Any) -> EventText:
    glyph, role, key, text = describe_transaction(event)
    return glyph, role, key, lambda _entry: text


def _damage(event: Any) -> EventText:
    glyph, role, key, text = describe_damage(event)
    return glyph, role, key, lambda _entry: text


def _checked(event: Any) -> EventText:
    glyph, role = (glyphs.OK, "calm") if event.ok else (glyphs.DOWN, "alarm")
    return (
        glyph,
        role,
        (event.rule,),
        lambda e: f"expectation {e.event.rule} {'passed' if e.event.ok else 'FAILED'}: {e.event.detail}",
    )


def _operation_event(event: Any) -> EventText:
    how = f" {event.detail}" if event.detail else ""
    text = f"{event.by}: {event.operation.replace('_', ' ')}{how} (operation #{event.operation_id})"
    return glyphs.MORE_RIGHT, "text", (event.operation_id,), lambda _entry: text


def _went_on(event: Any) -> EventText:
    text = f"operation #{event.operation_id} {event.operation.replace('_', ' ')}: {event.detail}"
    return glyphs.BULLET, "quiet", (event.operation_id, event.at_us), lambda _entry: text


def _answered(event: Any) -> EventText:
    name = f"operation #{event.operation_id} {event.operation.replace('_', ' ')}"
    more = f", {event.detail}" if event.detail else ""
    if event.error:
        return glyphs.DOWN, "warning", (event.operation_id,), lambda _entry: f"{name} failed: {event.error}{more}"
    return glyphs.OK, "calm", (event.operation_id,), lambda _entry: f"{name} done{more}"


_DESCRIBERS: Final[dict[str, Callable[[Any], EventText]]] = {
    "node_down": _node_down,
    "node_up": _node_up,
    "node_upgraded": _node_upgraded,
    "feature_finalized": _feature_finalized,
    "node_paused": _node_paused,
    "node_resumed": _node_resumed,
    "broker_registered": _registered,
    "broker_fenced": _fenced,
    "controller_changed": _controller,
    "fault_injected": _injected,
    "fault_healed": _healed,
    "guard_acted": _guarded,
    "fault_skipped": _skipped,
    "leader_elected": _elected,
    "partition_offline": _offline,
    "partition_created": _partition_created,
    "partition_deleted": _partition_deleted,
    "replica_deleted": _replica_deleted,
    "topic_config_changed": _configured,
    "broker_config_changed": _configured,
    "isr_changed": _isr_changed,
    "truncated": _truncated,
    "elr_changed": _elr_changed,
    "recovery_changed": _recovery_changed,
    "assignment_changed": _assigned,
    "segment_rolled": _rolled,
    "log_cleaned": _cleaned,
    "log_start_moved": _start_moved,
    "recovery_finished": _recovered,
    "records_failed": _failed,
    "records_unknown": _unknown,
    "consumer_reset": _reset,
    "records_missing": _missing,
    "records_lost": _lost,
    "invariant_violated": _violated,
    "liveness_violated": describe_liveness,
    "step_taken": _step,
    **dict.fromkeys(("admin_requested", "admin_progress", "admin_answered"), _operation),
    "expectation_checked": _checked,
    "admin_requested": _operation_event,
    "admin_progress": _went_on,
    "admin_answered": _answered,
    **dict.fromkeys(CLIENT_KINDS, _group),
    **dict.fromkeys(TRANSACTION_KINDS, _transaction),
    **dict.fromkeys(DAMAGE_KINDS, _damage),
}


# The short label of a mark on the timeline; the full text is in the events pane.


FAULTS: Final = "faults"
CLUSTER: Final = "cluster"
CLIENTS: Final = "clients"
SAFETY: Final = "safety"
LANES: Final = (FAULTS, CLUSTER, CLIENTS, SAFETY)
"""Names of the lanes, from top to bottom."""


class EventNoun(NamedTuple):
    """Lane of a kind of events, and its noun in singular and plural."""

    lane: str
    one: str
    many: str


def _sorts(lane: str, *nouns: tuple[str, str, str]) -> dict[str, EventNoun]:
    return {kind: EventNoun(lane, one, many) for kind, one, many in nouns}


EVENT_NOUNS: Final[dict[str, EventNoun]] = {
    **_sorts(
        FAULTS,
        ("fault_injected", "fault", "faults"),
        ("fault_healed", "fault ended", "faults ended"),
        ("fault_skipped", "skipped fault", "skipped faults"),
        ("guard_acted", "safety guard", "safety guards"),
        ("step_taken", "step", "steps"),
        ("admin_requested", "operation", "operations"),
        ("admin_progress", "progress", "progress reports"),
        ("admin_answered", "operation result", "operation results"),
        ("topic_config_changed", "topic config", "topic configs"),
        ("broker_config_changed", "broker config", "broker configs"),
        ("batch_corrupted", "corrupted batch", "corrupted batches"),
    ),
    **_sorts(
        CLUSTER,
        ("node_down", "node down", "nodes down"),
        ("node_up", "start", "starts"),
        ("node_upgraded", "upgraded node", "upgraded nodes"),
        ("feature_finalized", "feature level", "feature levels"),
        ("node_paused", "pause", "pauses"),
        ("node_resumed", "node resumed", "nodes resumed"),
        ("broker_registered", "registration", "registrations"),
        ("broker_fenced", "fenced broker", "fenced brokers"),
        ("controller_changed", "new controller", "new controllers"),
        ("leader_elected", "election", "elections"),
        ("partition_offline", "offline", "offline"),
        ("isr_changed", "ISR change", "ISR changes"),
        ("partition_created", "new partition", "new partitions"),
        ("partition_deleted", "deleted partition", "deleted partitions"),
        ("replica_deleted", "deleted log", "deleted logs"),
        ("elr_changed", "ELR change", "ELR changes"),
        ("recovery_changed", "recovery", "recoveries"),
        ("assignment_changed", "reassignment", "reassignments"),
        ("truncated", "truncation", "truncations"),
        ("segment_rolled", "new segment", "new segments"),
        ("log_start_moved", "retention", "retentions"),
        ("log_cleaned", "compaction", "compactions"),
        ("recovery_finished", "log recovery", "log recoveries"),
        ("corrupt_batch_found", "corrupt batch", "corrupt batches"),
    ),
    **_sorts(
        CLIENTS,
        ("records_failed", "failed", "failed"),
        ("records_unknown", "unknown", "unknown"),
        ("consumer_reset", "offset reset", "offset resets"),
        ("truncation_detected", "truncation detected", "truncations detected"),
        ("consumer_failed", "consumer failed", "consumers failed"),
        ("group_rebalanced", "rebalance", "rebalances"),
        ("offsets_expired", "expired offset", "expired offsets"),
        ("partitions_assigned", "assignment", "assignments"),
        ("partitions_revoked", "revocation", "revocations"),
        ("partitions_lost", "assignment lost", "assignments lost"),
        ("handler_failed", "handler failure", "handler failures"),
        ("commit_failed", "failed commit", "failed commits"),
        ("interceptor_failed", "interceptor failure", "interceptor failures"),
        ("records_abandoned", "skipped records", "skips of records"),
        ("transaction_aborted", "abort", "aborts"),
        ("transaction_unknown", "unknown commit", "unknown commits"),
        ("transaction_timed_out", "transaction timeout", "transaction timeouts"),
        ("transaction_left_open", "open transaction", "open transactions"),
        ("producer_fenced", "fenced producer", "fenced producers"),
        ("record_dead_lettered", "dead-letter record", "dead-letter records"),
    ),
    **_sorts(
        SAFETY,
        ("records_missing", "missing", "missing"),
        ("records_lost", "lost", "lost"),
        ("invariant_violated", "violation", "violations"),
        ("liveness_violated", "deadline missed", "deadlines missed"),
        ("expectation_checked", "expectation", "expectations"),
    ),
}  # fmt: skip
"""Kind of a rare event → its lane and nouns."""

LOAD_KIND: Final = "records_acked"
"""Kind of the events that the load is counted from."""
_IN_RECORDS: Final = frozenset({"records_failed", "records_unknown", "records_missing", "records_lost"})
"""Kinds of events whose marks count records instead of events."""


def in_records(kind: str) -> bool:
    """Return whether the text of a kind counts records instead of events."""
    return kind in _IN_RECORDS


def lane_of(kind: str) -> str:
    """Return the lane of a kind; the cluster's lane for a kind without an entry."""
    sort = EVENT_NOUNS.get(kind)
    return sort.lane if sort is not None else CLUSTER


def mark_label(event: Any, times: int, records: int, role: str) -> str:
    """Return the label of a mark for ``times`` events, ``event`` the first of them, and for ``records`` records."""
    kind = event.kind
    sort = EVENT_NOUNS.get(kind) or EventNoun(CLUSTER, kind.replace("_", " "), kind.replace("_", " "))
    if kind in _IN_RECORDS:
        return f"{compact_count(records)} {sort.one}"
    if times == 1:
        short = _SHORT.get(kind)
        return short(event) if short is not None else sort.one
    unclean = "unclean " if kind == "leader_elected" and role == "alarm" else ""
    return f"{compact_count(times)} {unclean}{sort.many}"


def _target(event: Any) -> str:
    return str(event.target).replace("broker ", "b")


def _isr_label(event: Any) -> str:
    out = [each for each in event.previous_isr if each not in event.isr]
    back = [each for each in event.isr if each not in event.previous_isr]
    change = [f"{glyphs.MINUS}b{each}" for each in out] + [f"+b{each}" for each in back]
    return f"ISR {' '.join(change)}" if change else "ISR"


def _election_label(event: Any) -> str:
    return f"{'' if event.clean else 'unclean '}b{event.leader} e{event.leader_epoch}"


def _group_label(event: Any) -> str:
    return f"{EVENT_NOUNS[event.kind].one} {event.group_id}"


def _client(event: Any) -> str:
    return f"{event.client} {EVENT_NOUNS[event.kind].one}"


_SHORT: Final[dict[str, Callable[[Any], str]]] = {
    "fault_injected": lambda event: f"{event.fault.replace('_', ' ')} {_target(event)}",
    "fault_healed": lambda event: f"{event.fault.replace('_', ' ')} {_target(event)} ended",
    "guard_acted": lambda event: f"guard {event.rule} {event.detail}",
    "step_taken": lambda event: str(event.by),
    "admin_requested": lambda event: event.operation.replace("_", " "),
    "admin_progress": lambda event: f"{event.operation.replace('_', ' ')}: {event.detail}",
    "admin_answered": lambda event: f"{event.operation.replace('_', ' ')} {'failed' if event.error else 'done'}",
    "node_down": lambda event: f"{node_name(event)} down",
    "node_up": lambda event: f"{node_name(event)} up",
    "node_upgraded": lambda event: f"{node_name(event)} upgraded",
    "feature_finalized": lambda event: event.detail,
    "node_paused": lambda event: f"{node_name(event)} paused",
    "node_resumed": lambda event: f"{node_name(event)} resumed",
    "broker_registered": lambda event: f"b{event.broker} registered",
    "broker_fenced": lambda event: f"b{event.broker} fenced",
    "controller_changed": lambda event: f"controller {node_name(event)}",
    "leader_elected": _election_label,
    "partition_offline": lambda event: f"{event.partition} offline",
    "isr_changed": _isr_label,
    "truncated": lambda event: f"b{event.broker} truncates to {event.log_offset}",
    "recovery_finished": lambda event: f"b{event.broker} logs loaded",
    "consumer_reset": lambda event: f"reset to {event.log_offset}",
    "consumer_failed": _client,
    "group_rebalanced": _group_label,
    "producer_fenced": lambda event: f"{event.client} fenced",
    "invariant_violated": lambda event: str(event.invariant),
    "liveness_violated": lambda event: f"missed {event.property}",
    "expectation_checked": lambda event: f"{'passed' if event.ok else 'FAILED'}: {event.rule}",
    "partition_created": lambda event: f"new {event.partition}",
    "partition_deleted": lambda event: f"{event.partition} deleted",
}


def partitions_of(events: list[Any]) -> str:
    """Return the partitions that events name, shortened when there are many."""
    found = dict.fromkeys(event.partition for event in events if getattr(event, "partition", ""))
    return few_names(list(found))


def brokers_of(events: list[Any]) -> str:
    """Return the brokers that events name, shortened when there are many."""
    found = [getattr(event, name, -1) for event in events for name in ("broker", "leader")]
    return few_names([f"b{each}" for each in dict.fromkeys(found) if each >= 0])


def nodes_of(events: list[Any], named: Mapping[str, int]) -> list[int]:
    """Return ids of the nodes that events name, by broker id or by the name of a target in ``named``."""
    found = [getattr(event, "broker", -1) for event in events]
    found += [named.get(getattr(event, "target", ""), -1) for event in events]
    return [each for each in dict.fromkeys(found) if each >= 0]

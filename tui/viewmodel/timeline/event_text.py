"""Events as text: what each rare kind says in the feed, and the short label of its mark."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from cluster_model.util.quantities import compact_count, few_names
from tui.terminal import glyphs
from tui.terminal.format import parameters, records

# Damaged batches in the feed.


DamageText = tuple[str, str, tuple[object, ...], str]
"""Glyph, role, what must be equal to merge, and the line."""

DAMAGE_KINDS: Final = ("batch_damaged", "corrupt_batch_found")
"""The events that are told here."""


def describe_damage(event: Any) -> DamageText:
    """What was damaged, or who came upon it and what stands still for it."""
    key = (event.kind, event.partition, event.broker, event.log_offset)
    place = f"{event.partition} at offset {event.log_offset}"
    if event.kind == "batch_damaged":
        return glyphs.DIVERGED, "alarm", key, f"b{event.broker}'s copy of {place} is damaged; nobody has noticed"
    if event.by == "recovery":
        return glyphs.DIVERGED, "alarm", key, f"b{event.broker} recovers, finds {place} corrupt and ends the log there"
    who = "fetches" if event.by == "follower" else "cleans"
    return glyphs.DIVERGED, "warning", key, f"b{event.broker} {who} {place}, which is corrupt: {event.detail}"


# Consumers, their groups, and producers in the feed.


ClientText = tuple[str, str, tuple[object, ...], str]
"""Glyph, role, what must be equal to merge, and the line."""

_PARTITIONS: Final = {
    "partitions_assigned": (glyphs.OK, "calm", "is given"),
    "partitions_revoked": (glyphs.MORE_RIGHT, "text", "gives up"),
    "partitions_lost": (glyphs.DOWN, "warning", "has lost"),
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
"""The events that are told here."""


def describe_client(event: Any) -> ClientText:
    """What happened to a client or to its group."""
    if event.kind == "offsets_expired":
        said = f"group {event.group_id}: offset {event.log_offset} of {event.partition} expires, {event.detail}"
        return glyphs.BULLET, "warning", (event.group_id, event.partition), said
    key = (event.client, event.at_us)
    if event.kind == "consumer_failed":
        return glyphs.DOWN, "alarm", key, f"{event.client} ends with {event.error}"
    if event.kind == "commit_failed":
        # Automatic commits are tried again every retry.backoff.ms while their coordinator is away.
        same = (event.client, event.by, event.error)
        return glyphs.DOWN, "warning", same, f"{event.client} cannot commit ({event.by}): {event.error}"
    if event.kind == "handler_failed":
        said = f"{event.client} cannot process {event.count} records of {event.partition} from {event.log_offset} on"
        return glyphs.BULLET, "warning", key, said
    if event.kind == "record_dead_lettered":
        said = f"{event.client} cannot process {event.partition} at {event.log_offset}: a dead letter in {event.detail}"
        return glyphs.BULLET, "warning", (*key, event.partition, event.log_offset), said
    if event.kind == "records_abandoned":
        said = f"{event.client} does not process {event.count} records of {event.partition} from {event.log_offset} on"
        return glyphs.BULLET, "warning", key, f"{said}: {event.by}"
    if event.kind == "interceptor_failed":
        said = f"{event.client}: interceptor {event.by} throws at {event.count} records of {event.partition}"
        return glyphs.BULLET, "warning", (*key, event.by), f"{said}, which are sent without it"
    if event.kind == "group_rebalanced":
        return glyphs.OK, "calm", key, f"group {event.group_id} rebalanced: {event.count} members, {event.detail}"
    if event.kind in _PARTITIONS:
        glyph, role, verb = _PARTITIONS[event.kind]
        return glyph, role, key, f"{event.client} {verb} {event.count} partitions: {event.detail}"
    where = f"{event.partition}, epoch {event.leader_epoch}"
    ends = "is unknown to its leader" if event.end_offset < 0 else f"ends at {event.end_offset}"
    said = f"{event.client} has read up to {event.log_offset} of {where}, which {ends} now"
    return glyphs.TRUNCATING, "warning", key, said


# Liveness violations in the feed.


def describe_liveness(event: Any) -> tuple[str, str, tuple[object, ...], Callable[[Any], str]]:
    """Glyph, role, what must be equal to merge, and the line of an entry."""
    where = f" of {event.partition}" if event.partition else ""
    said = f"overdue {event.property}{where}: {event.detail}"
    role = "warning" if event.known else "alarm"
    return glyphs.BROKEN, role, (event.property, event.partition, event.broker), lambda _entry: said


# An administrator's operations in the feed.


OperationText = tuple[str, str, tuple[object, ...], str]
"""Glyph, role, what must be equal to merge, and the line."""


def describe_operation(event: Any) -> OperationText:
    """What happened to an operation."""
    number = event.operation_id
    name = f"operation #{number} {event.operation.replace('_', ' ')}"
    if event.kind == "admin_requested":
        how = f" {event.detail}" if event.detail else ""
        return glyphs.MORE_RIGHT, "text", (number,), f"{event.by}: {name}{how}"
    if event.kind == "admin_progress":
        return glyphs.BULLET, "quiet", (number, event.at_us, event.detail), f"{name}: {event.detail}"
    more = f", {event.detail}" if event.detail else ""
    if event.error:
        return glyphs.DOWN, "warning", (number,), f"{name} refused: {event.error}{more}"
    return glyphs.OK, "calm", (number,), f"{name} done{more}"


# Transactions in the feed.


TransactionText = tuple[str, str, tuple[object, ...], str]
"""Glyph, role, what must be equal to merge, and the line."""

TRANSACTION_KINDS: Final = (
    "transaction_aborted",
    "transaction_unknown",
    "transaction_overdue",
    "transaction_left_open",
    "producer_fenced",
)
"""The events that are told here."""


def describe_transaction(event: Any) -> TransactionText:
    """What happened to a producer's transaction, or to the producer by it."""
    key = (event.kind, event.client, event.at_us)
    if event.kind == "producer_fenced":
        return glyphs.DOWN, "alarm", key, f"{event.client} ({event.detail}) ends with {event.error}"
    who = f"{event.client} ({event.detail})"
    if event.kind == "transaction_overdue":
        return glyphs.LAGGING, "warning", key, f"{who} waits for its {event.by}, and asks again"
    much = records(event.count)
    if event.kind == "transaction_aborted":
        role, why = ("warning", f": {event.error}") if event.error else ("quiet", "")
        return glyphs.MORE_RIGHT, role, key, f"{who} aborts a transaction of {much}{why}"
    if event.kind == "transaction_unknown":
        return glyphs.LAGGING, "warning", key, f"{who}: commit of {much} unknown, {event.error}"
    return glyphs.LAGGING, "warning", key, f"{who} leaves a transaction of {much} open"


@dataclass(slots=True)
class FeedEntry:
    """Equal events of one moment, and their repeats: a line of the feed in the making."""

    key: tuple[object, ...]
    at_us: int
    glyph: str
    role: str
    say: Callable[["FeedEntry"], str]
    event: Any
    """The last of them."""
    partitions: list[str] = field(default_factory=list)
    records: int = 0
    repeats: int = 1
    """How often the very same happened."""
    repeat_key: tuple[object, ...] = ()
    """What is equal in its repeats."""

    @property
    def last_us(self) -> int:
        """When the last of them happened."""
        return int(self.event.at_us)

    def where(self) -> str:
        """The partitions it speaks of."""
        return few_names(self.partitions)


Said = tuple[str, str, tuple[object, ...], Callable[[FeedEntry], str]]


def own_action(event: Any) -> bool:
    """What an operator did has a toast and a fault's line already."""
    return bool(event.kind == "step_taken" and event.by == "operator")


def describe_event(event: Any) -> Said:
    """Glyph, role, what must be equal to merge, and the words."""
    teller = _TELLERS.get(event.kind)
    if teller is None:
        return glyphs.BULLET, "quiet", (event.at_us, id(event)), lambda entry: entry.event.kind.replace("_", " ")
    return teller(event)


def node_name(event: Any) -> str:
    """A broker by its number, another node by its name."""
    return f"b{event.broker}" if event.broker >= 0 else str(event.node)


def _isr_text(isr: tuple[int, ...]) -> str:
    return f"{{{','.join(map(str, isr))}}}"


def _node_down(event: Any) -> Said:
    words = {
        "power_loss": "lost power, its page cache is gone" if event.broker >= 0 else "lost power",
        "disk_loss": "lost its disk and halted",
        "shutdown": "shut down cleanly",
        "close": "closed in order",
        "out_of_memory": "ran out of memory and exited",
    }
    ended, _colon, reason = event.detail.partition("exit: ")
    word = f"ended itself: {reason}" if reason and not ended else words.get(event.detail, "crashed")
    return glyphs.DOWN, "down", (event.node,), lambda e: f"{node_name(e.event)} {word}"


def _node_up(event: Any) -> Said:
    return glyphs.IN_SYNC, "calm", (event.node,), lambda e: f"{node_name(e.event)} started"


def _node_paused(event: Any) -> Said:
    return glyphs.PAUSED, "warning", (event.node,), lambda e: f"{node_name(e.event)} stopped answering"


def _node_resumed(event: Any) -> Said:
    return glyphs.IN_SYNC, "calm", (event.node,), lambda e: f"{node_name(e.event)} goes on where it stopped"


def _registered(event: Any) -> Said:
    return (
        glyphs.IN_SYNC,
        "calm",
        (event.broker,),
        lambda e: f"b{e.event.broker} registered, the controller counts on it",
    )


def _controller(event: Any) -> Said:
    return (
        glyphs.IN_SYNC,
        "calm",
        (event.node,),
        lambda e: f"{node_name(e.event)} is the controller, epoch {e.event.leader_epoch}",
    )


def _fenced(event: Any) -> Said:
    return (
        glyphs.LAGGING,
        "warning",
        (event.broker,),
        lambda e: f"b{e.event.broker} fenced by the controller: {e.event.detail}",
    )


def _injected(event: Any) -> Said:
    how = parameters(event.fault, event.detail)
    tail = f" ({how})" if how else ""
    return (
        glyphs.MORE_BELOW,
        "warning",
        (event.fault_id,),
        lambda e: f"fault #{e.event.fault_id} {e.event.fault.replace('_', ' ')} on {e.event.target}{tail}",
    )


def _healed(event: Any) -> Said:
    return (
        glyphs.MORE_ABOVE,
        "calm",
        (event.fault_id,),
        lambda e: f"fault #{e.event.fault_id} {e.event.fault.replace('_', ' ')} on {e.event.target} ended",
    )


def _guarded(event: Any) -> Said:
    what = f" {event.fault.replace('_', ' ')} on {event.target}" if event.fault else " the chaos"
    said = f"guard {event.rule} {event.detail}{what}: {event.cause}"
    return glyphs.FENCED, "warning", (event.at_us, event.rule), lambda _entry: said


def _skipped(event: Any) -> Said:
    said = f"{event.fault.replace('_', ' ')} on {event.target} skipped: {event.detail}"
    return glyphs.MORE_RIGHT, "quiet", (event.at_us, event.fault, event.target), lambda _entry: said


def _elected(event: Any) -> Said:
    how = "" if event.clean else "UNCLEAN: "
    return (
        glyphs.LEADER,
        "strong" if event.clean else "alarm",
        (event.leader, event.clean, event.by),
        lambda e: (
            f"{how}b{e.event.leader} elected for {e.where()}, epoch {e.event.leader_epoch}"
            + (f" ({e.event.by})" if e.event.by else "")
        ),
    )


def _partition_created(event: Any) -> Said:
    return glyphs.IN_SYNC, "calm", (event.leader,), lambda e: f"{e.where()} created, b{e.event.leader} leads"


def _partition_deleted(_event: Any) -> Said:
    return glyphs.DOWN, "warning", (), lambda e: f"{e.where()} deleted with everything in it"


def _replica_deleted(event: Any) -> Said:
    return glyphs.DOWN, "quiet", (event.broker, event.by), lambda e: f"b{e.event.broker} deletes its log of {e.where()}"


def _configured(event: Any) -> Said:
    who = f"topic {event.target}" if event.kind == "topic_config_changed" else f"b{event.broker}"
    return glyphs.MORE_RIGHT, "quiet", (who, event.detail), lambda _e: f"{who} set to {event.detail or 'its defaults'}"


def _offline(event: Any) -> Said:
    return (
        glyphs.DOWN,
        "alarm",
        (event.isr,),
        lambda e: f"no leader for {e.where()}: waits for one of {_isr_text(e.event.isr)}",
    )


def _isr_changed(event: Any) -> Said:
    out = sorted(set(event.previous_isr) - set(event.isr))
    back = sorted(set(event.isr) - set(event.previous_isr))
    change = " ".join([f"{glyphs.MINUS}b{each}" for each in out] + [f"+b{each}" for each in back]) or "unchanged"
    return (
        glyphs.BULLET,
        "warning" if out else "calm",
        (tuple(out), tuple(back)),
        lambda e: (
            f"ISR {change} on {e.where()}" + (f", now {_isr_text(e.event.isr)}" if len(e.partitions) == 1 else "")
        ),
    )


def _elr_changed(event: Any) -> Said:
    return (
        glyphs.BULLET,
        "calm",
        (event.elr,),
        lambda e: f"{e.where()}: out of sync but may lead {_isr_text(e.event.elr)}",
    )


def _recovery_changed(event: Any) -> Said:
    word = "recovers from" if event.recovering else "has recovered from"
    return glyphs.BULLET, "calm", (word,), lambda e: f"{e.where()} {word} an unclean election"


def _assigned(event: Any) -> Said:
    word = "moves: replicas" if event.adding or event.removing else "has replicas"
    return glyphs.BULLET, "calm", (word, event.replicas), lambda e: f"{e.where()} {word} {_isr_text(e.event.replicas)}"


def _rolled(event: Any) -> Said:
    return (
        glyphs.MORE_RIGHT,
        "quiet",
        (event.broker, event.partition),
        lambda e: f"b{e.event.broker} began a segment of {e.where()} at {e.event.log_offset} ({e.event.rule})",
    )


def _cleaned(event: Any) -> Said:
    return (
        glyphs.MORE_RIGHT,
        "quiet",
        (event.broker, event.partition),
        lambda e: f"b{e.event.broker} compacted {e.where()} up to {e.event.end_offset}, {e.event.count} records gone",
    )


def _start_moved(event: Any) -> Said:
    return (
        glyphs.MORE_RIGHT,
        "quiet",
        (event.broker, event.partition, event.by),
        lambda e: f"b{e.event.broker} deleted {e.where()} up to {e.event.end_offset} ({e.event.by})",
    )


def _recovered(event: Any) -> Said:
    return (
        glyphs.IN_SYNC,
        "calm",
        (event.broker,),
        lambda e: f"b{e.event.broker} loaded {e.event.count} logs: {e.event.detail}",
    )


def _truncated(event: Any) -> Said:
    gone = event.end_offset - event.log_offset
    if gone <= 0:
        return glyphs.TRUNCATING, "quiet", (event.broker, event.rule), lambda e: f"b{e.event.broker} had nothing to cut"
    return (
        glyphs.TRUNCATING,
        "truncating",
        (event.broker, event.partition, event.at_us),
        lambda e: (
            f"b{e.event.broker} cut {records(e.event.end_offset - e.event.log_offset)} of {e.where()}"
            f" back to {e.event.log_offset} ({e.event.rule})"
        ),
    )


def _failed(event: Any) -> Said:
    return (
        glyphs.DOWN,
        "warning",
        (event.client, event.error),
        lambda e: f"{e.event.client}: {records(e.records)} failed on {e.where()}, {e.event.error}",
    )


def _unknown(event: Any) -> Said:
    return (
        glyphs.LAGGING,
        "warning",
        (event.client, event.error),
        lambda e: f"{e.event.client}: fate of {records(e.records)} unknown on {e.where()}, {e.event.error}",
    )


def _jump(event: Any) -> str:
    return "begins at" if event.end_offset < 0 else f"jumped from {event.end_offset} to"


def _reset(event: Any) -> Said:
    return (
        glyphs.TRUNCATING,
        "warning",
        (event.group_id, event.partition),
        lambda e: f"{e.event.client} {_jump(e.event)} {e.event.log_offset} on {e.where()}",
    )


def _whatever(entry: FeedEntry) -> str:
    """Why acknowledged records are gone, or at least how many and where."""
    cause: str = entry.event.cause
    return cause or f"{records(entry.records, 'acked')} on {entry.where()}"


def _missing(event: Any) -> Said:
    return (
        glyphs.LOST,
        "alarm",
        (event.client, event.cause),
        lambda e: f"missing: {_whatever(e)}",
    )


def _lost(event: Any) -> Said:
    return (
        glyphs.LOST,
        "lost",
        (event.client, event.cause),
        lambda e: f"lost: {_whatever(e)}",
    )


def _violated(event: Any) -> Said:
    return (
        glyphs.BROKEN,
        "alarm",
        (event.invariant,),
        lambda e: f"{'known' if e.event.known else 'broken'} rule {e.event.invariant} on {e.where()}: {e.event.detail}",
    )


def _step(event: Any) -> Said:
    refused = f", refused: {event.error}" if event.error else ""
    said = f"{event.by}: {event.detail}{refused}"
    return glyphs.MORE_RIGHT, "warning" if refused else "quiet", (event.by, event.at_us), lambda _entry: said


def _operation(event: Any) -> Said:
    glyph, role, key, said = describe_operation(event)
    return glyph, role, key, lambda _entry: said


def _group(event: Any) -> Said:
    glyph, role, key, said = describe_client(event)
    return glyph, role, key, lambda _entry: said


def _transaction(event: Any) -> Said:
    glyph, role, key, said = describe_transaction(event)
    return glyph, role, key, lambda _entry: said


def _damage(event: Any) -> Said:
    glyph, role, key, said = describe_damage(event)
    return glyph, role, key, lambda _entry: said


def _checked(event: Any) -> Said:
    glyph, role = (glyphs.OK, "calm") if event.ok else (glyphs.DOWN, "alarm")
    return (
        glyph,
        role,
        (event.rule,),
        lambda e: f"expected {e.event.rule}: {'yes' if e.event.ok else 'no'} {e.event.detail}",
    )


def _asked(event: Any) -> Said:
    how = f" {event.detail}" if event.detail else ""
    said = f"{event.by}: {event.operation.replace('_', ' ')}{how} (operation #{event.operation_id})"
    return glyphs.MORE_RIGHT, "text", (event.operation_id,), lambda _entry: said


def _went_on(event: Any) -> Said:
    said = f"operation #{event.operation_id} {event.operation.replace('_', ' ')}: {event.detail}"
    return glyphs.BULLET, "quiet", (event.operation_id, event.at_us), lambda _entry: said


def _answered(event: Any) -> Said:
    name = f"operation #{event.operation_id} {event.operation.replace('_', ' ')}"
    more = f", {event.detail}" if event.detail else ""
    if event.error:
        return glyphs.DOWN, "warning", (event.operation_id,), lambda _entry: f"{name} refused: {event.error}{more}"
    return glyphs.OK, "calm", (event.operation_id,), lambda _entry: f"{name} done{more}"


_TELLERS: Final[dict[str, Callable[[Any], Said]]] = {
    "node_down": _node_down,
    "node_up": _node_up,
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
    "liveness_overdue": describe_liveness,
    "step_taken": _step,
    **dict.fromkeys(("admin_requested", "admin_progress", "admin_answered"), _operation),
    "expectation_checked": _checked,
    "admin_requested": _asked,
    "admin_progress": _went_on,
    "admin_answered": _answered,
    **dict.fromkeys(CLIENT_KINDS, _group),
    **dict.fromkeys(TRANSACTION_KINDS, _transaction),
    **dict.fromkeys(DAMAGE_KINDS, _damage),
}


# The short label of a mark on the timeline; the whole text is among the events.


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
        ("offsets_expired", "expired offset", "expired offsets"),
        ("partitions_assigned", "assignment", "assignments"),
        ("partitions_revoked", "given up", "times given up"),
        ("partitions_lost", "partitions lost", "times partitions lost"),
        ("handler_failed", "handler failure", "handler failures"),
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


def in_records(kind: str) -> bool:
    """Whether the words of a kind count records, not events."""
    return kind in _IN_RECORDS


def lane_of(kind: str) -> str:
    """The lane of a kind; what nobody has placed is the cluster's."""
    sort = SORTS.get(kind)
    return sort.lane if sort is not None else CLUSTER


def mark_label(event: Any, times: int, records: int, role: str) -> str:
    """The name of a mark that stands for so many events, this one the first of them, and for so many records."""
    kind = event.kind
    sort = SORTS.get(kind) or Sort(CLUSTER, kind.replace("_", " "), kind.replace("_", " "))
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
    "leader_elected": _election_label,
    "partition_offline": lambda event: f"{event.partition} offline",
    "isr_changed": _isr_label,
    "truncated": lambda event: f"b{event.broker} cuts to {event.log_offset}",
    "recovery_finished": lambda event: f"b{event.broker} loaded",
    "consumer_reset": lambda event: f"jump to {event.log_offset}",
    "consumer_failed": _client,
    "group_rebalanced": _group_label,
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
    return few_names(list(found))


def brokers_of(events: list[Any]) -> str:
    """The brokers that events speak of."""
    found = [getattr(event, name, -1) for event in events for name in ("broker", "leader")]
    return few_names([f"b{each}" for each in dict.fromkeys(found) if each >= 0])


def nodes_of(events: list[Any], named: Mapping[str, int]) -> list[int]:
    """The nodes that events speak of, by id, or by a name of those that can be aimed at."""
    found = [getattr(event, "broker", -1) for event in events]
    found += [named.get(getattr(event, "target", ""), -1) for event in events]
    return [each for each in dict.fromkeys(found) if each >= 0]

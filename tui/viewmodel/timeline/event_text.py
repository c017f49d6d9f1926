"""What each rare kind of event says in the feed: glyph, role, what must be equal to merge, and the words."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from tui.terminal import glyphs
from tui.terminal.format import names, parameters, records
from tui.viewmodel.timeline import damage_words, group_words, liveness_words, operation_words, transaction_words


@dataclass(slots=True)
class Entry:
    """Equal events of one moment: a line of the feed in the making."""

    key: tuple[object, ...]
    at_us: int
    glyph: str
    role: str
    say: Callable[["Entry"], str]
    event: Any
    partitions: list[str] = field(default_factory=list)
    times: int = 0
    records: int = 0

    def where(self) -> str:
        """The partitions it speaks of."""
        return names(self.partitions)


Said = tuple[str, str, tuple[object, ...], Callable[[Entry], str]]


def own_action(event: Any) -> bool:
    """What an operator did has a toast and a fault's line already."""
    return bool(event.kind == "step_taken" and event.by == "operator")


def describe(event: Any) -> Said:
    """Glyph, role, what must be equal to merge, and the words."""
    teller = _TELLERS.get(event.kind)
    if teller is None:
        return glyphs.BULLET, "quiet", (event.at_us, id(event)), lambda entry: entry.event.kind.replace("_", " ")
    return teller(event)


def node_name(event: Any) -> str:
    """A broker by its number, another node by its name."""
    return f"b{event.broker}" if event.broker >= 0 else str(event.node)


def _isr(isr: tuple[int, ...]) -> str:
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
        lambda e: f"no leader for {e.where()}: waits for one of {_isr(e.event.isr)}",
    )


def _isr_changed(event: Any) -> Said:
    out = sorted(set(event.previous_isr) - set(event.isr))
    back = sorted(set(event.isr) - set(event.previous_isr))
    change = " ".join([f"{glyphs.MINUS}b{each}" for each in out] + [f"+b{each}" for each in back]) or "unchanged"
    return (
        glyphs.BULLET,
        "warning" if out else "calm",
        (tuple(out), tuple(back)),
        lambda e: f"ISR {change} on {e.where()}" + (f", now {_isr(e.event.isr)}" if len(e.partitions) == 1 else ""),
    )


def _elr_changed(event: Any) -> Said:
    return glyphs.BULLET, "calm", (event.elr,), lambda e: f"{e.where()}: out of sync but may lead {_isr(e.event.elr)}"


def _recovery_changed(event: Any) -> Said:
    word = "recovers from" if event.recovering else "has recovered from"
    return glyphs.BULLET, "calm", (word,), lambda e: f"{e.where()} {word} an unclean election"


def _assigned(event: Any) -> Said:
    word = "moves: replicas" if event.adding or event.removing else "has replicas"
    return glyphs.BULLET, "calm", (word, event.replicas), lambda e: f"{e.where()} {word} {_isr(e.event.replicas)}"


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


def _whatever(entry: Entry) -> str:
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
        glyphs.LOST,
        "alarm",
        (event.invariant,),
        lambda e: f"{'known' if e.event.known else 'broken'} rule {e.event.invariant} on {e.where()}: {e.event.detail}",
    )


def _step(event: Any) -> Said:
    refused = f", refused: {event.error}" if event.error else ""
    said = f"{event.by}: {event.detail}{refused}"
    return glyphs.MORE_RIGHT, "warning" if refused else "quiet", (event.by, event.at_us), lambda _entry: said


def _operation(event: Any) -> Said:
    glyph, role, key, said = operation_words.told(event)
    return glyph, role, key, lambda _entry: said


def _group(event: Any) -> Said:
    glyph, role, key, said = group_words.told(event)
    return glyph, role, key, lambda _entry: said


def _transaction(event: Any) -> Said:
    glyph, role, key, said = transaction_words.told(event)
    return glyph, role, key, lambda _entry: said


def _damage(event: Any) -> Said:
    glyph, role, key, said = damage_words.told(event)
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
    "liveness_overdue": liveness_words.told,
    "step_taken": _step,
    **dict.fromkeys(("admin_requested", "admin_progress", "admin_answered"), _operation),
    "expectation_checked": _checked,
    "admin_requested": _asked,
    "admin_progress": _went_on,
    "admin_answered": _answered,
    **dict.fromkeys(group_words.KINDS, _group),
    **dict.fromkeys(transaction_words.KINDS, _transaction),
    **dict.fromkeys(damage_words.KINDS, _damage),
}

"""What happens to consumers and their groups, and inside of producers, in the words of the feed."""

from typing import Any, Final

from tui.terminal import glyphs

Words = tuple[str, str, tuple[object, ...], str]
"""Glyph, role, what must be equal to merge, and the line."""

_PARTITIONS: Final = {
    "partitions_assigned": (glyphs.OK, "calm", "is given"),
    "partitions_revoked": (glyphs.MORE_RIGHT, "text", "gives up"),
    "partitions_lost": (glyphs.DOWN, "warning", "has lost"),
}
KINDS: Final = (
    "truncation_detected",
    "consumer_failed",
    "group_rebalanced",
    "commit_failed",
    "handler_failed",
    "interceptor_failed",
    "records_abandoned",
    "record_dead_lettered",
    *_PARTITIONS,
)
"""The events that are told here."""


def told(event: Any) -> Words:
    """What happened to a client or to its group."""
    key = (event.client, event.at_us)
    if event.kind == "consumer_failed":
        return glyphs.DOWN, "alarm", key, f"{event.client} ends with {event.error}"
    if event.kind == "commit_failed":
        # Automatic commits are tried again every retry.backoff.ms while their coordinator is away.
        same = (event.client, event.by, event.error)
        return glyphs.DOWN, "warning", same, f"{event.client} cannot commit ({event.by}): {event.error}"
    if event.kind == "handler_failed":
        said = f"{event.client} skips {event.count} records of {event.partition} from {event.log_offset} on"
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

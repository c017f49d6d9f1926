"""The client history, summed up as it passes: what each kind of event means for the books on clients.

Only what a client was told counts here, at the time at which it was told, and never what the model knows beside that.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

from cluster_model.protocol.endings import CRASH, OUT_OF_MEMORY, POWER_LOSS
from playbooks.results.client_books import ClientBooks, Handed


def enter(books: ClientBooks, events: Iterable[Any]) -> None:
    """Enter trace events, in order; those of no client are passed over."""
    handlers = _HANDLERS
    for event in events:
        handler = handlers.get(event.kind)
        if handler is not None:
            handler(books, event)


def _sent(books: ClientBooks, event: Any) -> None:
    books.producer(event.client).sent += event.count


def _acked(books: ClientBooks, event: Any) -> None:
    books.producer(event.client).acked += event.count


def _failed(books: ClientBooks, event: Any) -> None:
    book = books.producer(event.client)
    book.failed += event.count
    book.errors[event.error] = book.errors.get(event.error, 0) + event.count


def _aborted(books: ClientBooks, event: Any) -> None:
    books.producer(event.client).aborted += event.count


def _unknown(books: ClientBooks, event: Any) -> None:
    book = books.producer(event.client)
    book.unknown += event.count
    book.errors[event.error] = book.errors.get(event.error, 0) + event.count


def _begun(books: ClientBooks, event: Any) -> None:
    books.producer(event.client).transactions += 1


def _transaction_committed(books: ClientBooks, event: Any) -> None:
    books.producer(event.client).transactions_committed += 1


def _transaction_aborted(books: ClientBooks, event: Any) -> None:
    books.producer(event.client).transactions_aborted += 1


def _transaction_unknown(books: ClientBooks, event: Any) -> None:
    books.producer(event.client).transactions_unknown += 1


def _producer_failed(books: ClientBooks, event: Any) -> None:
    books.producer(event.client).failure = event.error


def _intercepted(books: ClientBooks, event: Any) -> None:
    books.producer(event.client).interceptor_failures += event.count


def _refused(books: ClientBooks, event: Any) -> None:
    refused = books.producer(event.client).refused
    refused[event.error] = refused.get(event.error, 0) + 1


def _retried(books: ClientBooks, event: Any) -> None:
    books.producer(event.client).retries += 1


def _read(books: ClientBooks, event: Any) -> None:
    group = books.group(event.group_id)
    member = group.member(event.client)
    member.read += event.count
    handed = group.handed.get(event.partition)
    if handed is None:
        handed = group.handed[event.partition] = Handed()
    member.reread += handed.add(event.log_offset, event.log_offset + event.count)


def _truncation(books: ClientBooks, event: Any) -> None:
    group = books.group(event.group_id)
    group.member(event.client)
    group.truncations += 1
    if event.end_offset >= 0 and event.partition in group.handed:
        group.handed[event.partition].forget(event.end_offset)


def _reset(books: ClientBooks, event: Any) -> None:
    group = books.group(event.group_id)
    group.member(event.client)
    group.resets += event.end_offset >= 0


def _rebalanced(books: ClientBooks, event: Any) -> None:
    books.group(event.group_id).rebalances += 1


def partitions_of(event: Any) -> list[str]:
    """The partitions that a member was given, gave up or lost."""
    return [name for name in str(event.detail).rpartition(": ")[2].split(", ") if name]


def _assigned(books: ClientBooks, event: Any) -> None:
    group = books.group(event.group_id)
    group.member(event.client)
    for name in partitions_of(event):
        group.owners[name] = event.client
        if name in group.idle_since:
            group.idle_us += event.at_us - group.idle_since.pop(name)


def _given_up(books: ClientBooks, event: Any) -> None:
    group = books.group(event.group_id)
    if event.kind == "partitions_lost":
        group.member(event.client).lost += event.count
    for name in partitions_of(event):
        # Somebody else may have it by now: a member learns last that it lost a partition.
        if group.owners.get(name) == event.client and name not in group.idle_since:
            group.idle_since[name] = event.at_us


def _committed(books: ClientBooks, event: Any) -> None:
    member = books.group(event.group_id).member(event.client)
    if member.last_commit != (event.at_us, event.by):
        member.last_commit = (event.at_us, event.by)
        member.commits += 1


def _commit_failed(books: ClientBooks, event: Any) -> None:
    group = books.group(event.group_id)
    group.member(event.client).failed_commits += 1
    group.commit_errors[event.error] = group.commit_errors.get(event.error, 0) + 1


def _skipped(books: ClientBooks, event: Any) -> None:
    books.group(event.group_id).member(event.client).skipped += event.count


def _abandoned(books: ClientBooks, event: Any) -> None:
    books.group(event.group_id).member(event.client).abandoned += event.count


def _went_down(books: ClientBooks, event: Any) -> None:
    killed = dict.fromkeys((CRASH, POWER_LOSS, OUT_OF_MEMORY), books.killed)
    ends = {**killed, "close": books.closed}.get(event.detail)
    if event.broker < 0 and ends is not None:
        ends[event.node] = ends.get(event.node, 0) + 1


def _consumer_failed(books: ClientBooks, event: Any) -> None:
    books.group(event.group_id).member(event.client).failure = event.error


_HANDLERS: Final[dict[str, Callable[[ClientBooks, Any], None]]] = {
    "records_sent": _sent,
    "records_acked": _acked,
    "records_failed": _failed,
    "records_unknown": _unknown,
    "records_aborted": _aborted,
    "transaction_begun": _begun,
    "transaction_committed": _transaction_committed,
    "transaction_aborted": _transaction_aborted,
    "transaction_unknown": _transaction_unknown,
    "producer_fenced": _producer_failed,
    "interceptor_failed": _intercepted,
    "produce_refused": _refused,
    "produce_retried": _retried,
    "records_read": _read,
    "truncation_detected": _truncation,
    "consumer_reset": _reset,
    "group_rebalanced": _rebalanced,
    "partitions_assigned": _assigned,
    "partitions_revoked": _given_up,
    "partitions_lost": _given_up,
    "offsets_committed": _committed,
    "commit_failed": _commit_failed,
    "handler_failed": _skipped,
    "records_abandoned": _abandoned,
    "node_down": _went_down,
    "consumer_failed": _consumer_failed,
}
"""Kind of event → what it means for the books."""

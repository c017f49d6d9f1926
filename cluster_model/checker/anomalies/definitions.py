"""Every anomaly by name: its rule in one sentence, and whether it may be seen under the settings in force."""

from collections.abc import Callable
from typing import Final, NamedTuple

from cluster_model.checker.anomalies import cycles, order_rules, rules
from cluster_model.checker.anomalies.anomaly_case import AnomalyCase
from cluster_model.checker.anomalies.client_settings import InForce
from cluster_model.checker.anomalies.operations import COMMITTED, SUBSCRIBE, WIRE

Excuse = Callable[[AnomalyCase, InForce], str]
"""Why a case is legal, in one phrase; empty if it is not."""


class Anomaly(NamedTuple):
    """An anomaly. ``own``: it is no rule of Jepsen's checker for Kafka, but one of this model's."""

    name: str
    rule: str
    legal: str
    excuse: Excuse
    own: bool = False


def _never(_case: AnomalyCase, _now: InForce) -> str:
    return ""


def _always(why: str) -> Excuse:
    return lambda _case, _now: why


def _losses(case: AnomalyCase, now: InForce) -> str:
    return now.may_lose(case.who, case.key, written=True)


def _never_read(case: AnomalyCase, now: InForce) -> str:
    """Readers may have begun above it; that the last one is not served it, where anybody serves, is what tells."""
    return _losses(case, now) if now.led(case.key) else "nobody led the partition at the end"


def _losses_of_anybody(case: AnomalyCase, now: InForce) -> str:
    return now.may_lose("", case.key)


def _owners(case: AnomalyCase, now: InForce) -> str:
    return "a group.instance.id may be claimed by another process" if case.who in now.static else ""


def _duplicate(case: AnomalyCase, now: InForce) -> str:
    return now.may_repeat(case.who)


def _unseen(case: AnomalyCase, now: InForce) -> str:
    if not now.caught_up(case.key):
        return "the last read did not come to the partition's end"
    return now.may_lose(case.who, case.key, written=True) or _compacted(case, now)


def _aborted(case: AnomalyCase, now: InForce) -> str:
    if not now.transactional(case.who):
        return ""
    if case.manner != COMMITTED:
        return "the reader is read_uncommitted"
    return now.may_end_another()


def _precommitted(case: AnomalyCase, _now: InForce) -> str:
    return "" if case.manner == COMMITTED else "the reader is read_uncommitted"


def _compacted(case: AnomalyCase, now: InForce) -> str:
    return "the topic is compacted" if now.compacted(case.key) else ""


def _between_polls(case: AnomalyCase, now: InForce) -> str:
    if case.manner.startswith(SUBSCRIBE):
        return "the reader goes by its group's commits"
    if case.manner.startswith(WIRE):
        return "a real client reads from where it likes"
    return now.may_lose("", case.key) or now.may_skip(case.key)


def _reordered(case: AnomalyCase, now: InForce) -> str:
    return now.may_reorder(case.who) or now.may_lose(case.who, case.key)


def _circle(case: AnomalyCase, _now: InForce) -> str:
    if not case.manner:
        return "writes are not isolated, and one was behind another"
    return "" if COMMITTED in case.manner else "a reader is read_uncommitted"


_LOSS: Final = (
    "`acks` other than `all`; since it was written the partition had an unclean leader election, a batch damaged on "
    "disk, or its last copies in sync lost what was on no disk; a version that is known for it (before KIP-101, "
    "KIP-279 and KIP-320); without KIP-890 a transaction that another one's end has undone"
)

_TABLE: Final = (
    Anomaly(rules.INCONSISTENT_OFFSETS, "one offset of a key was seen with two values",
         "where a write may be lost, for then its offset is used again", _losses_of_anybody),
    Anomaly(rules.DUPLICATE, "one value stands at two offsets",
         "a producer that retries without idempotence, or sends again after a restart", _duplicate),
    Anomaly(rules.LOST_WRITE,
            "a committed value that stands no higher than what somebody has read there was never read",
         f"nobody led the partition at the end; {_LOSS}", _never_read),
    Anomaly(rules.UNSEEN, "at the end a value whose send was ok has not been returned by any poll",
         "the last read did not come to the partition's end; or where a write may be lost", _unseen),
    Anomaly(rules.ABORTED_READ, "a poll returned a value whose send failed or was aborted",
         "`read_uncommitted`; without KIP-890 (`transaction.version` 2) a late request may end another transaction",
         _aborted),
    Anomaly(rules.PRECOMMITTED_READ, "one operation both sends a value and reads it", "`read_uncommitted`",
            _precommitted),
    Anomaly(order_rules.INTERNAL_NONMONOTONIC_POLL, "inside one poll a value does not come behind the one before it",
         "a rebalance moved the partition meanwhile", _never),
    Anomaly(order_rules.INTERNAL_POLL_SKIP, "inside one poll values that were seen by others are left out",
         "a rebalance moved the partition meanwhile; the topic is compacted", _compacted),
    Anomaly(order_rules.NONMONOTONIC_POLL, "a process is returned a value that does not come behind its last one",
         "partitions are assigned by a group, or the client is a real one; or where a write may be lost",
         _between_polls),
    Anomaly(order_rules.POLL_SKIP, "a process leaves out values that were seen by others",
         "partitions are assigned by a group, or the client is a real one; a write may be lost, or records are "
         "deleted or compacted", _between_polls),
    Anomaly(order_rules.INTERNAL_NONMONOTONIC_SEND,
         "inside one transaction a value does not stand behind the one sent before it", "never", _never),
    Anomaly(order_rules.INTERNAL_SEND_SKIP, "inside one transaction other values stand between two that were sent",
         "always: writers interleave", _always("writers interleave")),
    Anomaly(order_rules.NONMONOTONIC_SEND, "a value does not stand behind the one that its process sent before",
         "retries without idempotence and more than one request in flight; or where a write may be lost", _reordered),
    Anomaly(cycles.WRITES, "transactions wrote behind each other in a circle", "always: writes are not isolated",
         _always("writes are not isolated")),
    Anomaly(cycles.READS, "transactions wrote behind or read each other in a circle, and one of them has read",
         "with writes in the circle; of reads alone under `read_uncommitted`", _circle),
    Anomaly(rules.PHANTOM, "a poll returned a value that nobody has sent", "never", _never),
    Anomaly(rules.CONSUME_DUP, "a process of a group was returned a value more than once",
         "always: delivery is at least once", _always("delivery is at least once")),
    Anomaly(order_rules.REALTIME_LAG, "a poll stopped short of what was known to exist when it was called",
         "always: a measure, not a fault", _always("a measure")),
    Anomaly(order_rules.REALTIME_ORDER, "a value stands before one that was acknowledged before it was sent",
         "where a write may be lost", _losses_of_anybody, own=True),
    Anomaly(rules.COMMIT_REGRESSION, "a group's committed offset goes back",
         "always: a coordinator keeps what it is told last", _always("a coordinator keeps what it is told last"),
         own=True),
    Anomaly(rules.TWO_OWNERS, "two members own a partition in one generation of their group",
         "a `group.instance.id` is claimed by another process", _owners, own=True),
)  # fmt: skip

KINDS: Final[dict[str, Anomaly]] = {kind.name: kind for kind in _TABLE}
"""Name → anomaly, in the order of the documentation."""

"""The verbs of manual steps, each one protocol action, with their parameters."""

from dataclasses import dataclass
from typing import Final, Literal

ParamType = Literal[
    "int", "ints", "str", "strs", "bool", "partition", "broker", "brokers", "acks", "epoch", "choice", "before"
]


@dataclass(frozen=True, slots=True)
class ManualParam:
    """A parameter of a manual step's verb.

    Type ``epoch`` is a leader epoch or ``latest``; ``acks`` is 0, 1 or all; ``before`` is an offset or ``hw``.
    """

    type: ParamType
    doc: str
    required: bool = True
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ManualVerb:
    """A protocol action with its parameters."""

    name: str
    doc: str
    params: dict[str, ManualParam]


_PARTITION: Final = ManualParam("partition", "Partition, as in orders-0.")
_FOLLOWER: Final = ManualParam("broker", "The follower.")
_LIMIT: Final = ManualParam("int", "Maximum records in the response.", required=False)


_RECORDS: Final = {
    "records": ManualParam("int", "Number of records (default 1).", required=False),
    "acks": ManualParam("acks", "0, 1 or all (default 1).", required=False),
    "names": ManualParam("strs", "A name for each record (default: numbers from 0).", required=False),
}
_NOW_OR_LATER: Final = ("now", "later")
_ALTER_LATER: Final = ManualParam(
    "choice", "When the controller answers: now (default), or later by alter_serve and alter_apply.", required=False,
    choices=_NOW_OR_LATER,
)  # fmt: skip
_ASKER_EPOCH: Final = ManualParam(
    "epoch", "Current leader epoch sent by the consumer (default none; not sent before 2.1).", required=False
)


def _broker(doc: str) -> ManualParam:
    return ManualParam("broker", doc)


def _table(*verbs: ManualVerb) -> dict[str, ManualVerb]:
    return {verb.name: verb for verb in verbs}


_ASKED: Final = {"broker": _broker("Target of the produce request."), "partition": _PARTITION}
_FETCHER: Final = {"follower": _FOLLOWER, "partition": _PARTITION}
_LEADER: Final = {"partition": _PARTITION, "broker": _broker("The leader that requests the ISR change.")}
_WHICH: Final = {"broker": _broker("The broker.")}
_REPLICA: Final = {"broker": _broker("The broker with the log."), "partition": _PARTITION}

_PRODUCE: Final = (
    ManualVerb(
        "append", "Send a produce request to a broker, which handles it by its own state.", {**_ASKED, **_RECORDS}
    ),
    ManualVerb("produce_send", "Send a produce request of one batch to a broker.", {**_ASKED, **_RECORDS}),
    ManualVerb(
        "produce_serve", "Deliver the oldest produce request in flight; with acks=all it may be delayed.", _ASKED
    ),
    ManualVerb("produce_apply", "Deliver the response to the oldest produce request to the client.", _ASKED),
    ManualVerb("produce_expire", "Time out the oldest delayed produce request of a broker.", _ASKED),
    ManualVerb("produce_lose", "Break the connection: the oldest produce request, or its response, is lost.", _ASKED),
)

_FETCH: Final = (
    ManualVerb(
        "fetch",
        "Run a follower's whole fetch round trip with the leader it knows, after a pending truncation.",
        {**_FETCHER, "records": _LIMIT},
    ),
    ManualVerb("fetch_send", "Send a follower's fetch to the leader it knows.", {**_FETCHER, "records": _LIMIT}),
    ManualVerb(
        "fetch_serve",
        "Handle the fetch in flight on the leader, and update the leader's state of the follower.",
        {
            **_FETCHER,
            "answer": ManualParam(
                "choice",
                "Whether a fetch without new records is answered now (default) or delayed.",
                required=False,
                choices=_NOW_OR_LATER,
            ),
        },
    ),
    ManualVerb("fetch_wake", "Complete a delayed fetch: its wait is over, or there are new records.", _FETCHER),
    ManualVerb("fetch_apply", "Deliver the fetch response to the follower.", _FETCHER),
    ManualVerb("fetch_lose", "Lose the fetch in flight, or its response.", _FETCHER),
)

_TRUNCATE: Final = (
    ManualVerb(
        "truncate_send",
        "Send the OffsetsForLeaderEpoch of a truncating follower to its leader, which answers.",
        {
            **_FETCHER,
            "answer": ManualParam(
                "choice",
                "Whether the leader answers now (default) or later by truncate_serve.",
                required=False,
                choices=_NOW_OR_LATER,
            ),
        },
    ),
    ManualVerb("truncate_serve", "Handle the OffsetsForLeaderEpoch in flight on the leader.", _FETCHER),
    ManualVerb("truncate_apply", "Deliver that response to the follower, which truncates.", _FETCHER),
    ManualVerb("truncate_lose", "Lose the OffsetsForLeaderEpoch in flight, or its response.", _FETCHER),
)

_CONTROL: Final = (
    ManualVerb(
        "elect",
        "Elect a leader in a new epoch that no broker has received yet; brokers that are down leave the ISR.",
        {
            "partition": _PARTITION,
            "leader": _broker("A member of the ISR, or any replica with unclean."),
            "unclean": ManualParam("bool", "Allow a leader from outside the ISR (default false).", required=False),
        },
    ),
    ManualVerb(
        "elect_leaders",
        "ElectLeaders: elect the preferred leader, or with unclean any live replica if there is no leader.",
        {
            "partition": _PARTITION,
            "unclean": ManualParam(
                "bool", "Unclean election, for a partition without a leader (default false).", required=False
            ),
        },
    ),
    ManualVerb(
        "drop_from_isr",
        "Remove a broker from the ISR by the controller, as when it is fenced.",
        {"partition": _PARTITION, "broker": _broker("The member to remove.")},
    ),
    ManualVerb(
        "fence",
        "Fence a broker, as when its session times out: the controller elects other leaders and removes it from ISRs.",
        _WHICH,
    ),
    ManualVerb(
        "unfence",
        "Unfence a broker that is running again; partitions without a leader may get one.",
        _WHICH,
    ),
    ManualVerb(
        "deliver",
        "Deliver a decision of the controller to a broker, which becomes leader or follower and truncates if needed.",
        {
            "broker": _broker("The receiver."),
            "partition": _PARTITION,
            "epoch": ManualParam("epoch", "Leader epoch of the decision (default latest).", required=False),
            "truncate": ManualParam(
                "choice",
                "When a truncation by the leader's epochs runs: now (default) or later.",
                required=False,
                choices=_NOW_OR_LATER,
            ),
        },
    ),
)

_ISR: Final = (
    ManualVerb(
        "shrink_isr",
        "Request an ISR without some members, as if replica.lag.time.max.ms had passed, and deliver the response.",
        {**_LEADER, "out": ManualParam("brokers", "Members to remove."), "answer": _ALTER_LATER},
    ),
    ManualVerb(
        "expand_isr",
        "Request to add a replica to the ISR by the rule of the version, and deliver the response.",
        {**_LEADER, "in": _broker("The replica to add."), "answer": _ALTER_LATER},
    ),
    ManualVerb(
        "expire_isr",
        "Run a leader's check for out-of-sync members by the rule of the version, and request an ISR without them.",
        {
            **_LEADER,
            "silent": ManualParam(
                "brokers", "Followers that count as not having fetched for replica.lag.time.max.ms.", required=False
            ),
            "answer": _ALTER_LATER,
        },
    ),
    ManualVerb("alter_send", "Send a leader's pending AlterPartition again.", _LEADER),
    ManualVerb("alter_serve", "Handle the AlterPartition in flight on the controller.", _LEADER),
    ManualVerb("alter_apply", "Deliver the controller's response to the leader.", _LEADER),
    ManualVerb("alter_lose", "Lose the AlterPartition in flight, or its response.", _LEADER),
)

_DISKS: Final = (
    ManualVerb("crash", "Crash a broker's process; its page cache is kept.", _WHICH),
    ManualVerb(
        "power_loss",
        "Cut the power of a broker's machine: its logs lose the records that are not on disk.",
        {
            **_WHICH,
            "keep": ManualParam("int", "Records left in each log (default: the flushed ones).", required=False),
        },
    ),
    ManualVerb("disk_loss", "Crash a broker and lose its disk: logs and checkpoints are gone.", _WHICH),
    ManualVerb("shutdown", "Shut a broker down cleanly: logs are flushed, checkpoints written.", _WHICH),
    ManualVerb("restart", "Start a broker's process and recover its logs.", _WHICH),
    ManualVerb("checkpoint", "Write a broker's high watermarks to disk.", _WHICH),
    ManualVerb("flush", "Flush a log to disk, which moves its recovery point.", _REPLICA),
    ManualVerb("roll", "Roll a new segment, which flushes the previous ones.", _REPLICA),
    ManualVerb("retain", "Delete the segments that exceed retention.", _REPLICA),
    ManualVerb(
        "delete_records",
        "DeleteRecords: move the log start of a partition to an offset.",
        {
            "broker": _broker("The leader, target of the request."),
            "partition": _PARTITION,
            "before": ManualParam("before", "The new first offset, or hw for the high watermark."),
        },
    ),
)

_READER: Final = {"broker": _broker("Target of the consumer's request."), "partition": _PARTITION}

_CONSUMER: Final = (
    ManualVerb(
        "consume",
        "Fetch from a broker at the consumer's position, and consume the records.",
        {
            **_READER,
            "epoch": _ASKER_EPOCH,
            "records": ManualParam("int", "Maximum records to consume.", required=False),
        },
    ),
    ManualVerb(
        "consume_validate",
        "Validate the consumer's position: it moves back to the end of the epoch of its last record if that is lower.",
        {**_READER, "epoch": _ASKER_EPOCH},
    ),
    ManualVerb(
        "list_offsets",
        "ListOffsets: look up an offset and move the consumer there.",
        {
            **_READER,
            "at": ManualParam("choice", "The offset.", choices=("earliest", "latest")),
            "epoch": _ASKER_EPOCH,
        },
    ),
    ManualVerb(
        "seek",
        "Move the consumer to an offset, as to a committed one.",
        {"partition": _PARTITION, "offset": ManualParam("int", "The new position.")},
    ),
)  # fmt: skip

MANUAL_VERBS: Final = _table(
    *_PRODUCE,
    *_FETCH,
    *_TRUNCATE,
    *_CONTROL,
    *_ISR,
    *_DISKS,
    *_CONSUMER,
    ManualVerb("show", "Print the state table.", {}),
)
"""All verbs by name."""

"""The vocabulary of hand-stepped traces: one protocol action a verb, with its parameters."""

from dataclasses import dataclass
from typing import Final, Literal

ParamType = Literal[
    "int", "ints", "str", "strs", "bool", "partition", "broker", "brokers", "acks", "epoch", "choice", "before"
]


@dataclass(frozen=True, slots=True)
class ManualParam:
    """A parameter. ``epoch`` is a leader epoch or ``latest``; ``acks`` 0, 1 or all; ``before`` an offset or ``hw``."""

    type: ParamType
    doc: str
    required: bool = True
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ManualVerb:
    """A protocol action."""

    name: str
    doc: str
    params: dict[str, ManualParam]


_PARTITION: Final = ManualParam("partition", "Partition, as in orders-0.")
_FOLLOWER: Final = ManualParam("broker", "The broker that follows.")
_LIMIT: Final = ManualParam("int", "Most records that the answer may carry.", required=False)


_RECORDS: Final = {
    "records": ManualParam("int", "How many records (1).", required=False),
    "acks": ManualParam("acks", "0, 1 or all (1).", required=False),
    "names": ManualParam("strs", "A name for each record; without, records count from 0.", required=False),
}
_NOW_OR_LATER: Final = ("now", "later")
_ALTER_LATER: Final = ManualParam(
    "choice", "Whether the controller answers at once (now); alter_serve and alter_apply do it later.", required=False,
    choices=_NOW_OR_LATER,
)  # fmt: skip
_ASKER_EPOCH: Final = ManualParam(
    "epoch", "The leader epoch that the consumer believes in and sends (none; before 2.1 never sent).", required=False
)


def _broker(doc: str) -> ManualParam:
    return ManualParam("broker", doc)


def _table(*verbs: ManualVerb) -> dict[str, ManualVerb]:
    return {verb.name: verb for verb in verbs}


_ASKED: Final = {"broker": _broker("The broker that is asked to write."), "partition": _PARTITION}
_FETCHER: Final = {"follower": _FOLLOWER, "partition": _PARTITION}
_LEADER: Final = {"partition": _PARTITION, "broker": _broker("The leader that proposes.")}
_WHICH: Final = {"broker": _broker("Which.")}
_REPLICA: Final = {"broker": _broker("Whose log."), "partition": _PARTITION}

_PRODUCE: Final = (
    ManualVerb(
        "append", "A produce request to a broker, answered by what that broker believes.", {**_ASKED, **_RECORDS}
    ),
    ManualVerb("produce_send", "A produce request of one batch leaves for a broker.", {**_ASKED, **_RECORDS}),
    ManualVerb(
        "produce_serve", "The oldest produce request under way arrives; with acks=all it may have to wait.", _ASKED
    ),
    ManualVerb("produce_apply", "The answer to the oldest produce request reaches the client.", _ASKED),
    ManualVerb("produce_expire", "The oldest produce request that waits at a broker times out there.", _ASKED),
    ManualVerb("produce_lose", "The connection breaks: the oldest produce request, or its answer, is lost.", _ASKED),
)

_FETCH: Final = (
    ManualVerb(
        "fetch",
        "A follower's whole round trip with the leader it believes in, a pending truncation first.",
        {**_FETCHER, "records": _LIMIT},
    ),
    ManualVerb(
        "fetch_send", "A follower's fetch leaves for the leader it believes in.", {**_FETCHER, "records": _LIMIT}
    ),
    ManualVerb(
        "fetch_serve",
        "The leader answers the fetch that is under way, and counts it.",
        {
            **_FETCHER,
            "answer": ManualParam(
                "choice",
                "Whether a fetch that finds nothing is answered at once (now) or parked.",
                required=False,
                choices=_NOW_OR_LATER,
            ),
        },
    ),
    ManualVerb("fetch_wake", "A parked fetch is answered: its wait is over, or there is something to read.", _FETCHER),
    ManualVerb("fetch_apply", "The answer reaches the follower.", _FETCHER),
    ManualVerb("fetch_lose", "The fetch that is under way, or its answer, is lost.", _FETCHER),
)

_TRUNCATE: Final = (
    ManualVerb(
        "truncate_send",
        "A follower that must truncate asks its leader where its latest epoch ended; the leader answers.",
        {
            **_FETCHER,
            "answer": ManualParam(
                "choice",
                "Whether the leader answers at once (now) or by truncate_serve.",
                required=False,
                choices=_NOW_OR_LATER,
            ),
        },
    ),
    ManualVerb("truncate_serve", "The leader answers the question that is under way.", _FETCHER),
    ManualVerb("truncate_apply", "That answer reaches the follower, which truncates.", _FETCHER),
    ManualVerb("truncate_lose", "The question that is under way, or its answer, is lost.", _FETCHER),
)

_CONTROL: Final = (
    ManualVerb(
        "elect",
        "The controller decides on a leader; a new epoch exists and nobody has been told. Down brokers leave the ISR.",
        {
            "partition": _PARTITION,
            "leader": _broker("A member of the ISR, or any replica with unclean."),
            "unclean": ManualParam("bool", "Allow a leader from outside the ISR (false).", required=False),
        },
    ),
    ManualVerb(
        "elect_leaders",
        "An administrator has the preferred leader elected, or with unclean any live replica where nobody leads.",
        {
            "partition": _PARTITION,
            "unclean": ManualParam("bool", "For a partition without a leader (false).", required=False),
        },
    ),
    ManualVerb(
        "drop_from_isr",
        "The controller takes a broker out of the ISR, as when it has given it up.",
        {"partition": _PARTITION, "broker": _broker("The member to drop.")},
    ),
    ManualVerb(
        "fence",
        "A broker's session ends: the controller elects other leaders and takes it out of every ISR.",
        _WHICH,
    ),
    ManualVerb(
        "unfence",
        "The controller hears of a fenced broker again; partitions without a leader may get one.",
        _WHICH,
    ),
    ManualVerb(
        "deliver",
        "A broker applies a decision of the controller and becomes leader or follower, truncation included.",
        {
            "broker": _broker("Who hears."),
            "partition": _PARTITION,
            "epoch": ManualParam("epoch", "Which decision, by leader epoch (latest).", required=False),
            "truncate": ManualParam(
                "choice",
                "Whether a truncation that asks the leader runs at once (now).",
                required=False,
                choices=_NOW_OR_LATER,
            ),
        },
    ),
)

_ISR: Final = (
    ManualVerb(
        "shrink_isr",
        "A leader proposes an ISR without some members, as if their lag time had passed; the controller's answer "
        "reaches it.",
        {**_LEADER, "out": ManualParam("brokers", "Members to leave."), "answer": _ALTER_LATER},
    ),
    ManualVerb(
        "expand_isr",
        "A leader proposes a newcomer by the join rule of its version; the controller's answer reaches it.",
        {**_LEADER, "in": _broker("The newcomer."), "answer": _ALTER_LATER},
    ),
    ManualVerb(
        "expire_isr",
        "A leader looks for members that are out of sync by the rule of its version, and proposes an ISR without them.",
        {
            **_LEADER,
            "silent": ManualParam(
                "brokers", "Followers that count as silent for longer than the lag time.", required=False
            ),
            "answer": _ALTER_LATER,
        },
    ),
    ManualVerb("alter_send", "A leader sends its pending proposal again.", _LEADER),
    ManualVerb("alter_serve", "The controller judges the proposal that is under way.", _LEADER),
    ManualVerb("alter_apply", "The controller's answer reaches the leader.", _LEADER),
    ManualVerb("alter_lose", "The proposal that is under way, or its answer, is lost.", _LEADER),
)

_DISKS: Final = (
    ManualVerb("crash", "A broker's process dies; its page cache stays.", _WHICH),
    ManualVerb(
        "power_loss",
        "A broker's machine loses power, and its logs what was not on disk.",
        {
            **_WHICH,
            "keep": ManualParam("int", "Records left in each log; without it, what had been flushed.", required=False),
        },
    ),
    ManualVerb("disk_loss", "A broker dies with its disk: logs and checkpoints are gone.", _WHICH),
    ManualVerb("shutdown", "A broker's process ends in good order: logs flushed, every checkpoint current.", _WHICH),
    ManualVerb("restart", "A broker's process starts and recovers its logs.", _WHICH),
    ManualVerb("checkpoint", "A broker writes its high watermarks to disk.", _WHICH),
    ManualVerb("flush", "A broker forces a log to disk, which moves its recovery point.", _REPLICA),
    ManualVerb("roll", "A broker begins a new segment, which flushes what lies before.", _REPLICA),
    ManualVerb("retain", "A broker deletes the segments that retention lets go.", _REPLICA),
    ManualVerb(
        "delete_records",
        "DeleteRecords: readers of a partition begin at an offset from now on.",
        {
            "broker": _broker("The broker that is asked."),
            "partition": _PARTITION,
            "before": ManualParam("before", "The new first offset, or hw for the high watermark."),
        },
    ),
)

_READER: Final = {"broker": _broker("The broker that is asked."), "partition": _PARTITION}

_CONSUMER: Final = (
    ManualVerb(
        "consume",
        "A consumer fetches at its position from a broker, and takes what it gets.",
        {
            **_READER,
            "epoch": _ASKER_EPOCH,
            "records": ManualParam("int", "Most records that it takes.", required=False),
        },
    ),
    ManualVerb(
        "consume_validate",
        "A consumer asks where the epoch of its last record ends, and goes back to there if that is behind it.",
        {**_READER, "epoch": _ASKER_EPOCH},
    ),
    ManualVerb(
        "list_offsets",
        "A consumer asks for an offset, and goes there.",
        {
            **_READER,
            "at": ManualParam("choice", "Which.", choices=("earliest", "latest")),
            "epoch": _ASKER_EPOCH,
        },
    ),
    ManualVerb(
        "seek",
        "A consumer goes to an offset, as with one that it had committed.",
        {"partition": _PARTITION, "offset": ManualParam("int", "Where to.")},
    ),
)  # fmt: skip

MANUAL_VERBS: Final = _table(
    *_PRODUCE, *_FETCH, *_TRUNCATE, *_CONTROL, *_ISR, *_DISKS, *_CONSUMER, ManualVerb("show", "Print the table.", {})
)
"""Every verb by name."""

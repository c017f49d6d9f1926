"""The vocabulary of hand-stepped traces: one protocol action a verb, with its parameters."""

from dataclasses import dataclass
from typing import Final, Literal

ParamType = Literal["int", "ints", "str", "strs", "bool", "partition", "broker", "brokers", "acks", "epoch", "choice"]


@dataclass(frozen=True, slots=True)
class ManualParam:
    """A parameter. ``epoch`` takes a leader epoch or ``latest``; ``acks`` takes 0, 1 or all."""

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


def _broker(doc: str) -> ManualParam:
    return ManualParam("broker", doc)


def _table(*verbs: ManualVerb) -> dict[str, ManualVerb]:
    return {verb.name: verb for verb in verbs}


MANUAL_VERBS: Final = _table(
    ManualVerb(
        "append",
        "A produce request to a broker, answered by what that broker believes.",
        {
            "broker": _broker("The broker that is asked to write."),
            "partition": _PARTITION,
            "records": ManualParam("int", "How many records (1).", required=False),
            "acks": ManualParam("acks", "0, 1 or all (1).", required=False),
            "names": ManualParam("strs", "A name for each record; without, records count from 0.", required=False),
        },
    ),
    ManualVerb(
        "fetch",
        "A follower's whole round trip with the leader it believes in, a pending truncation first.",
        {"follower": _FOLLOWER, "partition": _PARTITION, "records": _LIMIT},
    ),
    ManualVerb(
        "fetch_send",
        "A follower's fetch leaves for the leader it believes in.",
        {"follower": _FOLLOWER, "partition": _PARTITION, "records": _LIMIT},
    ),
    ManualVerb(
        "fetch_serve",
        "The leader answers the fetch that is under way, and counts it.",
        {"follower": _FOLLOWER, "partition": _PARTITION},
    ),
    ManualVerb(
        "fetch_apply", "The answer reaches the follower.", {"follower": _FOLLOWER, "partition": _PARTITION}
    ),
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
        "drop_from_isr",
        "The controller takes a broker out of the ISR, as when it has given it up.",
        {"partition": _PARTITION, "broker": _broker("The member to drop.")},
    ),
    ManualVerb(
        "deliver",
        "A broker applies a decision of the controller and becomes leader or follower, truncation included.",
        {
            "broker": _broker("Who hears."),
            "partition": _PARTITION,
            "epoch": ManualParam("epoch", "Which decision, by leader epoch (latest).", required=False),
            "truncate": ManualParam(
                "choice", "Whether a truncation that asks the leader runs at once (now).", required=False,
                choices=("now", "later"),
            ),
        },
    ),
    ManualVerb(
        "truncate_send",
        "A follower that must truncate asks its leader where its latest epoch ended; the leader answers.",
        {"follower": _FOLLOWER, "partition": _PARTITION},
    ),
    ManualVerb(
        "truncate_apply",
        "That answer reaches the follower, which truncates.",
        {"follower": _FOLLOWER, "partition": _PARTITION},
    ),
    ManualVerb(
        "shrink_isr",
        "A leader proposes an ISR without some members, as if their lag time had passed; the controller's answer "
        "reaches it.",
        {
            "partition": _PARTITION,
            "broker": _broker("The leader that proposes."),
            "out": ManualParam("brokers", "Members to leave."),
        },
    ),
    ManualVerb(
        "expand_isr",
        "A leader proposes a newcomer by the join rule of its version; the controller's answer reaches it.",
        {
            "partition": _PARTITION,
            "broker": _broker("The leader that proposes."),
            "in": _broker("The newcomer."),
        },
    ),
    ManualVerb("crash", "A broker's process dies; its page cache stays.", {"broker": _broker("Which.")}),
    ManualVerb(
        "power_loss",
        "A broker's machine loses power, and its logs what was not on disk.",
        {
            "broker": _broker("Which."),
            "keep": ManualParam("int", "Records left in each log; without it, what had been flushed.", required=False),
        },
    ),
    ManualVerb("restart", "A broker's process starts and recovers its logs.", {"broker": _broker("Which.")}),
    ManualVerb("checkpoint", "A broker writes its high watermarks to disk.", {"broker": _broker("Which.")}),
    ManualVerb("show", "Print the table.", {}),
)  # fmt: skip
"""Every verb by name."""

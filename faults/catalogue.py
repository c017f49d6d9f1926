"""Every fault, declared once: the screen's sheet, the playbook language, the command line and the docs read this."""

import difflib
from dataclasses import dataclass
from typing import Final, Literal

from cluster_model.log.crashes import TAILS, WRITTEN_BACK
from faults.action import Value

ParamType = Literal[
    "duration", "int", "bool", "choice", "target",
    "topic", "new topic", "partition", "broker", "brokers", "placement",
    "topic config", "broker config", "topic keys", "broker keys", "text", "group", "scopes", "offset lines",
]  # fmt: skip
"""How a value is written. A list of brokers or of keys is a tuple, a placement a tuple of those, and configurations
are a tuple of (key, value) pairs. Scopes are topics, ``orders`` or only some partitions, ``orders:0,2``; offset lines
are those of a file, ``orders,0,120``."""

MS: Final = 1_000
SECOND: Final = 1_000_000
HOUR: Final = 3_600 * SECOND

ACCEPTS: Final = {
    "brokers": "brokers",
    "processes": "brokers, nodes of the control plane, producers and consumers",
    "clients": "producers and consumers",
    "consumers": "consumers",
    "nodes": "everybody, the administrator's client among them",
}
"""Kinds of targets, with who they are."""


class FaultError(Exception):
    """A fault cannot be done to this target now; the message is a sentence for a person."""


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter: durations are in microseconds; ``default`` None: it must be given, or is decided when applied."""

    name: str
    type: ParamType
    doc: str
    default: Value | None = None
    low: int = 0
    high: int = HOUR
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of the catalogue."""

    name: str
    letter: str
    """Its key on the screen, after ``f``."""
    title: str
    summary: str
    """What it does to its target, in one sentence."""
    params: tuple[Param, ...]
    accepts: str
    """Whom it can be done to, one of :data:`ACCEPTS`."""
    lasting: bool
    """Whether it stays until healed; ``for:`` heals it after a time."""
    heals: str
    """What healing does; empty where there is nothing to heal."""
    glyph: str
    colour: str
    cause: str
    """The real-world causes that it stands for."""
    may_break: str
    """What an operator may see break."""
    usual_for_us: int = -1
    """How long it lasts when one key injects it; -1: until healed."""

    def param(self, name: str) -> Param | None:
        """A parameter by name."""
        return next((param for param in self.params if param.name == name), None)


def _table(*faults: Fault) -> dict[str, Fault]:
    return {fault.name: fault for fault in faults}


CATALOGUE: Final = _table(
    Fault(
        name="crash",
        letter="c",
        title="crash",
        summary="The process dies at once (SIGKILL); the operating system keeps a broker's page cache and resets its "
        "connections; a client loses everything that it had in memory.",
        params=(),
        accepts="processes",
        lasting=True,
        heals="the process starts again; a broker recovers its logs and registers",
        glyph="✕",
        colour="alarm",
        cause="a bug, the out-of-memory killer, kill -9",
        may_break="its leaderships until its session ends; acks=1 records that no follower had fetched; of a producer "
        "what was not acknowledged yet, of a consumer what it had read and not committed",
    ),
    Fault(
        name="power_loss",
        letter="p",
        title="power loss",
        summary="The machine goes dark: what was not yet on disk is lost, and no connection is closed.",
        params=(
            Param(
                "keep",
                "int",
                "Records left in each of its logs; -1: what the operating system had written back.",
                default=-1,
                low=-1,
                high=1 << 40,
            ),
            Param(
                "tail",
                "choice",
                "Without keep, what the disks hold: what was written back, only what Kafka had flushed, or what was "
                "written back with a torn batch behind it.",
                default=WRITTEN_BACK,
                choices=TAILS,
            ),
        ),
        accepts="brokers",
        lasting=True,
        heals="the machine starts again with what its disk held",
        glyph="✕",
        colour="alarm",
        cause="power failure, kernel panic, a host that is taken away",
        may_break="records that only this page cache held, acks=all ones among them if it was the last in sync",
    ),
    Fault(
        name="restart",
        letter="r",
        title="restart",
        summary="A process that is down starts again: a broker recovers its logs and registers with the controller, a "
        "producer gets another producer id, a member joins its group anew.",
        params=(),
        accepts="processes",
        lasting=False,
        heals="",
        glyph="▲",
        colour="calm",
        cause="a supervisor, an operator",
        may_break="nothing by itself; the returning replica truncates what the new leader does not have, a member that "
        "returns makes its group rebalance",
    ),
    Fault(
        name="close",
        letter="x",
        title="close",
        summary="A client ends in order (SIGTERM): a producer delivers what it has; a consumer processes what is in "
        "its hands, commits as it is configured to and, unless it is a static member, leaves its group.",
        params=(
            Param(
                "timeout",
                "duration",
                "What a producer has not delivered by then fails.",
                default=30 * SECOND,
            ),
        ),
        accepts="clients",
        lasting=True,
        heals="another process of the client starts, as soon as this one has ended",
        glyph="▼",
        colour="calm",
        cause="a deployment, a scale-down, a rolling bounce",
        may_break="the group, which rebalances twice for every dynamic member that goes and comes back",
        usual_for_us=5 * SECOND,
    ),
    Fault(
        name="poll_stall",
        letter="s",
        title="poll stall",
        summary="The application takes longer for the records of every poll, and calls the next one so much later.",
        params=(
            Param("extra", "duration", "Added to the processing of each poll's records.", default=10 * SECOND, low=1),
        ),
        accepts="consumers",
        lasting=True,
        heals="records of later polls take their usual time",
        glyph="…",
        colour="warning",
        cause="a slow database behind the handler, a lock, retries without end",
        may_break="max.poll.interval.ms: its member leaves the group, and its records are read again by another",
    ),
    Fault(
        name="gc_pause",
        letter="g",
        title="GC pause",
        summary="The process stops without dying: connections stay open, requests and timers wait, and all of them "
        "are handled when it goes on.",
        params=(),
        accepts="nodes",
        lasting=True,
        heals="the process goes on where it stood",
        glyph="‖",
        colour="warning",
        cause="a stop-the-world collection, SIGSTOP, a frozen virtual machine",
        may_break="its session if longer than the session timeout; a leader that wakes up may not know it was replaced",
        usual_for_us=15 * SECOND,
    ),
    Fault(
        name="lag",
        letter="l",
        title="lag",
        summary="Messages from and to the target take longer, in order and without loss.",
        params=(
            Param("latency", "duration", "Added to every message, one way.", default=200 * MS, low=1),
            Param("jitter", "duration", "The most that chance adds on top.", default=0),
            Param("to", "target", "Only towards and from these nodes; all by default.", default=""),
            Param(
                "direction",
                "choice",
                "Which way is slow: out of the target, into it, or both.",
                default="both",
                choices=("both", "out", "in"),
            ),
        ),
        accepts="nodes",
        lasting=True,
        heals="messages sent from then on take their usual time",
        glyph="≈",
        colour="warning",
        cause="a congested or long link, a saturated network card, a slow host",
        may_break="latency of acks=all; the ISR once a follower lags beyond replica.lag.time.max.ms",
    ),
    Fault(
        name="partition",
        letter="n",
        title="network partition",
        summary="Packets between the target and the others are dropped: connections stay open and silent, what is sent "
        "waits, and after 30 s the connection is given up.",
        params=(
            Param("to", "target", "The other side; everybody else by default.", default=""),
            Param(
                "direction",
                "choice",
                "Which way is cut: out of the target, into it, or both.",
                default="both",
                choices=("both", "out", "in"),
            ),
        ),
        accepts="nodes",
        lasting=True,
        heals="what still waits arrives, in order, after a retransmission timeout of 200 ms",
        glyph="≠",
        colour="warning",
        cause="a switch or a route that fails, a firewall rule, an availability zone that is cut off",
        may_break="the ISR after replica.lag.time.max.ms; leaderships after the session, while the old leader still "
        "takes acks=1 of clients on its side",
    ),
)
"""Faults by name."""


def nearest(name: str) -> str:
    """A hint at the fault that was perhaps meant, empty if none is near."""
    near = difflib.get_close_matches(name, CATALOGUE, n=1)
    return f"; did you mean {near[0]}?" if near else ""

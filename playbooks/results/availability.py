"""When nobody served, summed up as the events of a session pass: as clients felt it, and as the cluster saw it.

*For a client* (a producer with its acks level) a partition is unavailable from the first attempt that is refused, fails
or gets no answer until the next acknowledgement. A client that waits in silence is not refused.

*For the cluster* a partition is unavailable while the broker that took up its lead is down, paused or fenced, or nobody
can lead it, until a broker takes up the lead in a newer epoch or the same one is back. What comes before a partition's
first leader does not count, and a broker that takes up an epoch older than one already seen ends nobody's outage.
Readers leave no trace of a refused fetch, so that a group's part is this, for the partitions that it was given.

These are the rules of the report's table ``unavailability``, one event at a time. An interval that nothing ended is cut
off at the end of the session. Times are virtual microseconds.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

SPANS_KEPT: Final = 100
"""Intervals of one line that are kept one by one; further ones only go into its sums."""

_NOBODY: Final = -1

ClientKey = tuple[str, int, str]
"""Client, acks level, partition."""


class Outages:
    """The intervals of one line: their number, sum and greatest, and the first of them one by one."""

    __slots__ = ("longest_us", "refusals", "since_us", "spans", "times", "us")

    def __init__(self) -> None:
        self.us = self.longest_us = self.times = 0
        """Of intervals that have ended."""
        self.since_us = -1
        """When the one that is open began, -1 for none."""
        self.refusals = 0
        """Answers that were a refusal, a failure or none, of a client's line."""
        self.spans: list[tuple[int, int]] = []

    def set(self, out: bool, now_us: int) -> None:
        """Whether it is out of service from now on."""
        if out:
            if self.since_us < 0:
                self.since_us = now_us
        elif self.since_us >= 0:
            self._add(self.since_us, now_us)
            self.since_us = -1

    def _add(self, began_us: int, ended_us: int) -> None:
        lasted = ended_us - began_us
        self.us += lasted
        self.longest_us = max(self.longest_us, lasted)
        self.times += 1
        if len(self.spans) < SPANS_KEPT:
            self.spans.append((began_us, ended_us))

    def until(self, now_us: int) -> "Outages":
        """A copy with the interval that is still open cut off now."""
        copied = Outages.loaded(self.save())
        copied.set(False, max(now_us, copied.since_us))
        return copied

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (self.us, self.longest_us, self.times, self.since_us, self.refusals, tuple(self.spans))

    @classmethod
    def loaded(cls, saved: tuple[Any, ...]) -> "Outages":
        """Undo of :meth:`save`."""
        outages = cls()
        outages.us, outages.longest_us, outages.times, outages.since_us, outages.refusals, spans = saved
        outages.spans = list(spans)
        return outages


class Availability:
    """The lines of all clients and partitions, with what has to be known to go on."""

    __slots__ = ("_dead", "_fenced", "_newest", "_out", "_serving", "clients", "partitions")

    def __init__(self) -> None:
        self.clients: dict[ClientKey, Outages] = {}
        self.partitions: dict[str, Outages] = {}
        self._out: dict[ClientKey, Outages] = {}
        """Those of the clients' lines that are out now: acknowledgements, of which there are many, look here first."""
        self._serving: dict[str, int] = {}
        """Partition → the broker that took up its lead last, -1 for nobody."""
        self._newest: dict[str, int] = {}
        """Partition → the newest leader epoch seen."""
        self._dead: dict[int, None] = {}
        """Brokers that are down or paused ..."""
        self._fenced: dict[int, None] = {}
        """... and those that the controller has fenced."""

    def afresh(self, now_us: int) -> "Availability":
        """A copy that counts from now on: what is out begins to be so now."""
        copied = Availability.loaded(self.save())
        for lines in (copied.clients, copied.partitions):
            for each in list(lines.values()):
                out = each.since_us >= 0
                each.__init__()  # type: ignore[misc]
                each.set(out, now_us)
        return copied

    def enter(self, events: Iterable[Any]) -> None:
        """Enter trace events, in order; the others are passed over."""
        handlers = _HANDLERS
        for event in events:
            handler = handlers.get(event.kind)
            if handler is not None:
                handler(self, event)

    def acked(self, event: Any) -> None:
        """Records were acknowledged: whoever wrote them is served."""
        if self._out:
            outages = self._out.pop((event.client, event.acks, event.partition), None)
            if outages is not None:
                outages.set(False, event.at_us)

    def refused(self, event: Any) -> None:
        """An attempt was refused or not answered, or records were given up."""
        key = (event.client, event.acks, event.partition)
        outages = self.clients.get(key)
        if outages is None:
            outages = self.clients[key] = Outages()
        outages.refusals += 1
        if key not in self._out:
            self._out[key] = outages
            outages.set(True, event.at_us)

    def led(self, event: Any) -> None:
        """A broker took up the lead of a partition, or nobody can lead it."""
        name = event.partition
        if event.leader_epoch < self._newest.get(name, 0):
            return
        self._newest[name] = event.leader_epoch
        self._serving[name] = event.broker if event.kind == "became_leader" else _NOBODY
        self._judge(name, event.at_us)

    def deleted(self, event: Any) -> None:
        """A partition is no more, and nobody's outage; one of the same name begins anew, with epoch 0."""
        name = event.partition
        self._serving.pop(name, None)
        self._newest.pop(name, None)
        if name in self.partitions:
            self.partitions[name].set(False, event.at_us)

    def went(self, event: Any) -> None:
        """A process stopped or goes on, or the controller changed its mind about a broker."""
        broker = event.broker
        where = self._fenced if event.kind in ("broker_fenced", "broker_registered") else self._dead
        if broker < 0:
            return
        if event.kind in ("node_down", "node_paused", "broker_fenced"):
            where[broker] = None
        else:
            where.pop(broker, None)
        for name, leader in self._serving.items():
            if leader == broker:
                self._judge(name, event.at_us)

    def _judge(self, name: str, now_us: int) -> None:
        broker = self._serving[name]
        out = broker == _NOBODY or broker in self._dead or broker in self._fenced
        outages = self.partitions.get(name)
        if outages is None:
            if not out:
                return
            outages = self.partitions[name] = Outages()
        outages.set(out, now_us)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (
            tuple([(key, each.save()) for key, each in self.clients.items()]),
            tuple([(name, each.save()) for name, each in self.partitions.items()]),
            tuple(self._serving.items()), tuple(self._newest.items()), tuple(self._dead), tuple(self._fenced),
        )  # fmt: skip

    @classmethod
    def loaded(cls, saved: tuple[Any, ...]) -> "Availability":
        """Undo of :meth:`save`."""
        found = cls()
        clients, partitions, serving, newest, dead, fenced = saved
        found.clients = {key: Outages.loaded(each) for key, each in clients}
        found.partitions = {name: Outages.loaded(each) for name, each in partitions}
        found._out = {key: each for key, each in found.clients.items() if each.since_us >= 0}
        found._serving, found._newest = dict(serving), dict(newest)
        found._dead, found._fenced = dict.fromkeys(dead), dict.fromkeys(fenced)
        return found


_HANDLERS: Final[dict[str, Callable[[Availability, Any], None]]] = {
    "records_acked": Availability.acked,
    **dict.fromkeys(("produce_refused", "records_failed", "records_unknown"), Availability.refused),
    **dict.fromkeys(("became_leader", "partition_offline"), Availability.led),
    "partition_deleted": Availability.deleted,
    **dict.fromkeys(("node_down", "node_up", "node_paused", "node_resumed"), Availability.went),
    **dict.fromkeys(("broker_fenced", "broker_registered"), Availability.went),
}

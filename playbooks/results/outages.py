"""Outages: when clients, partitions and groups were not served, summed up from events."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from cluster_model.observation import ClusterView
from cluster_model.spec import INTERNAL
from playbooks.errors import counted
from playbooks.results.client_stats import ClientBooks

# When nobody served, summed up as the events of a session pass: as clients felt it, and as the cluster saw it.
#
# *For a client* (a producer with its acks level) a partition is unavailable from the first attempt that is refused,
# fails or gets no answer until the next acknowledgement. A client that waits in silence is not refused.
#
# *For the cluster* a partition is unavailable while the broker that took up its lead is paused or fenced, or nobody can
# lead it, and from the end of that broker's process on until a broker takes up the lead: one that starts again leads
# nothing until it is elected. What comes before a partition's first leader does not count, and a broker that takes up
# an epoch older than one already seen ends nobody's outage. Readers leave no trace of a refused fetch, so that a
# group's part is this, for the partitions that it was given.
#
# These are the rules of the report's table ``unavailability``, one event at a time. An interval that nothing ended is
# cut off at the end of the session. Times are virtual microseconds.


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
        """Brokers whose process is down or paused ..."""
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
        for name in [name for name, leader in self._serving.items() if leader == broker]:
            if event.kind == "node_down":
                self._serving[name] = _NOBODY
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


@dataclass(frozen=True, slots=True)
class Line:
    """One partition, for a client with its acks level or for the cluster. Times are virtual microseconds."""

    partition: str
    us: int
    longest_us: int
    times: int
    """Intervals."""
    refusals: int
    spans: tuple[tuple[int, int], ...]
    """The first of the intervals, beginning and end."""
    client: str = ""
    acks: int = 0

    def to_json(self) -> dict[str, Any]:
        """As in the published document."""
        refusals = {"refusals": self.refusals} if self.client else {}
        sums = {"us": self.us, "longest_us": self.longest_us, "times": self.times}
        return {**sums, **refusals, "spans": [list(span) for span in self.spans]}


@dataclass(frozen=True, slots=True)
class Unavailable:
    """All lines of a session; those without an interval are left out."""

    clients: tuple[Line, ...] = ()
    partitions: tuple[Line, ...] = ()
    groups: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Group → the partitions that it was given and that were out of service at some time."""
    unserved: tuple[Line, ...] = ()
    """For each producer and partition that it may write to: both together, refused or without a broker that serves."""

    @property
    def us(self) -> int:
        """How long producers were not served, summed over producers and partitions."""
        return sum(each.us for each in self.unserved)

    @property
    def longest_us(self) -> int:
        """The longest interval in which a producer was not served."""
        return max((each.longest_us for each in self.unserved), default=0)

    def group_lines(self) -> dict[str, tuple[Line, ...]]:
        """Group → the lines of the partitions that it was given."""
        by_name = {each.partition: each for each in self.partitions}
        return {group: tuple([by_name[name] for name in names]) for group, names in self.groups}

    def to_json(self) -> dict[str, Any]:
        """As in the published document."""
        return {
            **_sums(self.unserved),
            "unserved": {
                client: {"acks": acks_word(acks), **_sums(lines)}
                for (client, acks), lines in by_client(self.unserved).items()
            },
            "clients": {
                client: {"acks": acks_word(acks), **_sums(lines), "partitions": _lines(lines)}
                for (client, acks), lines in by_client(self.clients).items()
            },
            "groups": {
                group: {**_sums(lines), "partitions": [each.partition for each in lines]}
                for group, lines in self.group_lines().items()
            },
            "partitions": _lines(each for each in self.partitions if not _is_internal(each.partition)),
        }


def of_events(availability: Availability, now_us: int) -> Unavailable:
    """What events alone tell, without the cluster: the lines of clients and partitions, cut off at ``now_us``."""
    clients = [(key, each.until(now_us)) for key, each in sorted(availability.clients.items())]
    partitions = [(name, each.until(now_us)) for name, each in sorted(availability.partitions.items())]
    return Unavailable(
        tuple([_line(key[2], each, key[0], key[1]) for key, each in clients]),
        tuple([_line(name, each) for name, each in partitions]),
    )


def drawn_up(availability: Availability, books: ClientBooks, view: ClusterView) -> Unavailable:
    """The books of now; intervals that are open are cut off here."""
    clients = {key: each.until(view.now_us) for key, each in availability.clients.items()}
    partitions = {name: each.until(view.now_us) for name, each in availability.partitions.items()}
    groups = [(name, _read_by(name, books, partitions)) for name in sorted(books.groups)]
    unserved = [_unserved(key, clients.get(key), partitions.get(key[2])) for key in sorted(_written(clients, view))]
    return Unavailable(
        tuple([_line(key[2], each, key[0], key[1]) for key, each in sorted(clients.items())]),
        tuple([_line(name, each) for name, each in sorted(partitions.items())]),
        tuple([(name, read) for name, read in groups if read]),
        tuple([line for line in unserved if line.us]),
    )


def _written(clients: Iterable[ClientKey], view: ClusterView) -> dict[ClientKey, None]:
    """Every producer with each partition that it writes to, or that its topic has."""
    keys = dict.fromkeys(clients)
    for producer in view.producers:
        for partition in view.partitions:
            if partition.name.rpartition("-")[0] == producer.topic:
                keys[producer.name, producer.acks, partition.name] = None
    return keys


def _unserved(key: ClientKey, refused: Outages | None, out: Outages | None) -> Line:
    """Either of the two: an attempt was refused and none succeeded since, or nobody was there to serve it.

    A producer that waits in silence for a paused leader is not served, either; with acks=0 it waits for nobody. Of more
    intervals than are kept one by one, only the longer of the two remainders counts.
    """
    client, acks, partition = key
    both = [each for each in (refused, out if acks else None) if each is not None]
    spans: list[tuple[int, int]] = []
    for began_us, ended_us in sorted(span for each in both for span in each.spans):
        if spans and began_us <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(spans[-1][1], ended_us))
        else:
            spans.append((began_us, ended_us))
    lasted = [ended_us - began_us for began_us, ended_us in spans]
    rest_us = max((each.us - sum(end - start for start, end in each.spans) for each in both), default=0)
    rest = max((each.times - len(each.spans) for each in both), default=0)
    longest_us = max([*lasted, *(each.longest_us for each in both)], default=0)
    refusals = refused.refusals if refused is not None else 0
    return Line(
        partition, sum(lasted) + rest_us, longest_us, len(spans) + rest, refusals, tuple(spans), client, acks
    )  # fmt: skip


def by_client(lines: Iterable[Line]) -> dict[tuple[str, int], tuple[Line, ...]]:
    """Client and acks level → its lines."""
    found: dict[tuple[str, int], tuple[Line, ...]] = {}
    for each in lines:
        key = (each.client, each.acks)
        found[key] = (*found.get(key, ()), each)
    return found


def _read_by(group: str, books: ClientBooks, partitions: Mapping[str, Outages]) -> tuple[str, ...]:
    book = books.groups[group]
    return tuple([name for name in sorted(partitions) if name in book.owners or name in book.handed])


def _line(partition: str, outages: Outages, client: str = "", acks: int = 0) -> Line:
    found = outages
    return Line(
        partition, found.us, found.longest_us, found.times, found.refusals, tuple(found.spans), client, acks
    )  # fmt: skip


def _sums(lines: Iterable[Line]) -> dict[str, int]:
    all_of_them = tuple(lines)
    return {
        "us": sum(each.us for each in all_of_them),
        "longest_us": max((each.longest_us for each in all_of_them), default=0),
        "times": sum(each.times for each in all_of_them),
    }


def _is_internal(partition: str) -> bool:
    return partition.rpartition("-")[0] in INTERNAL


def _lines(lines: Iterable[Line]) -> dict[str, Any]:
    return {each.partition: each.to_json() for each in lines}


def acks_word(acks: int) -> str:
    """``all``, ``1`` or ``0``."""
    return "all" if acks == -1 else str(acks)


def outage_words(unavailable: Unavailable) -> list[str]:
    """A line for each producer that was not served: ``checkout acks=all 12.3 s over 3 spans, longest 9.1 s``."""
    told = []
    for (client, acks), lines in by_client(unavailable.unserved).items():
        sums = _sums(lines)
        if sums["us"]:
            of = f" of {counted(len(lines), 'partition')}" if len(lines) > 1 else ""
            spans = counted(sums["times"], "span")
            longest = f", longest {short_seconds(sums['longest_us'])}" if sums["times"] > 1 else ""
            told.append(f"{client} acks={acks_word(acks)} {short_seconds(sums['us'])} over {spans}{of}{longest}")
    return told


def short_seconds(us: int) -> str:
    """Virtual time to a tenth of a second, what is shorter to the millisecond: ``12.3 s``, ``40 ms``, ``0 s``."""
    if us and us < 100_000:
        return f"{max(1, (us + 500) // 1_000)} ms"
    tenths = (us + 50_000) // 100_000
    return f"{tenths // 10}.{tenths % 10} s" if tenths % 10 else f"{tenths // 10} s"

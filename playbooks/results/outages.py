"""When nobody served, as a result tells it: sums over clients, over the cluster's partitions and over groups."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from cluster_model.observation.views import ClusterView
from cluster_model.spec.internal_topics import INTERNAL
from playbooks.errors import counted
from playbooks.results.availability import Availability, ClientKey, Outages
from playbooks.results.client_books import ClientBooks


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

"""Outages: intervals in which clients, partitions and groups were not served, computed from events."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from cluster_model.observation import ClusterView
from cluster_model.spec import INTERNAL
from cluster_model.util.latency import SERVICE_BOUND_US, bound_us
from cluster_model.util.quantities import acks_text, counted, short_seconds
from playbooks.results.client_stats import ClientStats

# Unavailability, computed event by event: from the view of clients and from that of the cluster.
#
# *A client* (a producer with its acks level) is out of service at a partition while records wait for their outcome and
# none is acknowledged, whether attempts fail or are unanswered: from the first record that waits, or the last
# acknowledgement, to the next acknowledgement, if that is longer than its *service bound*, which is raised for a while
# after a slow answer (:mod:`cluster_model.util.latency`). Records that expire or fail were not served: the interval
# continues with the next record, and ends with the last failure if none follows. A process that is down or paused needs
# no service.
#
# *A partition* has no serving leader while its leader is paused or fenced, or no replica can lead it, and from the end
# of that broker's process until a broker becomes leader: a restarted broker leads nothing until it is elected. Time
# before a partition's first leader does not count, and a broker that becomes leader in an epoch older than one already
# seen ends no outage. Failed fetches of consumers leave no events, so a group's unavailability is that of the
# partitions assigned to it.
#
# These are the rules of the report's table ``unavailability``, one event at a time. An interval that has not ended is
# cut off at the end of the session. Times are virtual microseconds.


SPANS_KEPT: Final = 100
"""Maximum number of intervals kept individually for one key; later ones only count in the sums."""

_NO_BROKER: Final = -1


ClientKey = tuple[str, int, str]
"""Client, acks level, partition."""


class Outages:
    """Outage intervals of one client or partition: number, sum, longest, and the first of them individually."""

    __slots__ = ("longest_us", "refusals", "since_us", "spans", "times", "us")

    def __init__(self) -> None:
        self.us = self.longest_us = self.times = 0
        """Sum over the intervals that have ended."""
        self.since_us = -1
        """Start of the open interval, -1 if there is none."""
        self.refusals = 0
        """Attempts of a client that failed or were not answered."""
        self.spans: list[tuple[int, int]] = []

    def set(self, out: bool, now_us: int) -> None:
        """Set whether it is out of service from now on."""
        if out:
            if self.since_us < 0:
                self.since_us = now_us
        elif self.since_us >= 0:
            self.add(self.since_us, now_us)
            self.since_us = -1

    def add(self, began_us: int, ended_us: int) -> None:
        """Add an interval that has ended."""
        lasted = ended_us - began_us
        self.us += lasted
        self.longest_us = max(self.longest_us, lasted)
        self.times += 1
        if len(self.spans) < SPANS_KEPT:
            self.spans.append((began_us, ended_us))

    def until(self, now_us: int) -> "Outages":
        """Return a copy in which the open interval is cut off now."""
        copied = Outages.from_saved(self.save())
        copied.set(False, max(now_us, copied.since_us))
        return copied

    def save(self) -> tuple[Any, ...]:
        """Return all state as plain values."""
        return (self.us, self.longest_us, self.times, self.since_us, self.refusals, tuple(self.spans))

    @classmethod
    def from_saved(cls, saved: tuple[Any, ...]) -> "Outages":
        """Restore the state of :meth:`save`."""
        outages = cls()
        outages.us, outages.longest_us, outages.times, outages.since_us, outages.refusals, spans = saved
        outages.spans = list(spans)
        return outages


class ServiceTracker:
    """Service state of one client at one partition."""

    __slots__ = ("_bound_us", "_failed_us", "_since_us", "_usual_us", "outages", "waiting")

    def __init__(self, bound_us: int) -> None:
        """``bound_us``: the client's service bound."""
        self._bound_us = bound_us
        self._usual_us = 0
        """Latency of the last acknowledgement."""
        self.outages = Outages()
        self.waiting = 0
        """Records without an outcome."""
        self._since_us = -1
        """Since when nothing has been acknowledged or failed although records wait; -1 if none wait."""
        self._failed_us = -1
        """When the last waiting record failed, -1 while some wait."""

    def sent(self, count: int, now_us: int) -> None:
        """Count records that were sent and now wait."""
        if self._since_us < 0:
            self._since_us = now_us
        self._failed_us = -1
        self.waiting += count

    def acknowledged(self, count: int, now_us: int, latency_us: int) -> None:
        """Count acknowledged records; ``latency_us``: their latency."""
        self._end(now_us)
        self._usual_us = latency_us
        self.waiting -= count
        self._since_us = now_us if self.waiting > 0 else -1
        self._failed_us = -1

    def records_failed(self, count: int, now_us: int) -> None:
        """Count records that failed and no longer wait."""
        self.waiting -= count
        if self.waiting <= 0:
            self._failed_us = now_us

    def stopped(self, now_us: int) -> None:
        """Note that the client's process is down or paused."""
        self._end(now_us)
        self._since_us = self._failed_us = -1
        self._usual_us = 0

    def resumed(self, now_us: int) -> None:
        """Note that the client's process runs again."""
        self.stopped(now_us)
        if self.waiting > 0:
            self._since_us = now_us

    def until(self, now_us: int) -> Outages:
        """Return its outages; an open one is cut off now."""
        copied = ServiceTracker.from_saved(self.save())
        copied._end(now_us)
        return copied.outages

    def afresh(self, now_us: int) -> "ServiceTracker":
        """Return a copy that counts from now on."""
        copied = ServiceTracker(self._bound_us)
        copied.waiting, copied._usual_us = self.waiting, self._usual_us
        copied._since_us = now_us if self._since_us >= 0 else -1
        copied._failed_us = now_us if self._failed_us >= 0 else -1
        return copied

    def longest_us(self, now_us: int) -> int:
        """Return the longest outage; an open one is cut off now."""
        since_us, ended_us = self._open(now_us)
        return max(self.outages.longest_us, ended_us - since_us)

    def _end(self, now_us: int) -> None:
        since_us, ended_us = self._open(now_us)
        if ended_us > since_us:
            self.outages.add(since_us, ended_us)

    def _open(self, now_us: int) -> tuple[int, int]:
        """Return start and end of the open outage if it ended now; equal values if there is none."""
        ended_us = now_us if self._failed_us < 0 else self._failed_us
        out = self._since_us >= 0 and ended_us - self._since_us > bound_us(self._bound_us, self._usual_us)
        return (self._since_us, ended_us) if out else (ended_us, ended_us)

    def save(self) -> tuple[Any, ...]:
        """Return all state as plain values."""
        state = (self._bound_us, self._usual_us, self.waiting, self._since_us, self._failed_us)
        return (*state, self.outages.save())

    @classmethod
    def from_saved(cls, saved: tuple[Any, ...]) -> "ServiceTracker":
        """Restore the state of :meth:`save`."""
        bound_us, usual_us, waiting, since_us, given_up_us, outages = saved
        service = cls(bound_us)
        service._usual_us = usual_us
        service.waiting, service._since_us, service._failed_us = waiting, since_us, given_up_us
        service.outages = Outages.from_saved(outages)
        return service


class Availability:
    """Outages of all clients and partitions, with the state needed to process further events."""

    __slots__ = ("_bounds", "_fenced", "_newest", "_services", "_serving", "_stopped", "partitions")

    def __init__(self, bounds: Mapping[str, int]) -> None:
        """``bounds``: producer → service bound (:func:`cluster_model.client_factory.service_bounds`)."""
        self._bounds = dict(bounds)
        self._services: dict[ClientKey, ServiceTracker] = {}
        self.partitions: dict[str, Outages] = {}
        self._serving: dict[str, int] = {}
        """Partition → the broker that last became its leader, -1 for none."""
        self._newest: dict[str, int] = {}
        """Partition → the newest leader epoch seen."""
        self._stopped: dict[int, None] = {}
        """Brokers whose process is down or paused ..."""
        self._fenced: dict[int, None] = {}
        """... and those that the controller has fenced."""

    def restarted(self, now_us: int) -> "Availability":
        """Return a copy that counts from now on: open outages begin now."""
        copied = Availability.from_saved(self.save())
        copied._services = {key: each.afresh(now_us) for key, each in self._services.items()}
        for each in list(copied.partitions.values()):
            out = each.since_us >= 0
            each.__init__()  # type: ignore[misc]
            each.set(out, now_us)
        return copied

    def clients(self, now_us: int) -> dict[ClientKey, Outages]:
        """Return the outages of clients that were out of service or had failed attempts, cut off now."""
        lines = [(key, each.until(now_us)) for key, each in sorted(self._services.items())]
        return {key: line for key, line in lines if line.us or line.refusals}

    def longest_us(self, client: str | None, partition: str | None, now_us: int) -> int:
        """Return the longest outage of a client, or any, at a partition, or any; cut off now."""
        matching = [
            each for key, each in self._services.items() if client in (None, key[0]) and partition in (None, key[2])
        ]
        return max((each.longest_us(now_us) for each in matching), default=0)

    def process_events(self, events: Iterable[Any]) -> None:
        """Process trace events in order; other kinds are ignored."""
        handlers = _HANDLERS
        for event in events:
            handler = handlers.get(event.kind)
            if handler is not None:
                handler(self, event)

    def _service(self, event: Any) -> ServiceTracker:
        key = (event.client, event.acks, event.partition)
        service = self._services.get(key)
        if service is None:
            service = self._services[key] = ServiceTracker(self._bounds.get(event.client, SERVICE_BOUND_US))
        return service

    def sent(self, event: Any) -> None:
        """Handle records sent by an application."""
        self._service(event).sent(event.count, event.at_us)

    def acked(self, event: Any) -> None:
        """Handle records acknowledged, or written and aborted with their transaction: a broker served them."""
        self._service(event).acknowledged(event.count, event.at_us, event.latency_us)

    def aborted(self, event: Any) -> None:
        """Handle records aborted with their transaction; a broker served those that had been written."""
        if event.log_offset >= 0:
            self.acked(event)
        else:
            self._service(event).records_failed(event.count, event.at_us)

    def refused(self, event: Any) -> None:
        """Handle a failed or unanswered attempt, or failed records."""
        service = self._service(event)
        service.outages.refusals += 1
        if event.kind != "produce_refused":
            service.records_failed(event.count, event.at_us)

    def leader_changed(self, event: Any) -> None:
        """Handle a new leader of a partition, or a partition that goes offline."""
        name = event.partition
        if event.leader_epoch < self._newest.get(name, 0):
            return
        self._newest[name] = event.leader_epoch
        self._serving[name] = event.broker if event.kind == "became_leader" else _NO_BROKER
        self._judge(name, event.at_us)

    def deleted(self, event: Any) -> None:
        """Handle the deletion of a partition, which ends its outage; a new one of the same name begins with epoch 0."""
        name = event.partition
        self._serving.pop(name, None)
        self._newest.pop(name, None)
        if name in self.partitions:
            self.partitions[name].set(False, event.at_us)

    def process_changed(self, event: Any) -> None:
        """Handle a process that stopped or resumed, or a broker that was fenced or unfenced."""
        kind, broker = event.kind, event.broker
        if broker < 0:
            self._client_went(event)
            return
        if kind in ("broker_fenced", "broker_registered"):
            _mark(self._fenced, broker, kind == "broker_fenced")
        else:
            _mark(self._stopped, broker, kind in ("node_down", "node_paused"))
        for name in [name for name, leader in self._serving.items() if leader == broker]:
            if kind == "node_down":
                self._serving[name] = _NO_BROKER
            self._judge(name, event.at_us)

    def _client_went(self, event: Any) -> None:
        runs = event.kind in ("node_up", "node_resumed")
        for (client, _acks, _partition), service in self._services.items():
            if client == event.node:
                (service.resumed if runs else service.stopped)(event.at_us)

    def _judge(self, name: str, now_us: int) -> None:
        broker = self._serving[name]
        out = broker == _NO_BROKER or broker in self._stopped or broker in self._fenced
        outages = self.partitions.get(name)
        if outages is None:
            if not out:
                return
            outages = self.partitions[name] = Outages()
        outages.set(out, now_us)

    def save(self) -> tuple[Any, ...]:
        """Return all state as plain values."""
        return (
            tuple(self._bounds.items()),
            tuple([(key, each.save()) for key, each in self._services.items()]),
            tuple([(name, each.save()) for name, each in self.partitions.items()]),
            tuple(self._serving.items()), tuple(self._newest.items()), tuple(self._stopped), tuple(self._fenced),
        )  # fmt: skip

    @classmethod
    def from_saved(cls, saved: tuple[Any, ...]) -> "Availability":
        """Restore the state of :meth:`save`."""
        bounds, services, partitions, serving, newest, stopped, fenced = saved
        availability = cls(dict(bounds))
        availability._services = {key: ServiceTracker.from_saved(each) for key, each in services}
        availability.partitions = {name: Outages.from_saved(each) for name, each in partitions}
        availability._serving, availability._newest = dict(serving), dict(newest)
        availability._stopped, availability._fenced = dict.fromkeys(stopped), dict.fromkeys(fenced)
        return availability


def _mark(brokers: dict[int, None], broker: int, marked: bool) -> None:
    if marked:
        brokers[broker] = None
    else:
        brokers.pop(broker, None)


_HANDLERS: Final[dict[str, Callable[[Availability, Any], None]]] = {
    "records_sent": Availability.sent,
    "records_acked": Availability.acked,
    "records_aborted": Availability.aborted,
    **dict.fromkeys(("produce_refused", "records_failed", "records_unknown"), Availability.refused),
    **dict.fromkeys(("became_leader", "partition_offline"), Availability.leader_changed),
    "partition_deleted": Availability.deleted,
    **dict.fromkeys(("node_down", "node_up", "node_paused", "node_resumed"), Availability.process_changed),
    **dict.fromkeys(("broker_fenced", "broker_registered"), Availability.process_changed),
}


@dataclass(frozen=True, slots=True)
class OutageSummary:
    """Outages of one partition, for a client with its acks level or for the cluster. Times are virtual microseconds."""

    partition: str
    us: int
    longest_us: int
    times: int
    """Intervals."""
    refusals: int
    spans: tuple[tuple[int, int], ...]
    """The first intervals, as start and end."""
    client: str = ""
    acks: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of the published document."""
        refusals = {"refusals": self.refusals} if self.client else {}
        sums = {"us": self.us, "longest_us": self.longest_us, "times": self.times}
        return {**sums, **refusals, "spans": [list(span) for span in self.spans]}


@dataclass(frozen=True, slots=True)
class Unavailability:
    """Unavailability of a session; without an interval a key is left out, unless attempts failed."""

    clients: tuple[OutageSummary, ...] = ()
    partitions: tuple[OutageSummary, ...] = ()
    groups: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Group → its assigned partitions that were out of service at some time."""

    @property
    def us(self) -> int:
        """Time producers were out of service, summed over producers and partitions."""
        return sum(each.us for each in self.clients)

    @property
    def longest_us(self) -> int:
        """Longest interval in which a producer was out of service."""
        return max((each.longest_us for each in self.clients), default=0)

    def group_lines(self) -> dict[str, tuple[OutageSummary, ...]]:
        """Return group → outages of the partitions assigned to it."""
        by_name = {each.partition: each for each in self.partitions}
        return {group: tuple([by_name[name] for name in names]) for group, names in self.groups}

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of the published document."""
        return {
            **_sums(self.clients),
            "clients": {
                client: {"acks": acks_text(acks), **_sums(lines), "partitions": _lines(lines)}
                for (client, acks), lines in by_client(self.clients).items()
            },
            "groups": {
                group: {**_sums(lines), "partitions": [each.partition for each in lines]}
                for group, lines in self.group_lines().items()
            },
            "partitions": _lines(each for each in self.partitions if not _is_internal(each.partition)),
        }


def unavailability_from_events(availability: Availability, now_us: int) -> Unavailability:
    """Return what events alone show, without the cluster: outages of clients and partitions, cut off at ``now_us``."""
    partitions = [(name, each.until(now_us)) for name, each in sorted(availability.partitions.items())]
    return Unavailability(
        tuple([_line(key[2], each, key[0], key[1]) for key, each in availability.clients(now_us).items()]),
        tuple([_line(name, each) for name, each in partitions]),
    )


def unavailability_of(availability: Availability, stats: ClientStats, view: ClusterView) -> Unavailability:
    """Return the unavailability at this time; open intervals are cut off."""
    found = unavailability_from_events(availability, view.now_us)
    out = [each.partition for each in found.partitions]
    groups = [(name, _read_by(name, stats, out)) for name in sorted(stats.groups)]
    return replace(found, groups=tuple([(name, read) for name, read in groups if read]))


def by_client(lines: Iterable[OutageSummary]) -> dict[tuple[str, int], tuple[OutageSummary, ...]]:
    """Group outages by client and acks level."""
    found: dict[tuple[str, int], tuple[OutageSummary, ...]] = {}
    for each in lines:
        key = (each.client, each.acks)
        found[key] = (*found.get(key, ()), each)
    return found


def _read_by(group: str, stats: ClientStats, partitions: Iterable[str]) -> tuple[str, ...]:
    book = stats.groups[group]
    return tuple([name for name in partitions if name in book.owners or name in book.handed])


def _line(partition: str, outages: Outages, client: str = "", acks: int = 0) -> OutageSummary:
    found = outages
    return OutageSummary(
        partition, found.us, found.longest_us, found.times, found.refusals, tuple(found.spans), client, acks
    )  # fmt: skip


def _sums(lines: Iterable[OutageSummary]) -> dict[str, int]:
    all_of_them = tuple(lines)
    return {
        "us": sum(each.us for each in all_of_them),
        "longest_us": max((each.longest_us for each in all_of_them), default=0),
        "times": sum(each.times for each in all_of_them),
    }


def _is_internal(partition: str) -> bool:
    return partition.rpartition("-")[0] in INTERNAL


def _lines(lines: Iterable[OutageSummary]) -> dict[str, Any]:
    return {each.partition: each.to_json() for each in lines}


def outage_texts(unavailable: Unavailability) -> list[str]:
    """Return a line for each producer with outages: ``checkout acks=all 12.3 s in 3 intervals, longest 9.1 s``."""
    texts = []
    for (client, acks), lines in by_client(unavailable.clients).items():
        sums = _sums(lines)
        if sums["us"]:
            of = f" of {counted(len(lines), 'partition')}" if len(lines) > 1 else ""
            intervals = counted(sums["times"], "interval")
            longest = f", longest {short_seconds(sums['longest_us'])}" if sums["times"] > 1 else ""
            texts.append(f"{client} acks={acks_text(acks)} {short_seconds(sums['us'])} in {intervals}{of}{longest}")
    return texts

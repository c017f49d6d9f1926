"""History of a cluster from its metadata log: trace events in order, and the state of every partition over time.

The order of events within the metadata log is exact. Their times are the wall clock of the active controller; where it
goes back, as after a change of controller, an event keeps the time of the one before it. Time 0 is the first record.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final

from cluster_model.protocol.events import (
    AssignmentChanged,
    BrokerConfigChanged,
    BrokerFenced,
    BrokerRegistered,
    ControllerChanged,
    ElrChanged,
    IsrChanged,
    LeaderElected,
    NodeUp,
    PartitionCreated,
    PartitionDeleted,
    PartitionOffline,
    RecoveryChanged,
    TopicConfigChanged,
    TraceEvent,
)
from kafka_logs.metadata_log import ControllerElected, CopiedMetadataLog, MetadataRecordBatch
from kafka_logs.metadata_records import MetadataRecord

NO_CHANGE: Final = -2
"""Leader of a ``PartitionChangeRecord`` that changes no leader."""
_BROKER: Final = 4
_TOPIC: Final = 2
"""Resource types of a ``ConfigRecord``."""
HIDDEN: Final = "[hidden]"
"""Value of settings that may be secret: the metadata log has them in plain text."""
_SECRET: Final = re.compile(r"password|secret|jaas|credential|token|\.key$|private")
_FENCED: Final = 1
_UNFENCED: Final = -1
TIMED_OUT: Final = "session timed out"
SHUT_DOWN: Final = "controlled shutdown"
EITHER: Final = "session timed out, or shut down while it led no partition"
"""Why a broker was fenced. The controller writes the same records for both if the broker led no partition."""
NO_SHUTDOWNS: Final[Mapping[int, frozenset[int]]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class PartitionRegistration:
    """State of a partition in the metadata log (Kafka's class of the same name)."""

    name: str
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int
    recovering: bool = False
    elr: tuple[int, ...] = ()
    last_known: tuple[int, ...] = ()
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    def merge(self, change: MetadataRecord) -> "PartitionRegistration":
        """Return the state after a ``PartitionChangeRecord``."""
        fields: dict[str, Any] = {"partition_epoch": self.partition_epoch + 1}
        for name, kafka_name in _CHANGES.items():
            if change[kafka_name] is not None:
                fields[name] = change[kafka_name]
        if change["leader"] != NO_CHANGE:
            fields.update(leader=change["leader"], leader_epoch=self.leader_epoch + 1)
        if change["leaderRecoveryState"] >= 0:
            fields["recovering"] = change["leaderRecoveryState"] == 1
        return replace(self, **fields)


_CHANGES: Final = {
    "replicas": "replicas",
    "isr": "isr",
    "elr": "eligibleLeaderReplicas",
    "last_known": "lastKnownElr",
    "adding": "addingReplicas",
    "removing": "removingReplicas",
}


@dataclass(frozen=True, slots=True)
class LeaderTerm:
    """One leader epoch of a partition: its leader, and how it was elected."""

    epoch: int
    leader: int
    """-1 if the partition had no leader in this epoch."""
    since_us: int
    isr: tuple[int, ...]
    clean: bool
    reason: str
    isr_before: tuple[int, ...] = ()
    """ISR, and eligible leader replicas, from which the leader was or was not elected."""
    last_known: bool = False
    """Whether ISR and ELR were empty, and the last known leader was elected (KIP-966)."""


@dataclass(slots=True)
class PartitionLife:
    """All states of one partition, and its leader epochs."""

    topic_id: str
    state: PartitionRegistration
    terms: list[LeaderTerm] = field(default_factory=list)
    isrs: list[tuple[int, tuple[int, ...], int]] = field(default_factory=list)
    """(time, ISR, leader epoch) from each change on."""
    from_snapshot: bool = False

    def term(self, epoch: int) -> LeaderTerm | None:
        """Return a leader epoch, None if the metadata log does not have it."""
        place = bisect_left(self.terms, epoch, key=lambda each: each.epoch)
        return self.terms[place] if place < len(self.terms) and self.terms[place].epoch == epoch else None

    def isr_at(self, epoch: int, at_us: int) -> tuple[int, ...]:
        """Return the ISR at a time during a leader epoch; before its first one, the first."""
        during = [(since_us, isr) for since_us, isr, at_epoch in self.isrs if at_epoch == epoch]
        by_then = [isr for since_us, isr in during if since_us <= at_us]
        return by_then[-1] if by_then else during[0][1] if during else ()


@dataclass(slots=True)
class KnownBroker:
    """Registration of one broker, as far as events depend on it."""

    id: int
    rack: str
    incarnation: str
    fenced: bool
    stopping: bool = False
    fenced_at: int = -1
    """Place of the event of its last fencing; -1 if it is not fenced or has none."""


@dataclass(slots=True)
class MetadataHistory:
    """History that the metadata log has: events in order, and the partitions that exist at its end."""

    origin_ms: int = 0
    """Wall clock of time 0, milliseconds since 1970."""
    events: list[TraceEvent] = field(default_factory=list)
    partitions: dict[str, PartitionLife] = field(default_factory=dict)
    first_states: dict[str, PartitionRegistration] = field(default_factory=dict)
    """Partition → its first known state."""
    brokers: dict[int, KnownBroker] = field(default_factory=dict)
    unfenced: dict[int, list[int]] = field(default_factory=dict)
    """Broker → times at which it was registered and unfenced."""
    controllers: list[int] = field(default_factory=list)
    """Controllers that were elected, in order."""
    configs: dict[tuple[int, str], dict[str, str]] = field(default_factory=dict)
    """(resource type, name) → settings that are set."""
    features: dict[str, int] = field(default_factory=dict)
    first_controller: int = -1
    end_us: int = 0
    """Time of the last record."""
    fenced_first: tuple[int, ...] = ()
    """Brokers that were fenced in the snapshot with which the log begins."""

    @property
    def end_ms(self) -> int:
        """Wall clock of the last record, milliseconds since 1970."""
        return self.origin_ms + self.end_us // 1000

    def topic_config(self, topic: str) -> dict[str, str]:
        """Return the settings of a topic that differ from the broker's."""
        return self.configs.get((_TOPIC, topic), {})

    def min_isr(self, topic: str) -> int:
        """Return ``min.insync.replicas`` of a topic, as far as the metadata log has it; Kafka's default is 1."""
        for each in (self.topic_config(topic), self.configs.get((_BROKER, ""), {})):
            if each.get("min.insync.replicas", "").isdecimal():
                return int(each["min.insync.replicas"])
        return 1


def history_of(log: CopiedMetadataLog, shutdowns: Mapping[int, frozenset[int]] = NO_SHUTDOWNS) -> MetadataHistory:
    """Return the history that a metadata log has; ``shutdowns``: broker → broker epochs that it ended cleanly."""
    replayed = _Replay(shutdowns)
    replayed.restore(log.snapshot)
    for batch in log.batches:
        replayed.apply(batch)
    return replayed.history


class _Replay:
    """Replay of the metadata log, batch after batch."""

    def __init__(self, shutdowns: Mapping[int, frozenset[int]]) -> None:
        self.history = MetadataHistory()
        self._shutdowns = shutdowns
        self._leading: set[int] = set()
        """Brokers that led a partition before the batch, where it fences one."""
        self._topics: dict[str, str] = {}
        """Topic id → name."""
        self._partitions: dict[str, list[str]] = {}
        """Topic → its partitions."""
        self._now_us = 0
        self._started = False
        self._quiet = False
        """Whether records are of the snapshot, whose times are not known: they are no events."""

    def restore(self, snapshot: Iterable[MetadataRecord]) -> None:
        """Take the state of a snapshot, without events."""
        self._quiet = True
        for record in snapshot:
            self._take(record, "")
        self._quiet = False
        self.history.fenced_first = tuple(sorted(each.id for each in self.history.brokers.values() if each.fenced))

    def apply(self, batch: MetadataRecordBatch) -> None:
        """Apply the records of a batch at its time."""
        if not self._started:
            self._started, self.history.origin_ms = True, batch.at_ms
        self._now_us = max(self._now_us, (batch.at_ms - self.history.origin_ms) * 1000)
        self.history.end_us = self._now_us
        reasons = _reasons(batch)
        if any(each.endswith(" fenced") for each in map(_broker_change, _metadata_records(batch))):
            self._leading = {life.state.leader for life in self.history.partitions.values()}
        for number, record in enumerate(batch.records):
            if isinstance(record, ControllerElected):
                self._elect_controller(record)
            else:
                self._take(record, reasons[number])

    def _elect_controller(self, elected: ControllerElected) -> None:
        history, name = self.history, f"controller {elected.controller}"
        history.first_controller = elected.controller if history.first_controller < 0 else history.first_controller
        history.controllers.append(elected.controller)
        broker = elected.controller if elected.controller in history.brokers else -1
        self._emit(ControllerChanged(self._now_us, name, broker, elected.epoch))

    def _emit(self, event: TraceEvent) -> None:
        if not self._quiet:
            self.history.events.append(event)

    def _take(self, record: MetadataRecord, reason: str) -> None:
        handle = {
            "RegisterBrokerRecord": self._register,
            "UnregisterBrokerRecord": self._unregister,
            "BrokerRegistrationChangeRecord": self._change_broker,
            "FenceBrokerRecord": lambda each: self._fence(each["id"], each["epoch"]),
            "UnfenceBrokerRecord": lambda each: self._unfence(each["id"]),
            "TopicRecord": lambda each: self._topics.__setitem__(each["topicId"], each["name"]),
            "RemoveTopicRecord": self._remove_topic,
            "PartitionRecord": self._create,
            "ConfigRecord": self._configure,
            "FeatureLevelRecord": lambda each: self.history.features.__setitem__(each["name"], each["featureLevel"]),
            "ClearElrRecord": self._clear_elr,
        }.get(record.type)
        if record.type == "PartitionChangeRecord":
            self._change(record, reason)
        elif handle is not None:
            handle(record)

    # -- brokers ----------------------------------------------------------------------------------------------------

    def _register(self, record: MetadataRecord) -> None:
        number, incarnation = record["brokerId"], record["incarnationId"]
        before = self.history.brokers.get(number)
        fenced = bool(record["fenced"])
        self.history.brokers[number] = KnownBroker(number, record["rack"] or "", incarnation, fenced)
        if before is not None and before.incarnation != incarnation:
            self._emit(NodeUp(self._now_us, f"broker {number}", number))
        if not fenced:
            self._emit(BrokerRegistered(self._now_us, number))

    def _unregister(self, record: MetadataRecord) -> None:
        if self.history.brokers.pop(record["brokerId"], None) is not None:
            self._emit(BrokerFenced(self._now_us, record["brokerId"], "unregistered"))

    def _change_broker(self, record: MetadataRecord) -> None:
        broker = self.history.brokers.get(record["brokerId"])
        if broker is not None and record["inControlledShutdown"]:
            broker.stopping = True
        if record["fenced"] == _FENCED:
            self._fence(record["brokerId"], record["brokerEpoch"])
        elif record["fenced"]:
            self._unfence(record["brokerId"])

    def _fence(self, number: int, broker_epoch: int) -> None:
        """Fence a broker.

        A second record means that the first one answered the broker's last heartbeat, in which it asked to shut down:
        its session continues from there, and times out (``BrokerHeartbeatManager``, since 4.0).
        """
        broker = self.history.brokers.get(number)
        if broker is None:
            return
        if broker.fenced and broker.fenced_at >= 0:
            first = self.history.events[broker.fenced_at]
            self.history.events[broker.fenced_at] = BrokerFenced(first.values()[0], number, SHUT_DOWN)
        if broker.fenced:
            return
        broker.fenced = True
        is_shutdown = broker.stopping or broker_epoch in self._shutdowns.get(number, ())
        reason = SHUT_DOWN if is_shutdown else TIMED_OUT if number in self._leading else EITHER
        if not self._quiet:
            broker.fenced_at = len(self.history.events)
            self._emit(BrokerFenced(self._now_us, number, reason))

    def _unfence(self, number: int) -> None:
        broker = self.history.brokers.get(number)
        if broker is None:
            return
        broker.fenced, broker.stopping, broker.fenced_at = False, False, -1
        self.history.unfenced.setdefault(number, []).append(self._now_us)
        self._emit(BrokerRegistered(self._now_us, number))

    # -- topics and partitions --------------------------------------------------------------------------------------

    def _create(self, record: MetadataRecord) -> None:
        topic = self._topics.get(record["topicId"], "")
        if not topic:
            return
        name = f"{topic}-{record['partitionId']}"
        state = PartitionRegistration(
            name, record["replicas"] or (), record["isr"] or (), record["leader"], record["leaderEpoch"],
            record["partitionEpoch"], record["leaderRecoveryState"] == 1, record["eligibleLeaderReplicas"] or (),
            record["lastKnownElr"] or (), record["addingReplicas"] or (), record["removingReplicas"] or (),
        )  # fmt: skip
        life = PartitionLife(record["topicId"], state, from_snapshot=self._quiet)
        life.terms.append(LeaderTerm(state.leader_epoch, state.leader, self._now_us, state.isr, True, "created"))
        life.isrs.append((self._now_us, state.isr, state.leader_epoch))
        if name not in self.history.partitions:
            self._partitions.setdefault(topic, []).append(name)
        self.history.partitions[name] = life
        self.history.first_states.setdefault(name, state)
        if self._quiet:
            return
        replicas = ", ".join(map(str, state.replicas))
        detail = f"replicas {replicas}; min.insync.replicas={self.history.min_isr(topic)}"
        epochs = (state.leader_epoch, state.partition_epoch)
        self._emit(PartitionCreated(self._now_us, name, state.leader, *epochs, state.isr, detail))

    def _remove_topic(self, record: MetadataRecord) -> None:
        topic = self._topics.pop(record["topicId"], "")
        for name in self._partitions.pop(topic, ()):
            del self.history.partitions[name]
            self._emit(PartitionDeleted(self._now_us, name))
        self.history.configs.pop((_TOPIC, topic), None)

    def _change(self, record: MetadataRecord, reason: str) -> None:
        topic = self._topics.get(record["topicId"], "")
        life = self.history.partitions.get(f"{topic}-{record['partitionId']}")
        if life is None:
            return
        before, after = life.state, life.state.merge(record)
        life.state = after
        by = reason or ("controller" if after.leader_epoch > before.leader_epoch else "leader")
        clean = after.leader in (*before.isr, *before.elr) and not (after.recovering and not before.recovering)
        last_known = not clean and not before.isr and not before.elr and after.leader in before.last_known
        if last_known:
            by = f"last known leader, {by}"
        if after.leader_epoch > before.leader_epoch:
            candidates = (*before.isr, *before.elr)
            term = LeaderTerm(
                after.leader_epoch, after.leader, self._now_us, after.isr, clean, by, candidates, last_known
            )
            life.terms.append(term)
        if after.isr != before.isr or after.leader_epoch != before.leader_epoch:
            life.isrs.append((self._now_us, after.isr, after.leader_epoch))
        for event in _events_of(before, after, self._now_us, by, clean=clean):
            self._emit(event)

    def _clear_elr(self, record: MetadataRecord) -> None:
        """Clear the eligible leader replicas of a topic, or of all (``ClearElrRecord``)."""
        topic = record["topicName"]
        for name in self._partitions.get(topic, ()) if topic else self.history.partitions:
            life = self.history.partitions[name]
            if life.state.elr or life.state.last_known:
                before = life.state
                life.state = replace(before, elr=(), last_known=())
                for event in _events_of(before, life.state, self._now_us, "controller", clean=True):
                    self._emit(event)

    def _configure(self, record: MetadataRecord) -> None:
        kind, name = record["resourceType"], record["resourceName"]
        settings = self.history.configs.setdefault((kind, name), {})
        if record["value"] is None:
            settings.pop(record["name"], None)
        else:
            settings[record["name"]] = HIDDEN if _SECRET.search(record["name"]) else record["value"]
        detail = ", ".join(f"{key}={value}" for key, value in sorted(settings.items()))
        changed: TraceEvent
        if kind == _TOPIC:
            changed = TopicConfigChanged(self._now_us, name, detail)
        elif kind == _BROKER:
            changed = BrokerConfigChanged(self._now_us, int(name) if name.isdigit() else -1, detail)
        else:
            return
        before = self.history.events[-1] if self.history.events else None
        if before is not None and before.values()[:2] == changed.values()[:2] and before.kind == changed.kind:
            self.history.events.pop()  # several settings of one request are one change
        self._emit(changed)


def _reasons(batch: MetadataRecordBatch) -> list[str]:
    """Return for each record of a batch which broker's change it belongs to; empty if none.

    The controller writes a batch for one change (``ReplicationControlManager``): partitions before a broker that is
    fenced, and after one that is unfenced or shuts down.
    """
    reasons = [""] * len(batch.records)
    current = ""
    waiting: list[int] = []
    for number, record in enumerate(batch.records):
        if isinstance(record, ControllerElected):
            continue
        reason = _broker_change(record)
        if reason.endswith((" fenced", " unregistered")):
            for each in waiting:
                reasons[each] = reason
            current, waiting = "", []
        elif reason:
            current, waiting = reason, []
        else:
            reasons[number] = current
            if not current:
                waiting.append(number)
    return reasons


def _metadata_records(batch: MetadataRecordBatch) -> Iterator[MetadataRecord]:
    return (record for record in batch.records if not isinstance(record, ControllerElected))


def _broker_change(record: MetadataRecord) -> str:
    if record.type == "BrokerRegistrationChangeRecord":
        name = f"broker {record['brokerId']}"
        if record["fenced"] == _FENCED:
            return f"{name} fenced"
        if record["fenced"] == _UNFENCED:
            return f"{name} unfenced"
        return f"{name} shuts down" if record["inControlledShutdown"] else ""
    names = {"FenceBrokerRecord": "fenced", "UnfenceBrokerRecord": "unfenced"}
    if record.type in names:
        return f"broker {record['id']} {names[record.type]}"
    if record.type == "UnregisterBrokerRecord":
        return f"broker {record['brokerId']} unregistered"
    return f"broker {record['brokerId']} registered again" if record.type == "RegisterBrokerRecord" else ""


def _events_of(
    before: PartitionRegistration, after: PartitionRegistration, now_us: int, by: str, *, clean: bool
) -> Iterator[TraceEvent]:
    """Yield what changed, in the order in which the model emits it."""
    name, epochs = after.name, (after.leader_epoch, after.partition_epoch)
    if after.leader < 0 <= before.leader:
        yield PartitionOffline(now_us, name, *epochs, after.isr)
    elif after.leader >= 0 and after.leader_epoch > before.leader_epoch:
        yield LeaderElected(now_us, name, after.leader, *epochs, after.isr, clean, by)
    if after.isr != before.isr:
        changed_by = "leader" if by == "leader" else "controller"
        yield IsrChanged(now_us, name, after.leader, *epochs, after.isr, before.isr, changed_by)
    if (after.elr, after.last_known) != (before.elr, before.last_known):
        last_known = after.last_known[0] if after.last_known else -1
        yield ElrChanged(now_us, name, after.leader, *epochs, after.isr, after.elr, last_known)
    if after.recovering != before.recovering:
        yield RecoveryChanged(now_us, name, after.leader, *epochs, after.recovering)
    assigned = (after.replicas, after.adding, after.removing)
    if assigned != (before.replicas, before.adding, before.removing):
        yield AssignmentChanged(now_us, name, after.leader, *epochs, *assigned)

"""Twins of the tables whose rows are intervals, and of what is summed up of them."""

from typing import Any

from tests.spark_report.twins import CHANGES, Stretch, stretches
from tests.spark_report.twins_common import Found, History, Spells, election, isr_change, words
from tests.support.sessions import Row

_STALL_US = 1_000_000
_DECISIONS = ("leader_elected", "partition_offline", "isr_changed", "partition_created", "assignment_changed")
_CONDITIONS = ("under_replicated", "at_min_isr", "under_min_isr", "offline")
_SERVICE_BOUND_US = 100_000


def faults(history: History) -> Found:
    """A fault is active from its injection until it is healed."""
    active = Spells(("fault_id", "fault", "target", "detail"))
    begun: dict[int, tuple[Any, ...]] = {}
    for row in history.rows:
        if row["kind"] == "fault_injected":
            key = begun[row["fault_id"]] = (row["fault_id"], row["fault"], row["target"], row["detail"])
            active.set(key, True, row["at_us"], row["seq"], f"{row['fault']} {row['target']}")
        elif row["kind"] == "fault_healed":
            active.set(begun[row["fault_id"]], False, row["at_us"], row["seq"], "healed")
    return active.close(history.end_us, history.end_seq)


class _State:
    """A partition by the controller's state."""

    def __init__(self, leader: int, epoch: int, isr: list[int], replication: int) -> None:
        self.leader, self.epoch, self.isr, self.replication = leader, epoch, isr, replication

    def key(self, partition: str, min_isr: int | None) -> tuple[Any, ...]:
        return (partition, self.leader, self.epoch, tuple(self.isr), len(self.isr), min_isr, self.replication)


def _decided(states: dict[str, _State], row: Row) -> None:
    """Bring the state of the row's partition up to date."""
    name = row["partition"]
    if row["kind"] == "partition_created":
        states[name] = _State(row["leader"], row["leader_epoch"], row["isr"], row["detail"].count(",") + 1)
        return
    one = states[name]
    one.leader, one.epoch = row.get("leader", -1), row["leader_epoch"]
    if row["kind"] == "assignment_changed":
        # Those that are only being added are nobody's duty yet.
        one.replication = len(set(row["replicas"]) - set(row["adding"]))
    else:
        one.isr = row["isr"]


def partition_states(history: History) -> Found:
    """Partitions begin as they were placed, or when they are made, and end when they are deleted."""
    spells = Spells(("partition", "leader", "leader_epoch", "isr", "isr_size", "min_isr", "replication"))
    states = {name: _State(replicas[0], 0, replicas, len(replicas)) for name, replicas in history.placed.items()}
    now: dict[str, tuple[Any, ...]] = {}

    def enter(name: str, at_us: int, seq: int, label: str) -> None:
        key = states[name].key(name, history.min_isr.get(name))
        if now.get(name) not in (None, key):
            spells.set(now[name], False, at_us, seq, label)
        spells.set(key, True, at_us, seq, label)
        now[name] = key

    for name in states:
        enter(name, 0, -1, "placed")
    for row in history.of(*_DECISIONS, "partition_deleted"):
        if row["kind"] == "partition_deleted":
            spells.set(now.pop(row["partition"]), False, row["at_us"], row["seq"], words(row["kind"]))
            del states[row["partition"]]
            continue
        _decided(states, row)
        enter(row["partition"], row["at_us"], row["seq"], words(row["kind"]))
    return [{**row, "isr": list(row["isr"])} for row in spells.close(history.end_us, history.end_seq)]


def _holds(state: _State | None, condition: str, min_isr: int | None) -> bool:
    if state is None:
        return False
    if condition == "offline":
        return state.leader < 0
    size, led, whole = len(state.isr), state.leader >= 0, state.replication
    if condition == "under_replicated":
        return led and size < whole
    if min_isr is None:
        return False
    return led and (size < min_isr if condition == "under_min_isr" else size == min_isr and size < whole)


def isr_conditions(history: History) -> Found:
    spells = Spells(("partition", "condition"))
    states = {name: _State(replicas[0], 0, replicas, len(replicas)) for name, replicas in history.placed.items()}

    def look(name: str, at_us: int, seq: int, label: str) -> None:
        for condition in _CONDITIONS:
            holds = _holds(states.get(name), condition, history.min_isr.get(name))
            spells.set((name, condition), holds, at_us, seq, label)

    for name in states:
        look(name, 0, -1, "placed")
    for row in history.of(*_DECISIONS, "partition_deleted"):
        if row["kind"] == "partition_deleted":
            del states[row["partition"]]
        else:
            _decided(states, row)
        look(row["partition"], row["at_us"], row["seq"], words(row["kind"]))
    return spells.close(history.end_us, history.end_seq)


_WENT = {"crash": "crashed", "power_loss": "lost power"}
_NODES = {
    "node_paused": "was paused",
    "node_up": "restarted",
    "node_resumed": "resumed",
    "broker_fenced": "was fenced",
    "broker_registered": "registered",
}


class _Service:
    """Who serves a partition, and which brokers are out."""

    def __init__(self) -> None:
        self.serving: dict[str, int] = {}
        self.newest: dict[str, int] = {}
        self.dead: set[int] = set()
        self.fenced: set[int] = set()

    def out(self, partition: str) -> bool:
        broker = self.serving.get(partition)
        return broker is not None and (broker < 0 or broker in self.dead or broker in self.fenced)

    def take(self, row: Row) -> str:
        """Bring it up to date, and say in words what happened."""
        kind, broker = row["kind"], row.get("broker", -1)
        if kind in ("node_down", "node_paused"):
            self.dead.add(broker)
        elif kind in ("node_up", "node_resumed"):
            self.dead.discard(broker)
        elif kind == "broker_fenced":
            self.fenced.add(broker)
        elif kind == "broker_registered":
            self.fenced.discard(broker)
        if kind == "node_down":
            self.serving |= {name: -1 for name, leader in self.serving.items() if leader == broker}
            return f"broker {broker} {_WENT.get(row['detail'], 'went down')}"
        if kind in _NODES:
            return f"broker {broker} {_NODES[kind]}"
        return self._lead(row)

    def _lead(self, row: Row) -> str:
        name = row.get("partition")
        if row["kind"] == "partition_deleted":
            self.serving.pop(name, None)
            self.newest.pop(name, None)
            return "partition deleted"
        if row["kind"] in ("became_leader", "partition_offline") and row["leader_epoch"] >= self.newest.get(name, 0):
            self.newest[name] = row["leader_epoch"]
            self.serving[name] = row["broker"] if row["kind"] == "became_leader" else -1
        if row["kind"] == "partition_offline":
            return "no eligible leader"
        return f"broker {row.get('broker')} became leader in epoch {row.get('leader_epoch')}"


def unavailability(history: History) -> Found:
    """Partitions that nobody serves; clients whose records wait for longer than their bound."""
    spells = Spells(("scope", "partition", "client", "acks"))
    service, known = _Service(), set()
    for row in history.rows:
        if row["kind"] in CHANGES:
            continue
        label = service.take(row)
        known |= set(service.serving)
        for name in known:
            spells.set(("partition", name, "", None), service.out(name), row["at_us"], row["seq"], label)
    partitions = [{**span, "bound_us": 0} for span in spells.close(history.end_us, history.end_seq)]
    return partitions + [span for each in stretches(list(history.rows)) for span in _out(each, history)]


def _out(stretch: Stretch, history: History) -> Found:
    client, partition, acks = stretch.key
    least_us = history.bounds.get(client, _SERVICE_BOUND_US)
    span = stretch.out(history.end_us, history.end_seq, least_us)
    if span is None:
        return []
    refusals = [row["error"] for row in stretch.rows if row["kind"] in _REFUSALS]
    spells = Spells(("scope", "partition", "client", "acks", "bound_us"))
    key = ("client", partition, client, acks, stretch.bound_us(least_us))
    spells.set(key, True, *span[:2], refusals[0] if refusals else "")
    if span[-1]:
        return spells.close(history.end_us, history.end_seq)
    spells.set(key, False, *span[2:4], _ended_by(stretch))
    return spells.close(0, 0)


def _ended_by(stretch: Stretch) -> str:
    if stretch.expired:
        return "records failed or expired"
    kind = stretch.end["kind"] if stretch.end else ""
    if kind.startswith("records"):
        return "records acknowledged" if kind == "records_acked" else "transaction aborted"
    return "client resumed" if kind in ("node_up", "node_resumed") else "client stopped"


_REFUSALS = ("produce_refused", "records_failed", "records_unknown")


def availability(history: History) -> Found:
    """Time counts from a partition's first leader to its deletion, or from the first record of a client."""
    first: dict[tuple[Any, ...], int] = {}
    before: dict[tuple[Any, ...], int] = {}
    """Time of those that were deleted."""
    for row in history.of("became_leader", "partition_deleted", *CHANGES):
        own = ("partition", row["partition"], "", None)
        if row["kind"] in CHANGES:
            own = ("client", row["partition"], row["client"], row["acks"])
        if row["kind"] != "partition_deleted":
            first.setdefault(own, row["at_us"])
        elif own in first:
            before[own] = before.get(own, 0) + row["at_us"] - first.pop(own)
    out: dict[tuple[Any, ...], Found] = {key: [] for key in (*first, *before)}
    for span in unavailability(history):
        out.setdefault((span["scope"], span["partition"], span["client"], span["acks"]), []).append(span)
    found = []
    for key, spans in out.items():
        lasted = [span["duration_us"] for span in spans]
        observed = before.get(key, 0) + (max(0, history.end_us - first[key]) if key in first else 0)
        found.append(
            {
                **dict(zip(("scope", "partition", "client", "acks"), key, strict=True)),
                "intervals": len(spans),
                "unavailable_us": sum(lasted),
                "longest_unavailable_us": max(lasted, default=0),
                "observed_us": observed,
                "availability": 1 - min(1.0, sum(lasted) / observed) if observed else None,
                "open": any(span["open"] for span in spans),
            }
        )
    return found


class _Log:
    """A partition's log as its leader has it."""

    def __init__(self) -> None:
        self.newest = self.end = self.hw = 0
        self.since: tuple[int, int, str, int] | None = None
        """Since when records have waited under a high watermark that stands still, and which."""


_STARTED = {
    "appended": "records appended",
    "hw_advanced": "last high watermark advance",
    "became_leader": "new leader",
}


def hw_stalls(history: History) -> Found:
    logs: dict[str, _Log] = {}
    found: Found = []

    def end(name: str, at_us: int, seq: int, label: str, *, open_: bool = False) -> None:
        since, logs[name].since = logs[name].since, None
        if since is None or at_us - since[0] < _STALL_US:
            return
        began = {"began_us": since[0], "began_seq": since[1], "began_by": since[2]}
        ended = {"ended_us": at_us, "ended_seq": seq, "ended_by": label, "duration_us": at_us - since[0]}
        found.append({"partition": name, "hw": since[3], "open": open_, **began, **ended})

    for row in history.of(*_STARTED, "partition_deleted"):
        name, when = row["partition"], (row["at_us"], row["seq"])
        log = logs.setdefault(name, _Log())
        if row["kind"] == "partition_deleted":
            end(name, *when, "partition deleted")
            del logs[name]
            continue
        if row["leader_epoch"] < log.newest:
            continue
        log.newest = row["leader_epoch"]
        ends = log.end if row["kind"] == "hw_advanced" else row["log_offset"] + row.get("count", 0)
        hw = row.get("hw", log.hw)
        if row["kind"] == "hw_advanced" or hw >= ends:
            end(name, *when, "high watermark advanced")
        log.end, log.hw = ends, hw
        if hw < ends and log.since is None:
            log.since = (*when, _STARTED[row["kind"]], hw)
    for name, log in logs.items():
        if log.since is not None:
            ends_us, ends_seq = max(history.end_us, log.since[0]), max(history.end_seq, log.since[1]) + 1
            end(name, ends_us, ends_seq, "", open_=True)
    return found


def partitions(history: History) -> Found:
    """A row for each partition that was there as the session began, or was made later."""
    found = []
    conditions, stalls = isr_conditions(history), hw_stalls(history)
    made = {row["partition"]: row["isr"] for row in reversed(list(history.of("partition_created")))}
    for name, replicas in {**made, **history.placed}.items():
        own = [row for row in history.rows if row.get("partition") == name]
        changed = [isr_change(row) for row in own if row["kind"] == "isr_changed"]
        voted = [election(row) for row in own]
        shrinks, expands = (changed.count(how) + changed.count("swap") for how in ("shrink", "expand"))
        epochs = {0, *(row["leader_epoch"] for row in own if row["kind"] in ("leader_elected", "partition_offline"))}
        stood = [row["duration_us"] for row in stalls if row["partition"] == name]
        lasted = {
            f"{how}_us": sum(
                row["duration_us"] for row in conditions if (row["partition"], row["condition"]) == (name, how)
            )
            for how in _CONDITIONS
        }
        found.append(
            {
                "partition": name,
                "replication": len(replicas),
                "min_isr": history.min_isr.get(name),
                **lasted,
                **({} if name in history.min_isr else dict.fromkeys(("at_min_isr_us", "under_min_isr_us"))),
                "isr_shrinks": shrinks,
                "isr_expands": expands,
                "isr_changes_per_minute": (shrinks + expands) * 60_000_000 / history.end_us,
                **{f"elections_{how}": voted.count(how) for how in ("clean", "unclean", "offline")},
                "last_epoch": max(epochs),
                "epochs": len(epochs),
                "hw_stalls": len(stood),
                "hw_stalled_us": sum(stood),
                "longest_hw_stall_us": max(stood, default=0),
            }
        )
    return found

"""Twins of the latencies, and of how far partitions and groups got over time."""

import math
from collections.abc import Iterable
from typing import Any

from tests.spark_report.twins_common import Found, History, grouped
from tests.spark_report.twins_lasting import faults
from tests.support.sessions import Row

_NEAR_US = 1_000_000


def _percentile(ordered: list[int], per_cent: int) -> int:
    """Linear between the two nearest ranks, in whole microseconds."""
    place = per_cent / 100 * (len(ordered) - 1)
    low, high = math.floor(place), math.ceil(place)
    if low == high:
        return ordered[low]
    return math.floor((high - place) * ordered[low] + (place - low) * ordered[high] + 0.5)


def _batches(history: History) -> Iterable[Row]:
    for row in history.of("records_acked", "records_read"):
        what = "produce" if row["kind"] == "records_acked" else "end_to_end"
        if row["latency_us"] >= 0 and row["count"] > 0:
            yield {**row, "what": what, "sent_us": row["at_us"] - row["latency_us"]}


def _summed(rows: Iterable[Row], *names: str) -> Found:
    found = []
    for key, own in grouped(rows, "what", "client", *names).items():
        values = sorted(row["latency_us"] for row in own for _record in range(row["count"]))
        found.append(
            {
                **dict(zip(("what", "client", *names), key, strict=True)),
                "records": len(values),
                "min_us": values[0],
                **{f"p{per_cent}_us": _percentile(values, per_cent) for per_cent in (50, 95, 99)},
                "max_us": values[-1],
            }
        )
    return found


def _during(row: Row, fault: Row) -> bool:
    """Whether the fault was active at some moment of the wait."""
    return bool(row["sent_us"] < fault["ended_us"] and fault["began_us"] <= row["at_us"])


def latency(history: History) -> Found:
    """Over all of the session, and before, during and after its faults if there are any."""
    active = faults(history)
    rows = []
    for row in _batches(history):
        rows.append({**row, "phase": "all"})
        if any(_during(row, fault) for fault in active):
            rows.append({**row, "phase": "during"})
        elif active:
            first = min(fault["began_us"] for fault in active)
            rows.append({**row, "phase": "before" if row["at_us"] < first else "after"})
    return _summed(rows, "phase")


def latency_series(history: History) -> Found:
    rows = [{**row, "bin_began_us": history.bin_of(row), "bin_us": history.bin_us} for row in _batches(history)]
    return _summed(rows, "bin_began_us", "bin_us")


def fault_latency(history: History) -> Found:
    """Around each fault as much time as it lasted, and a second at least."""
    rows = []
    for fault in faults(history):
        near = max(fault["ended_us"] - fault["began_us"], _NEAR_US)
        for row in _batches(history):
            if _during(row, fault):
                phase = "during"
            elif fault["began_us"] - near <= row["at_us"] < fault["began_us"]:
                phase = "before"
            elif fault["ended_us"] <= row["sent_us"] < fault["ended_us"] + near:
                phase = "after"
            else:
                continue
            rows.append({**row, "fault_id": fault["fault_id"], "phase": phase})
    return _summed(rows, "fault_id", "phase")


class _Tops:
    """The high watermark of each partition as its leader told it; what a leader of an older epoch tells is nobody's."""

    def __init__(self) -> None:
        self.hw: dict[str, int] = {}
        self._newest: dict[str, int] = {}

    def take(self, row: Row) -> bool:
        """Whether its leader told one."""
        name = row["partition"]
        if row["kind"] == "partition_deleted":
            self.hw.pop(name, None)
            self._newest.pop(name, None)
        if row["kind"] not in ("hw_advanced", "became_leader") or row["leader_epoch"] < self._newest.get(name, 0):
            return False
        self._newest[name], self.hw[name] = row["leader_epoch"], row["hw"]
        return True


def hw_series(history: History) -> Found:
    tops, found = _Tops(), dict[tuple[str, int], dict[str, Any]]()
    for row in history.of("hw_advanced", "became_leader", "partition_deleted"):
        begun, name = history.bin_of(row), row["partition"]
        if row["kind"] == "partition_deleted":
            found.pop((name, begun), None)
        if tops.take(row):
            own = {"partition": name, "bin_began_us": begun, "bin_us": history.bin_us, "hw": tops.hw[name]}
            found[name, begun] = own
    return list(found.values())


class _Readers:
    """What groups have read of partitions."""

    def __init__(self) -> None:
        self.read_to: dict[tuple[str, str], int] = {}

    def take(self, row: Row) -> None:
        if row["kind"] == "partition_deleted":
            for key in [key for key in self.read_to if key[1] == row["partition"]]:
                del self.read_to[key]
            return
        key = (row["group_id"], row["partition"])
        if row["kind"] == "records_read":
            self.read_to[key] = max(self.read_to.get(key, 0), row["end_offset"])
        elif row["end_offset"] >= 0:
            # What it has read is no more, or it was sent elsewhere: it goes on from there.
            target = row["end_offset"] if row["kind"] == "truncation_detected" else row["log_offset"]
            self.read_to[key] = target


def _lags(history: History) -> dict[tuple[str, str, int], int]:
    """(group, partition, bin) → records, at the bin's end."""
    tops, readers = _Tops(), _Readers()
    moves = history.of(
        *("hw_advanced", "became_leader", "partition_deleted", "records_read", "truncation_detected", "consumer_reset")
    )
    waiting = sorted(moves, key=lambda row: int(row["seq"]))
    known = sorted({(row["group_id"], row["partition"]) for row in waiting if row["kind"] == "records_read"})
    lags = {}
    for begun in range(0, history.end_us + 1, history.bin_us):
        while waiting and waiting[0]["at_us"] < begun + history.bin_us:
            row = waiting.pop(0)
            tops.take(row)
            if row["kind"] not in ("hw_advanced", "became_leader"):
                readers.take(row)
        for group, name in known:
            read_to, hw = readers.read_to.get((group, name)), tops.hw.get(name)
            behind = 0 if read_to is None or hw is None else max(0, hw - read_to)
            lags[group, name, begun] = behind
    return lags


def partition_position_lag(history: History) -> Found:
    return [
        {"group_id": group, "partition": name, "bin_began_us": begun, "bin_us": history.bin_us, "position_lag": lag}
        for (group, name, begun), lag in _lags(history).items()
    ]


def group_position_lag(history: History) -> Found:
    sums: dict[tuple[str, int], int] = {}
    for (group, _name, begun), lag in _lags(history).items():
        sums[group, begun] = sums.get((group, begun), 0) + lag
    return [
        {"group_id": group, "bin_began_us": begun, "bin_us": history.bin_us, "position_lag": lag}
        for (group, begun), lag in sums.items()
    ]


def _steps(history: History) -> dict[str, list[tuple[int, int]]]:
    """Group → (time, lag) after everything of each time at which its lag, at first 0, changed."""
    tops, readers = _Tops(), _Readers()
    moves = history.of(
        *("hw_advanced", "became_leader", "partition_deleted", "records_read", "truncation_detected", "consumer_reset")
    )
    ordered = sorted(moves, key=lambda row: int(row["seq"]))
    known = sorted({(row["group_id"], row["partition"]) for row in ordered if row["kind"] == "records_read"})
    found: dict[str, list[tuple[int, int]]] = {group: [] for group, _name in known}
    for place, row in enumerate(ordered):
        tops.take(row)
        if row["kind"] not in ("hw_advanced", "became_leader"):
            readers.take(row)
        if place + 1 < len(ordered) and ordered[place + 1]["at_us"] == row["at_us"]:
            continue
        sums = dict.fromkeys(found, 0)
        for group, name in known:
            read_to, hw = readers.read_to.get((group, name)), tops.hw.get(name)
            sums[group] += 0 if read_to is None or hw is None else max(0, hw - read_to)
        for group, lag in sums.items():
            if lag != (found[group][-1][1] if found[group] else 0):
                found[group].append((int(row["at_us"]), lag))
    return found


def position_lag_peaks(history: History) -> Found:
    """The greatest lag at any time; usual is the greatest before the first fault, else the median at bins' ends."""
    first = min((fault["began_us"] for fault in faults(history)), default=None)
    bins = {
        group: [row["position_lag"] for row in rows]
        for (group,), rows in grouped(group_position_lag(history), "group_id").items()
    }
    found = []
    for group, series in _steps(history).items():
        if not series:
            continue
        peak = max(lag for _at, lag in series)
        peak_at = next(at for at, lag in series if lag == peak)
        calm = [lag for at, lag in series if first is not None and at < first]
        usual = max([0, *calm]) if first is not None else sorted(bins[group])[(len(bins[group]) - 1) // 2]
        drained = next((at for at, lag in series if at > peak_at and lag <= usual), None)
        found.append(
            {
                "group_id": group,
                "peak_position_lag": peak,
                "peak_at_us": peak_at,
                "usual_position_lag": usual,
                "drained_us": drained,
                "time_to_drain_us": None if drained is None else drained - peak_at,
                "final_position_lag": series[-1][1],
            }
        )
    return found

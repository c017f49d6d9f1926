"""Bundled playbooks with a part of their records: the same story, for a part of the time that it takes to run.

As they are, they all run in ``make test-evening``.
"""

import re
from functools import cache
from math import ceil

from playbooks.library import bundled

THINNED: dict[str, tuple[int, dict[str, str]]] = {
    "acks-0-leader-crash": (10, {}),
    "acks-1-lost-tail": (10, {"acked_lost() > 90": "acked_lost() > 8"}),
    "acks-matrix": (10, {"acked_lost() > 40 and acked_lost() < 80": "acked_lost() > 3 and acked_lost() < 9"}),
    "both-followers-paused": (10, {}),
    "clock-ahead-retention": (10, {}),
    "consumer-bounce-cooperative": (10, {}),
    "consumer-bounce-eager": (10, {}),
    "consumer-bounce-static": (10, {"rate: 30/s,": "rate: 30/s, keys: 600,", "> 45": "> 40"}),
    "consumer-crash-auto-commit": (5, {}),
    "consumer-crash-handed-off": (10, {"processing: 12ms": "processing: 120ms"}),
    "consumer-truncation": (10, {}),
    "controller-crash": (10, {}),
    "controller-crash-zookeeper": (10, {}),
    "coordinator-cascade": (5, {}),
    "decommission-large": (10, {}),
    "decommission-small": (5, {}),
    "ensemble-lost": (6, {}),
    "exactly-once": (10, {"processing: 4ms": "processing: 40ms"}),
    "follower-partitioned": (10, {}),
    "full-disk": (10, {"free: 2MiB": "free: 205KiB"}),
    "guarded": (5, {"stop_when: lag(billing) > 4000": "stop_when: lag(billing) > 800"}),
    "hanging-transaction": (5, {}),
    "hot-key": (10, {"processing: 8ms": "processing: 80ms", "ms: 1000,": "ms: 1000, max.poll.records: 50,"}),
    "idle-follower-paused": (10, {}),
    "instance-id-claimed-twice": (5, {"rate: 20/s,": "rate: 20/s, keys: 600,"}),
    "last-known-leader": (10, {}),
    "last-replica-matrix": (10, {}),
    "last-replica-power-loss": (10, {}),
    "leader-crash": (10, {}),
    "leader-without-followers": (10, {}),
    "majority-ring": (5, {}),
    "min-isr-matrix": (10, {}),
    "min-isr-one-unclean": (10, {}),
    "min-isr-one-waits": (10, {}),
    "offsets-reset": (10, {}),
    "partitions-added-matrix": (4, {}),
    "partitions-added-latest": (5, {"batch: 10": "batch: 10, keys: 600"}),
    "power-cut-all": (10, {}),
    "power-cut-all-flushed": (10, {}),
    "power-cut-elr": (10, {}),
    "power-cut-matrix": (10, {}),
    "power-cut-one": (10, {"rate: 20/s,": "rate: 20/s, bytes: 2000,"}),
    "quorum-lost": (6, {}),
    "reassignment-throttled": (5, {"bytes: 4000": "bytes: 20000"}),
    "retention-matrix": (10, {}),
    "retention-overtakes-earliest": (10, {}),
    "retention-overtakes-latest": (10, {}),
    "retry-matrix": (5, {}),
    "rolling-restart-blind": (10, {}),
    "rolling-restart-matrix": (10, {}),
    "rolling-restart-waiting": (10, {}),
    "sandbox": (10, {}),
    "session-expiry-controller": (4, {}),
    "slow-disk": (
        1,
        {"rate: 100/s, bytes: 5KiB": "rate: 20/s, bytes: 25KiB", "for: 40s": "for: 15s", "60s": "30s", "120s": "75s"}
        | {"90s": "50s", "settle: 30s": "settle: 8s"},
    ),
    "slow-links": (
        4,
        {"at: 20s": "at: 5s", "for: 60s": "for: 20s", "at: 110s": "at: 40s", "settle: 30s": "settle: 5s"},
    ),
    "split-leader": (10, {}),
    "split-leader-matrix": (10, {}),
    "split-leader-zookeeper": (10, {}),
    "stale-metadata-zombie": (10, {}),
    "tour": (10, {}),
    "traffic-spike": (
        10,
        {"processing: 4ms": "processing: 40ms", "processing: 1ms": "processing: 10ms"}
        | {"interval.ms: 500}": "interval.ms: 500, max.poll.records: 50}"},
    ),
    "two-failures": (10, {}),
    "zombie-leader": (10, {}),
    "zombie-producer": (4, {"every: 200ms": "every: 800ms"}),
    "zone-loss": (2, {"now() - 8s": "now() - 10s"}),
    "zone-loss-matrix": (5, {}),
}
"""Playbook → by how much its rates and the numbers of records in its expectations are divided, and what else differs:
where a record takes longer to process, or there is less room, a group or a disk has as much to do as before."""

_RATE = re.compile(r"\brate: (\d+)/s")
_PACE = re.compile(r"\+ (\d+)\) \* 1s (?=[<>] now\(\))|(?<=now\(\) \* )(\d+)")
"""So many a second, to within so many: ``(acked() + 50) * 1s > now() * 100``."""
_PERIOD = re.compile(r"(?:\+ (\d+)\) )?\* (\d+)ms (?=> now\(\))")
"""One every so many milliseconds, to within so many: ``(acked() + 50) * 10ms > now()``."""
_COUNTED = re.compile(r"([<>]=? )?(?<![\w.-])(\d{3,})(?![\w.%])")


@cache
def thinned(name: str) -> str:
    """The text of a bundled playbook, of fewer records where :data:`THINNED` says so."""
    text = bundled.path_of(name).read_text(encoding="utf-8")
    by, others = THINNED.get(name, (1, {}))
    if by > 1:
        head, expect, expectations = text.partition("\nexpect:\n")
        head = _RATE.sub(lambda found: f"rate: {int(found[1]) // by}/s", head)
        lines = [
            line if "given:" in line else _divided(line.partition(" #")[0], by) for line in expectations.splitlines()
        ]
        text = head + expect + "".join(f"{line}\n" for line in lines)
    for old, new in others.items():
        assert old in text, (name, old)
        text = text.replace(old, new)
    return text


def _divided(line: str, by: int) -> str:
    """An expectation of that part of the records; of what is on its way, one more."""
    if "now() * " in line:
        return _PACE.sub(lambda m: f"+ {int(m[1]) // by + 1}) * 1s " if m[1] else str(int(m[2]) // by), line)
    if _PERIOD.search(line):
        return _PERIOD.sub(
            lambda m: (f"+ {ceil(int(m[1]) / by) + 1}) " if m[1] else "") + f"* {int(m[2]) * by}ms ", line
        )
    return _COUNTED.sub(lambda m: f"{m[1] or ''}{_part(int(m[2]), by, up=(m[1] or '').startswith('<'))}", line)


def _part(number: int, by: int, *, up: bool) -> int:
    return ceil(number / by) if up else number // by

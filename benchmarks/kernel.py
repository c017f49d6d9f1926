"""Benchmark of the bare kernel and SimPy: a fixed number of pending timers, each of which schedules its successor."""

from collections.abc import Generator
from typing import Any

import simpy

from benchmarks.measure import cpu_seconds
from cluster_model.kernel.event_loop import EventLoop, Payload

EVENTS = 200_000


def _delays(pending: int) -> tuple[int, ...]:
    return tuple(1 + (target * 7919) % 1000 for target in range(pending))


def floodmark_rate(pending: int) -> float:
    """Return events per CPU second of the kernel."""

    def fire(target: int, payload: Payload) -> None:
        after(delays[target], 0, target, payload)

    delays = _delays(pending)
    kernel = EventLoop((fire,))
    after = kernel.after
    for target in range(pending):
        kernel.schedule(target % 1000, 0, target, ())
    until = _until(pending)
    spent = cpu_seconds(lambda: kernel.run_until(until))
    return kernel.executed / spent


def simpy_rate(pending: int) -> float:
    """Return events per CPU second of equivalent SimPy processes."""
    fired = [0]
    delays = _delays(pending)
    environment = simpy.Environment()

    def timer(target: int) -> Generator[Any, Any, None]:
        yield environment.timeout(target % 1000)
        while True:
            fired[0] += 1
            yield environment.timeout(delays[target])

    for target in range(pending):
        environment.process(timer(target))
    until = _until(pending)
    spent = cpu_seconds(lambda: environment.run(until=until))
    return fired[0] / spent


def _until(pending: int) -> int:
    """Return the time by which about EVENTS events have fired."""
    per_tick = sum(1 / delay for delay in _delays(pending))
    return max(2_000, int(EVENTS / per_tick))

"""Comparison of a real run with the model's runs of the same playbook.

What happened on real brokers has to be among what the model says can happen: its runs with several seeds. A fact that
every seed agrees on is the protocol's decision and has to be equal. Durations have to be within the bounds that the
configurations set. Throughput, latency and the number of records in flight are not compared.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cluster_model.protocol.config_defs import ConfigValue
from tests.real_kafka.conformance.observed import TIMED_OUT, Observed, ObservedPartition

EQUAL: Final = "equal"
"""All seeds of the model agree, and the real run differs."""
POSSIBLE: Final = "possible"
"""The seeds of the model differ, and the real run is like none of them."""
WITHIN: Final = "within"
"""A duration is outside its bounds."""

HEARTBEAT_MS: Final = 2_000
"""``broker.heartbeat.interval.ms``: the last heartbeat came up to so much before a broker stopped."""
FETCH_MS: Final = 500
"""``replica.fetch.wait.max.ms``: the last fetch came up to so much before."""
SLOW_MS: Final = 4_000
"""How much later than its bound something may happen on a machine that four servers share."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One fact that differs."""

    field: str
    """``orders-0 elections``, ``producer checkout errors``."""
    real: str
    model: str
    """The model's values, each once."""
    rule: str
    """:data:`EQUAL`, :data:`POSSIBLE` or :data:`WITHIN`."""

    def text(self) -> str:
        """Return it as one line."""
        return f"{self.field}: real {self.real}, model {self.model} ({self.rule})"


@dataclass(frozen=True, slots=True)
class Bounds:
    """Configurations that bound durations, in milliseconds."""

    session_ms: int = 9_000
    lag_ms: int = 30_000


def bounds_of(config: Mapping[str, ConfigValue]) -> Bounds:
    """Return the bounds that the configurations of the brokers set."""
    return Bounds(
        int(config.get("broker.session.timeout.ms", 9_000)), int(config.get("replica.lag.time.max.ms", 30_000))
    )


def compare(real: Observed, models: Sequence[Observed], bounds: Bounds) -> list[Difference]:
    """Return all facts of a real run that contradict the model's runs."""
    found: list[Difference] = []
    real_facts = facts(real)
    model_facts = [facts(model) for model in models]
    for name in dict.fromkeys([*real_facts, *(name for each in model_facts for name in each)]):
        found += _compared(name, real_facts.get(name), [each.get(name) for each in model_facts])
    found += _durations(real, bounds)
    return found


def _compared(name: str, real: Any, models: list[Any]) -> Iterator[Difference]:
    values = _unique(models)
    if isinstance(real, frozenset) or any(isinstance(value, frozenset) for value in values):
        sets = [value or frozenset() for value in values]
        always, ever = frozenset.intersection(*sets), frozenset.union(*sets)
        real = real or frozenset()
        if always <= real <= ever:
            return
    elif real in values:
        return
    rule = EQUAL if len(values) == 1 else POSSIBLE
    yield Difference(name, _shown(real), " or ".join(map(_shown, values)), rule)


def _unique(values: Iterable[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if value not in found:
            found.append(value)
    return found


def _shown(value: Any) -> str:
    if isinstance(value, frozenset):
        return ", ".join(sorted(value)) or "none"
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "nothing"}[value]
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_shown, value)) + "]"
    return str(value)


# Facts.


def facts(observed: Observed) -> dict[str, Any]:
    """Return what the protocol decides, by name: without times, and without the order in which races end."""
    found: dict[str, Any] = {}
    for name, partition in observed.partitions.items():
        found[f"{name} elections"] = tuple(tuple(election[1:]) for election in partition.elections)
        found[f"{name} ISRs"] = _turning_points(partition)
        found[f"{name} reassigned to"] = tuple(partition.replicas)
        found[f"{name} acknowledged records lost"] = partition.lost > 0
        found[f"{name} records written twice"] = partition.duplicates > 0
    found["brokers fenced"] = tuple(sorted((broker, reason) for _at, broker, reason in observed.fenced))
    found["controller changed"] = observed.controllers > 0
    for name, producer in observed.producers.items():
        found[f"producer {name} errors"] = frozenset(producer.errors)
        found[f"producer {name} committed transactions"] = producer.committed > 0
        found[f"producer {name} aborted transactions"] = producer.aborted > 0
    for name, group in observed.groups.items():
        if group.coordinated:
            found[f"group {name} rebalances"] = group.rebalances
            found[f"group {name} partitions of members"] = tuple(sorted(len(owned) for owned in group.owners.values()))
            found[f"group {name} caught up"] = group.lag == 0
        found[f"group {name} records read twice"] = group.reread > 0
        found[f"group {name} records skipped"] = group.skipped > 0
        found[f"group {name} commit errors"] = frozenset(group.commit_errors)
    return found


def _turning_points(partition: ObservedPartition) -> tuple[Any, ...]:
    """Return the ISRs, and ELRs where there are any, at which shrinking turns into growth and back.

    Two followers that stop together, or return together, leave or rejoin in any order. A scenario begins with all
    replicas in sync.
    """
    everybody = frozenset(broker for _at, isr, _elr, _by in partition.isrs for broker in isr)
    before: list[frozenset[int]] = [everybody]
    found: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    for _at, isr, elr, _by in partition.isrs:
        state, now = (tuple(isr), tuple(elr)), frozenset(isr)
        if found and _same_direction(before[-2], before[-1], now):
            found.pop()
            before.pop()
        found.append(state)
        before.append(now)
    return tuple(isr if not elr else (isr, "ELR", elr) for isr, elr in found)


def _same_direction(first: frozenset[int], second: frozenset[int], third: frozenset[int]) -> bool:
    return first <= second <= third or first >= second >= third


# Durations.


def _durations(real: Observed, bounds: Bounds) -> Iterator[Difference]:
    for at, broker, reason in real.fenced:
        if reason == TIMED_OUT:
            took = _since_stop(real, broker, at)
            # A new active controller waits for a whole session, from when its own process has started again.
            most = 4 * bounds.session_ms if real.controllers else bounds.session_ms * 3 // 2
            yield from _within(f"broker {broker} fenced", took, bounds.session_ms - HEARTBEAT_MS, most)
    for name, partition in real.partitions.items():
        before: set[int] = set()
        for at, isr, _elr, by_leader in partition.isrs:
            for broker in sorted(before - set(isr)) if by_leader else ():
                took = _since_stop(real, broker, at)
                yield from _within(
                    f"{name} ISR without {broker}", took, bounds.lag_ms - FETCH_MS, bounds.lag_ms * 3 // 2
                )
            before = set(isr)


def _since_stop(real: Observed, broker: int, at: int) -> int:
    """Return the milliseconds since a broker was last stopped, -1 if it never was."""
    stops = [stop for stop, stopped in real.stopped if stopped == broker and stop <= at]
    return at - max(stops) if stops else -1


def _within(name: str, took: int, least: int, most: int) -> Iterator[Difference]:
    if took >= 0 and not least <= took <= most + SLOW_MS:
        yield Difference(name, f"after {took} ms", f"after {least} to {most + SLOW_MS} ms", WITHIN)

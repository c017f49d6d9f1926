"""Sequences of calls of the cache of leader epochs (``LeaderEpochFileCache``).

A case is a list of calls; its answer has one word for each: the entries after a change, as ``epoch:start``, or the
result of a query. Orderly sequences are those of one replica's log; the others assign epochs that contradict the cache.
"""

import random
from typing import Final

from cluster_model.controller.cluster_parts import build_parts
from cluster_model.kernel.rng import RandomStreams
from cluster_model.log.leader_epoch_cache import UNDEFINED, EpochCache
from cluster_model.protocol.versions import Profile, modes_of
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, TopicSpec
from tests.real_kafka.kafka_jars import SERVER
from tests.real_kafka.vectors.servers.case_text import case_text, parse_fields
from tests.real_kafka.vectors.subject import Answers, Exemption, Subject, releases_since

_SEQUENCES: Final = 160
_CALLS: Final = 12
_NOT_ASKED: Final = "?"
"""Result of a query that the release's class does not have."""


def cases(_release: str) -> list[str]:
    """Return the cases, the same for every release."""
    source = random.Random(101)
    return [_orderly(source, number) if number % 2 else _contradictory(source, number) for number in range(_SEQUENCES)]


def model_answers(release: str, kafka: Answers) -> Answers:
    """Return the model's answers to Kafka's cases."""
    version = release
    cache = _cache(version)
    return {case: _answer(case, cache, Profile.of(version), answer.split(" ")) for case, answer in kafka.items()}


def _cache(version: str) -> EpochCache:
    """Return the cache of a replica of this release."""
    spec = ClusterSpec(version, modes_of(version)[0], (BrokerSpec(1),), (TopicSpec("t", 1, 1, ((1,),), {}),))
    return build_parts(spec, RandomStreams(1), lambda _event: None, {1: 0}).replicas["t-0"][1].log.epochs


def _answer(case: str, cache: EpochCache, profile: Profile, kafka: list[str]) -> str:
    cache.clear()
    calls = parse_fields(case)["calls"].split(",")
    return " ".join(
        _NOT_ASKED if theirs == _NOT_ASKED else _result(cache, profile, call)
        for call, theirs in zip(calls, kafka, strict=True)
    )


def _result(cache: EpochCache, profile: Profile, call: str) -> str:
    name, *numbers = call.split(":")
    given = [int(number) for number in numbers]
    if name == "end_offset":
        epoch, end = given
        if not profile.kip_279:
            return str(cache.end_offset_kip_101(epoch, end))
        return "{}:{}".format(*cache.end_offset_for(epoch, end))
    if name == "epoch_for_offset":
        found = cache.epoch_at(given[0])
        return "" if found == UNDEFINED else str(found)
    if name == "assign":
        cache.assign(*given)
    elif name == "truncate_end":
        cache.truncate_from_end(given[0])
    elif name == "truncate_start":
        cache.truncate_from_start(given[0])
    else:
        cache.clear()
    return ",".join(f"{epoch}:{start}" for epoch, start in cache.entries) or "-"


def _orderly(source: random.Random, number: int) -> str:
    """Return the calls of one log: epochs rise, each starts at the log's end, and truncations stay inside the log."""
    calls: list[str] = []
    epoch, start, end = source.randint(0, 2), 0, 0
    while len(calls) < _CALLS:
        kind = source.choice(("assign", "assign", "assign", "end", "start", "query", "query", "offset"))
        if kind == "assign":
            epoch += source.choice((0, 1, 1, 2))
            calls.append(f"assign:{epoch}:{end}")
            end += source.choice((0, 1, 3, 10))
        elif kind == "end" and end > start:
            end = source.randint(start, end)
            calls.append(f"truncate_end:{end}")
        elif kind == "start" and end > start:
            start = source.randint(start, end)
            calls.append(f"truncate_start:{start}")
        elif kind == "offset":
            calls.append(f"epoch_for_offset:{source.randint(start, end)}")
        else:
            calls.append(f"end_offset:{source.randint(-1, epoch + 1)}:{end}")
    return case_text(f"orderly/{number}", {"calls": ",".join(calls)})


def _contradictory(source: random.Random, number: int) -> str:
    """Return calls with any small numbers."""
    calls = []
    for _ in range(_CALLS):
        kind = source.choice(("assign",) * 5 + ("truncate_end", "truncate_start", "epoch_for_offset", "end_offset"))
        if kind == "assign":
            calls.append(f"assign:{source.randint(0, 5)}:{source.randint(0, 30)}")
        elif kind == "end_offset":
            calls.append(f"end_offset:{source.randint(-1, 6)}:{source.randint(30, 40)}")
        else:
            calls.append(f"{kind}:{source.randint(0, 35)}")
    if source.random() < 0.1:
        calls[_CALLS // 2] = "clear"
    return case_text(f"contradictory/{number}", {"calls": ",".join(calls)})


LEADER_EPOCH_CACHES: Final = Subject(
    "leader_epoch_caches",
    "LeaderEpochCaches",
    "LeaderEpochFileCache: entries and end offsets after assignments and truncations",
    model_answers,
    SERVER,
    releases_since(0, 11, 0),
    questions=cases,
    fixed=(
        Exemption("*", "an epoch does not replace one with the same start offset (before KAFKA-7415)", until="1.1.1"),
        Exemption("contradictory/*", "an assigned epoch replaces those it contradicts (KAFKA-7415)", "2.0.1", "2.0.1"),
    ),
)

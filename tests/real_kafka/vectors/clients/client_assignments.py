"""Assignments of Kafka's client-side assignors over rounds of rebalances, compared with the model's.

A case is an assignor and its rounds. A round has topics (for each partition the racks of its replicas), members and the
members that miss the assignment and so keep their last one. Each round of the model begins with what Kafka assigned in
the rounds before. Names of topics and members are single letters: Java's hash maps iterate them in order.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from cluster_model.assignors.assignors import client_assignors
from cluster_model.assignors.base import (
    Assignor,
    MemberSubscription,
    TopicPartition,
    Topics,
)
from cluster_model.clients.consumer.config import rules_of
from cluster_model.kernel.rng import RandomStream
from cluster_model.protocol.versions import ClientProfile
from tests.real_kafka.vectors.subject import RELEASES, Answers, Exemption, Subject

CLASSES: Final = {
    "range": "RangeAssignor", "roundrobin": "RoundRobinAssignor", "sticky": "StickyAssignor",
    "cooperative-sticky": "CooperativeStickyAssignor",
}  # fmt: skip
"""Assignor of the model → class of Kafka."""
_STICKY: Final = ("sticky", "cooperative-sticky")
_CASES: Final = {"range": 60, "roundrobin": 40, "sticky": 30, "cooperative-sticky": 30}
_ROUNDS: Final = 5
_NAMES: Final = "abcdefghijklmno"

Round = dict[str, Any]


class _Group:
    """A drawn group: topics, members and how both change from round to round."""

    def __init__(self, stream: RandomStream, *, racks: bool, equal: bool, static: bool) -> None:
        self._stream = stream
        self._racks = racks
        self._equal = equal
        self._static = static
        self._members: dict[str, dict[str, Any]] = {}
        self._used = 0
        sizes = [1 + stream.below(7) for _ in range(1 + stream.below(4))]
        if stream.below(3) == 0:
            sizes = [sizes[0]] * len(sizes)
        self._topics = {_NAMES[place]: [self._replicas() for _ in range(size)] for place, size in enumerate(sizes)}
        self._subscription = self._drawn_topics()
        for _ in range(1 + stream.below(6)):
            self._join()

    def _replicas(self) -> str:
        """Return the racks of a partition's replicas, the leader's first."""
        first = self._stream.below(3)
        return "".join("xyz"[(first + place) % 3] for place in range(1 + self._stream.below(2)))

    def _drawn_topics(self) -> list[str]:
        chosen = [topic for topic in self._topics if self._stream.below(4)]
        return [*(chosen or self._topics), *(["o"] if self._stream.below(8) == 0 else [])]

    def _join(self) -> None:
        if self._used == len(_NAMES):
            return
        name = _NAMES[self._used]
        self._used += 1
        static = self._static and self._stream.below(2)
        self._members[name] = {
            "id": name,
            "topics": self._subscription if self._equal else self._drawn_topics(),
            "instance": _NAMES[-self._used] if static else None,
            "rack": "xyzw"[self._stream.below(4)] if self._racks and self._stream.below(6) else None,
        }

    def round(self) -> Round:
        members = [dict(member) for member in self._members.values()]
        missed = [name for name in self._members if self._stream.below(8) == 0]
        return {"topics": {name: list(racks) for name, racks in self._topics.items()}, "members": members,
                "missed": missed}  # fmt: skip

    def change(self) -> None:
        kind = self._stream.below(6)
        if kind == 0 and len(self._members) > 1:
            del self._members[sorted(self._members)[self._stream.below(len(self._members))]]
        elif kind == 1:
            topic = sorted(self._topics)[self._stream.below(len(self._topics))]
            self._topics[topic] = [*self._topics[topic], self._replicas()]
        elif kind == 2 and not self._equal:
            name = sorted(self._members)[self._stream.below(len(self._members))]
            self._members[name]["topics"] = self._drawn_topics()
        elif kind < 5:
            self._join()


def questions(_release: str) -> dict[str, Any]:
    """Return the cases, the same for every release."""
    return {item: {"assignor": CLASSES[item.partition("/")[0]], "rounds": rounds} for item, rounds in _cases().items()}


@cache
def _cases() -> dict[str, list[Round]]:
    found: dict[str, list[Round]] = {}
    for name, count in _CASES.items():
        stream = RandomStream(1, f"assignors/{name}")
        for number in range(count):
            racks, equal, static = number % 3 == 2, number % 2 == 0, number % 5 == 3
            group = _Group(stream, racks=racks, equal=equal, static=static)
            kinds = ("equal" if equal else "different", *(["racks"] if racks else []), *(["static"] if static else []))
            rounds = [group.round()]
            for _ in range(_ROUNDS - 1 if name in _STICKY else 0):
                group.change()
                rounds.append(group.round())
            found[f"{name}/{' '.join(kinds)}/{number}"] = rounds
    return found


def model_answers(release: str, kafka: Answers) -> Answers:
    """Return the assignment of each round, for the assignors that the release has."""
    client = ClientProfile.of(release)
    rules = rules_of(client)
    found: dict[str, Any] = {}
    for item, rounds in _cases().items():
        name = item.partition("/")[0]
        if (name != "sticky" or client.sticky_assignor) and (name != _STICKY[1] or client.cooperative_assignor):
            assignor = client_assignors(rules)[name]
            found.update(_assigned(item, assignor, rounds, kafka, racks=client.member_racks))
    return found


def _assigned(
    item: str, assignor: Assignor, rounds: list[Round], kafka: Answers, *, racks: bool
) -> Iterator[tuple[str, Any]]:
    last: dict[str, tuple[int, tuple[TopicPartition, ...]]] = {}
    """Member → (generation, partitions) of its last assignment."""
    for generation, asked in enumerate(rounds, 1):
        members = [
            MemberSubscription(
                member["id"], tuple(member["topics"]), member["instance"] or "", member["rack"] or "" if racks else "",
                last.get(member["id"], (-1, ()))[1], last.get(member["id"], (-1, ()))[0],
            )
            for member in asked["members"]
        ]  # fmt: skip
        topics = _topics(asked, racks=racks)
        shares = assignor.assign(members, topics)
        yield f"{item}/round {generation}", {member: _text(share) for member, share in sorted(shares.items())}
        theirs = kafka.get(f"{item}/round {generation}")
        if not isinstance(theirs, dict):
            return  # Kafka's assignor failed
        present = {member: _partitions(text) for member, text in theirs.items()}
        last = {
            member: last.get(member, (-1, ())) if member in asked["missed"] else (generation, share)
            for member, share in present.items()
        }


def _topics(asked: Round, *, racks: bool) -> Topics:
    sizes = {name: len(partitions) for name, partitions in asked["topics"].items()}
    replicas = {
        TopicPartition(name, number): tuple(places)
        for name, partitions in asked["topics"].items()
        for number, places in enumerate(partitions)
    }
    return Topics(sizes, replicas) if racks else Topics(sizes)


def _text(share: tuple[TopicPartition, ...]) -> str:
    numbers: dict[str, list[str]] = {}
    for topic, number in share:
        numbers.setdefault(topic, []).append(str(number))
    return " ".join(f"{topic}:{','.join(found)}" for topic, found in numbers.items())


def _partitions(text: str) -> tuple[TopicPartition, ...]:
    return tuple(
        TopicPartition(topic, int(number))
        for topic, _colon, numbers in (part.partition(":") for part in text.split())
        for number in numbers.split(",")
    )


_FAILURE: Final = "NullPointerException"
_MISSING: Final = (
    "the assignor, and with it the leader's poll, fails if a subscribed topic does not exist (KAFKA-3661, KAFKA-7962): "
    "the model assigns the other topics"
)

CLIENT_ASSIGNMENTS: Final = Subject(
    "client_assignments",
    "ClientAssignments",
    "assignments of range, roundrobin, sticky and cooperative-sticky over rounds of rebalances",
    model_answers,
    releases=RELEASES[1:],
    questions=questions,
    stated=(
        Exemption("roundrobin/*", _MISSING, until="0.9.0.1", answer=_FAILURE),
        Exemption("sticky/*", _MISSING, since="0.11.0.3", until="2.2.2", answer=_FAILURE),
    ),
    fixed=(
        Exemption("range/*static/*", "members in the order of their ids (before KAFKA-8355)", "2.3.1", "2.3.1"),
        Exemption("roundrobin/*static/*", "members in the order of their ids (before KAFKA-8356)", "2.3.1", "2.3.1"),
        Exemption("sticky/*", "rules of StickyAssignor by release (KIP-341 to KAFKA-15170)", "0.11.0.3", "3.6.2"),
        Exemption(
            "cooperative-sticky/*",
            "rules of CooperativeStickyAssignor by release (KAFKA-9987 to KAFKA-15170)",
            "2.4.1",
            "3.6.2",
        ),
    ),
)

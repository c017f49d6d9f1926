"""Assignments by the group coordinator's assignors (``UniformAssignor``, ``RangeAssignor``; KIP-848).

A case is a group in one rebalance: topics as ``number:partitions``, members as ``id/topics/owned/instance id``. Kafka
goes through members, topics and partitions in the order of a hash table. The ids here are such that this is their
natural order. In the last cases members take partitions from each other, at which most of them fail before 4.0.
"""

import random
from typing import Final

from cluster_model.assignors.assignors import server_assignors
from cluster_model.assignors.base import Assignment, AssignmentError, MemberSubscription, TopicPartition, Topics
from cluster_model.coordinators.group.consumer_protocol.consumer_group import assignor_rules
from cluster_model.protocol.versions import Profile
from tests.real_kafka.kafka_jars import SERVER
from tests.real_kafka.vectors.servers.case_text import Fields, case_text, parse_fields
from tests.real_kafka.vectors.subject import Answers, Exemption, Subject, releases_since

_GROUPS: Final = 70
_REBALANCES: Final = 5
_IDS: Final = "ABCDEFGHIJ"
_TOPICS: Final = "1234"
_NEWEST: Final = Profile.of("4.1")
_FAILED: Final = "PartitionAssignorException"
_EXCHANGES: Final = (
    ("1:3,2:3", "A/1//,B/1//,C/1+2/2.1/,D/1+2/1.0+1.1+1.2+2.0+2.2/"),
    ("1:1,2:5,3:2", "A/2+3//,B/3//,C/1+2+3/1.0+2.0+2.1+2.3+3.0+3.1/"),
    ("1:2,2:2,3:4", "A/1//,B/1+3/3.0/,C/2//,D/1//,E/1+2+3/1.0+1.1+2.0+2.1+3.3/"),
    ("1:2,2:4,3:2", "A/1+2+3/1.1+2.2+2.3+3.0+3.1/,B/1//,C/1+2+3//,D/1+2+3/1.0+2.0+2.1/"),
)
"""Topics and members."""


def cases(_release: str) -> list[str]:
    """Return the cases, the same for every release: groups whose members, topics and subscriptions change."""
    source = random.Random(848)
    drawn = [case for number in range(_GROUPS) for case in _Group(source, number).cases()]
    exchanges = [
        case_text(f"exchange/{number}", {"assignor": "uniform", "topics": topics, "members": members})
        for number, (topics, members) in enumerate(_EXCHANGES)
    ]
    return drawn + exchanges


def model_answers(release: str, kafka: Answers) -> Answers:
    """Return the model's assignments for Kafka's cases."""
    profile = Profile.of(release)
    return {case: _answer(case, profile) for case in kafka}


def _answer(case: str, profile: Profile) -> str:
    try:
        return _text(_assign(parse_fields(case), profile))
    except AssignmentError:
        return _FAILED


def _assign(fields: Fields, profile: Profile) -> Assignment:
    sizes = dict(topic.split(":") for topic in fields["topics"].split(","))
    members = [_member(text) for text in fields["members"].split(",")]
    topics = Topics({topic: int(size) for topic, size in sizes.items()})
    return server_assignors(assignor_rules(profile))[fields["assignor"]].assign(members, topics)


def _member(text: str) -> MemberSubscription:
    name, topics, owned, instance = text.split("/")
    return MemberSubscription(name, tuple(topics.split("+")), instance, owned=_partitions(owned))


def _partitions(text: str) -> tuple[TopicPartition, ...]:
    named = [partition.split(".") for partition in text.split("+")] if text else []
    return tuple(TopicPartition(topic, int(number)) for topic, number in named)


def _joined(partitions: tuple[TopicPartition, ...]) -> str:
    return "+".join(f"{topic}.{number}" for topic, number in partitions)


def _text(assignment: Assignment) -> str:
    return " ".join(f"{name}={_joined(share)}" for name, share in sorted(assignment.items()))


class _Group:
    """Draws the rebalances of one group; its members own what the model assigned before."""

    def __init__(self, source: random.Random, number: int) -> None:
        self.source = source
        self.assignor = "range" if number % 3 == 0 else "uniform"
        self.same = number % 2 == 0
        self.name = f"{'same' if self.same else 'mixed'}_{self.assignor}/{number}"
        self.sizes = {topic: source.randint(1, 9) for topic in _TOPICS[: source.randint(1, 4)]}
        self.subscription = self._some_topics()
        self.topics: dict[str, str] = {}
        self.instances: dict[str, str] = {}
        self.owned: dict[str, str] = {}
        for name in _IDS[: source.randint(1, 6)]:
            self._join(name)

    def cases(self) -> list[str]:
        """Return one case for each rebalance."""
        found = []
        for _ in range(_REBALANCES):
            fields = {
                "assignor": self.assignor,
                "topics": ",".join(f"{topic}:{size}" for topic, size in self.sizes.items()),
                "members": ",".join(
                    f"{name}/{topics}/{self.owned.get(name, '')}/{self.instances[name]}"
                    for name, topics in self.topics.items()
                ),
            }
            found.append(case_text(self.name, fields))
            self.owned = {name: _joined(share) for name, share in _assign(fields, _NEWEST).items()}
            self._change()
        return found

    def _some_topics(self) -> str:
        known = list(self.sizes)
        return "+".join(sorted(self.source.sample(known, self.source.randint(1, len(known)))))

    def _join(self, name: str) -> None:
        self.topics[name] = self.subscription if self.same else self._some_topics()
        self.instances[name] = f"i{self.source.randint(0, 9)}{name}" if self.source.random() < 0.2 else ""

    def _change(self) -> None:
        kind = self.source.choice(("join", "join", "leave", "leave", "subscribe", "grow"))
        absent = [name for name in _IDS if name not in self.topics]
        if kind == "join" and absent:
            for name in self.source.sample(absent, min(len(absent), self.source.randint(1, 2))):
                self._join(name)
        elif kind == "leave" and len(self.topics) > 1:
            left = self.source.choice(list(self.topics))
            del self.topics[left], self.instances[left]
            self.owned.pop(left, None)
        elif kind == "grow":
            self.sizes[self.source.choice(list(self.sizes))] += self.source.randint(1, 3)
        else:
            self.subscription = self._some_topics()
            changed = list(self.topics) if self.same else self.source.sample(list(self.topics), 1)
            for name in changed:
                self.topics[name] = self.subscription


SERVER_ASSIGNMENTS: Final = Subject(
    "server_assignors",
    "ServerAssignors",
    "UniformAssignor, RangeAssignor of the group coordinator (KIP-848)",
    model_answers,
    SERVER,
    releases_since(3, 7, 0),
    questions=cases,
    fixed=(
        Exemption("same_uniform/*", "a surplus partition stays with its owner (KAFKA-18688)", since="4.0.2"),
        Exemption("mixed_uniform/*", "partitions are balanced one by one (before KAFKA-17710)", "3.7.2", "3.9.2"),
        Exemption("same_uniform/*", "members are filled in turns (before KAFKA-16864)", "3.7.2", "3.7.2"),
        Exemption("*_range/*", "members keep their partitions (before KAFKA-16944)", "3.7.2", "3.8.1"),
    ),
)

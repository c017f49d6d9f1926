"""Subjects of comparison: a Java program that asks Kafka's classes, and the same questions to the model.

A Java program prints one JSON object on standard output: item → answer. An item is a text that names one question, such
as ``producer/acks``; an answer is any JSON but null. Items that a release does not have are left out.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final

from cluster_model.protocol.releases import parse_version
from tests.real_kafka.kafka_jars import CLIENTS

Answers = Mapping[str, Any]
"""Item → answer of one release."""

RELEASES: Final = (
    "0.8.2.2", "0.9.0.1", "0.10.0.1", "0.10.1.1", "0.10.2.2", "0.11.0.3", "1.0.2", "1.1.1", "2.0.1", "2.1.1", "2.2.2",
    "2.3.1", "2.4.1", "2.5.1", "2.6.3", "2.7.2", "2.8.2", "3.0.2", "3.1.2", "3.2.3", "3.3.2", "3.4.1", "3.5.2", "3.6.2",
    "3.7.2", "3.8.1", "3.9.2", "4.0.2", "4.1.2", "4.2.2", "4.3.1", "4.4.0",
)  # fmt: skip
"""Newest patch of each release line, oldest first."""


def releases_since(*numbers: int) -> tuple[str, ...]:
    """Return the recorded releases from a version on, such as ``3, 9, 0``."""
    return tuple(release for release in RELEASES if parse_version(release) >= numbers)


@dataclass(frozen=True, slots=True)
class Exemption:
    """Items of some releases, with a reason: a known difference, or one that was fixed in the model."""

    item: str
    """Pattern of items as of a shell, such as ``broker/log.*``."""
    reason: str
    since: str = RELEASES[0]
    until: str = RELEASES[-1]
    answer: Any = None
    """Kafka's answer; None for any."""

    def covers(self, release: str, item: str, answer: Any = None) -> bool:
        """Return whether this is about an item of a release, and Kafka's answer to it."""
        place = RELEASES.index(release)
        held = RELEASES.index(self.since) <= place <= RELEASES.index(self.until)
        return held and self.answer in (None, answer) and fnmatchcase(item, self.item)


@dataclass(frozen=True, slots=True)
class Subject:
    """One Java program, the releases that it is run with, and the model's answers to the same questions."""

    name: str
    java_class: str
    """Class with ``main``, in ``java/CLASS.java``."""
    doc: str
    model: Callable[[str, Answers], Answers]
    """Given a release and Kafka's answers, return the model's: item → answer, without items that it does not model.

    It may have items that Kafka's answers lack: these are differences.
    """
    jars: str = CLIENTS
    releases: tuple[str, ...] = RELEASES
    modelled_since: str = RELEASES[0]
    """First release whose answers are compared."""
    questions: Callable[[str], Any] | None = None
    """Given a release, return what the program reads as JSON on standard input."""
    stated: Sequence[Exemption] = ()
    """Known differences, each with the reason why the model keeps it."""
    fixed: Sequence[Exemption] = ()
    """Rules of the model that these answers found wrong and that were fixed, with the KIP or KAFKA number.

    An entry names where the rule applies. Not all these items were different, so they are listed and not counted.
    """

    def modelled(self, recorded: Sequence[str]) -> list[str]:
        """Return the recorded releases whose line the model has, oldest first."""
        compared = RELEASES[RELEASES.index(self.modelled_since) :]
        return [release for release in compared if release in recorded]


@dataclass(frozen=True, slots=True)
class Difference:
    """An item that Kafka and the model answer differently; None stands for no answer."""

    release: str
    item: str
    kafka: Any
    model: Any

    def text(self) -> str:
        """Return item and answers as one line, cut at 200 characters each."""
        return f"{self.item}: Kafka {json.dumps(self.kafka)[:200]}, model {json.dumps(self.model)[:200]}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Comparison of one subject in one release: number of items, and the differences."""

    asked: int
    """Items that the model answers."""
    stated: tuple[Difference, ...]
    """Known differences."""
    unexplained: tuple[Difference, ...]
    """Differences that nothing states."""


def compare(subject: Subject, release: str, kafka: Answers) -> Comparison:
    """Compare the model's answers with Kafka's for one release."""
    model = plain(subject.model(release, kafka))
    stated: list[Difference] = []
    unexplained: list[Difference] = []
    for difference in _differences(release, kafka, model):
        known = any(each.covers(release, difference.item, difference.kafka) for each in subject.stated)
        (stated if known else unexplained).append(difference)
    return Comparison(len(model), tuple(stated), tuple(unexplained))


def plain(answers: Answers) -> dict[str, Any]:
    """Return answers as JSON would read them back: tuples become lists."""
    read: dict[str, Any] = json.loads(json.dumps(answers))
    return read


def _differences(release: str, kafka: Answers, model: Answers) -> Iterator[Difference]:
    for item, answer in model.items():
        if answer != kafka.get(item):
            yield Difference(release, item, kafka.get(item), answer)

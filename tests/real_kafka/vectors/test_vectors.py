"""The model compared with recorded answers of Kafka's own classes."""

import pytest

from tests.real_kafka.vectors.clients.config_definitions import WIDER
from tests.real_kafka.vectors.comparison_table import comparisons, table
from tests.real_kafka.vectors.java_program import SOURCES
from tests.real_kafka.vectors.recorded import DIRECTORY, recorded_answers
from tests.real_kafka.vectors.registry import SUBJECTS
from tests.real_kafka.vectors.subject import Exemption, Subject

pytestmark = pytest.mark.xdist_group("vectors")
EVERY = pytest.mark.parametrize("subject", SUBJECTS.values(), ids=list(SUBJECTS))


@EVERY
def test_the_model_answers_as_kafka_does(subject: Subject) -> None:
    found = [difference for each in comparisons(subject).values() for difference in each.unexplained]
    assert found == [], "\n".join(f"{each.release} {each.text()}" for each in found[:20])


@EVERY
def test_every_release_is_recorded(subject: Subject) -> None:
    recorded = recorded_answers(subject.name)
    assert set(recorded) == set(subject.releases)
    assert all(recorded.values())
    assert all(each.asked for each in comparisons(subject).values())


@EVERY
def test_every_known_difference_is_still_there(subject: Subject) -> None:
    """An entry whose items are all equal by now hides the next difference."""
    different = [
        (each.release, each.item, each.kafka) for made in comparisons(subject).values() for each in made.stated
    ]
    assert [stated for stated in subject.stated if not any(stated.covers(*each) for each in different)] == []


@EVERY
def test_what_is_called_fixed_was_asked(subject: Subject) -> None:
    recorded = recorded_answers(subject.name)
    modelled = {release: subject.model(release, recorded[release]) for release in subject.modelled(list(recorded))}
    asked = [(release, item) for release, answers in modelled.items() for item in answers]
    assert [fixed for fixed in subject.fixed if not any(fixed.covers(*each) for each in asked)] == []


def test_each_program_and_each_file_belongs_to_a_subject() -> None:
    assert {path.stem for path in DIRECTORY.glob("*.json")} == set(SUBJECTS)
    assert {path.stem for path in SOURCES.glob("*.java")} == {
        "Json", "Reflection", *(subject.java_class for subject in SUBJECTS.values())
    }  # fmt: skip


def test_the_table_has_a_column_for_each_subject() -> None:
    header, *_rows = table(list(SUBJECTS.values())).splitlines()
    assert header.split() == ["release", *SUBJECTS]


def test_an_exemption_covers_its_releases_and_items() -> None:
    some = Exemption("broker/log.*", "reason", "2.4.1", "3.0.2")
    assert some.covers("2.8.2", "broker/log.dirs")
    assert not some.covers("2.3.1", "broker/log.dirs")
    assert not some.covers("3.1.2", "broker/log.dirs")
    assert not some.covers("2.8.2", "topic/log.dirs")


def test_the_model_takes_no_value_that_kafka_rejects_but_small_segments() -> None:
    subject = SUBJECTS["config_definitions"]
    wider = {
        (each.release, each.item)
        for made in comparisons(subject).values()
        for each in made.stated
        if str(each.model).endswith(WIDER)
    }
    assert wider == {
        ("4.0.2", "broker/log.segment.bytes/range"),
        ("4.1.2", "broker/log.segment.bytes/range"),
        ("4.1.2", "topic/segment.bytes/range"),
    }

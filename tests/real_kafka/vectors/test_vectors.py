"""The model compared with recorded answers of Kafka's own classes."""

import json
from pathlib import Path

import pytest

from tests.real_kafka.vectors import recorded
from tests.real_kafka.vectors.__main__ import BAD_INPUT, main
from tests.real_kafka.vectors.clients.config_definitions import WIDER
from tests.real_kafka.vectors.comparison_table import comparisons, table
from tests.real_kafka.vectors.java_program import SOURCES
from tests.real_kafka.vectors.recorded import DIRECTORY, record_answers, recorded_answers
from tests.real_kafka.vectors.registry import SUBJECTS
from tests.real_kafka.vectors.subject import Exemption, Subject, compare, releases_since

pytestmark = pytest.mark.xdist_group("vectors")
EVERY = pytest.mark.parametrize("subject", SUBJECTS.values(), ids=list(SUBJECTS))


@EVERY
def test_the_model_answers_as_kafka_does(subject: Subject) -> None:
    found = [difference for each in comparisons(subject).values() for difference in each.unexplained]
    assert found == [], "\n".join(f"{each.release} {each.text()}" for each in found[:20])


@EVERY
def test_every_release_is_recorded(subject: Subject) -> None:
    found = recorded_answers(subject.name)
    assert set(found) == set(subject.releases)
    assert all(found.values())
    assert all(each.asked for each in comparisons(subject).values())


@EVERY
def test_every_known_difference_is_still_there(subject: Subject) -> None:
    """An entry whose items are all equal by now hides the next difference."""
    different = [
        (each.release, each.item, each.kafka) for made in comparisons(subject).values() for each in made.stated
    ]
    assert [stated for stated in subject.stated if not any(stated.covers(*each) for each in different)] == []


@EVERY
def test_recorded_answers_cover_every_fixed_difference(subject: Subject) -> None:
    found = recorded_answers(subject.name)
    modelled = {release: subject.model(release, found[release]) for release in subject.modelled(list(found))}
    asked = [(release, item) for release, answers in modelled.items() for item in answers]
    assert [fixed for fixed in subject.fixed if not any(fixed.covers(*each) for each in asked)] == []


def test_each_program_and_each_file_belongs_to_a_subject() -> None:
    assert {path.stem for path in DIRECTORY.glob("*.json")} == set(SUBJECTS)
    assert {path.stem for path in SOURCES.glob("*.java")} == {
        "Cases", "Json", "Reflection", *(subject.java_class for subject in SUBJECTS.values())
    }  # fmt: skip


def test_the_table_has_a_column_for_each_subject() -> None:
    header, *rows = table(list(SUBJECTS.values())).splitlines()
    assert header.split() == ["release", *SUBJECTS]
    fixed = [each.reason for subject in SUBJECTS.values() for each in subject.fixed]
    assert len(fixed) > 10
    assert all(any(reason in row for row in rows) for reason in fixed)


def test_an_exemption_covers_its_releases_and_items() -> None:
    some = Exemption("broker/log.*", "reason", "2.4.1", "3.0.2")
    assert some.covers("2.8.2", "broker/log.dirs")
    assert not some.covers("2.3.1", "broker/log.dirs")
    assert not some.covers("3.1.2", "broker/log.dirs")
    assert not some.covers("2.8.2", "topic/log.dirs")

    failing = Exemption("*", "reason", answer="NullPointerException")
    assert failing.covers("2.8.2", "some/item", "NullPointerException")
    assert not failing.covers("2.8.2", "some/item", {"a": ""})


KAFKA = {"equal": [1, 2], "stated": 1, "different": 1, "not modelled": 1}
FAKE = Subject(
    "fake", "Fake", "two differences, one of them stated",
    lambda _release, _kafka: {"equal": (1, 2), "stated": 2, "different": 2, "not of kafka": 3},
    stated=(Exemption("stated", "reason"),), fixed=(Exemption("e*", "reason"),),
)  # fmt: skip


def test_unknown_differences_are_distinguished_from_documented_ones() -> None:
    found = compare(FAKE, "4.1.2", KAFKA)
    assert found.asked == 4
    assert [(each.item, each.kafka, each.model) for each in found.stated] == [("stated", 1, 2)]
    assert [(each.item, each.kafka, each.model) for each in found.unexplained] == [
        ("different", 1, 2), ("not of kafka", None, 3),
    ]  # fmt: skip


def test_answers_are_recorded_by_their_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded, "DIRECTORY", tmp_path)
    first: dict[str, dict[str, object]] = {"2.8.2": {"a": 1}, "3.9.2": {"a": 1, "b": [2]}}
    assert record_answers("fake", first)
    assert not record_answers("fake", first)
    assert recorded_answers("fake") == first
    assert json.loads((tmp_path / "fake.json").read_text(encoding="utf-8")) == {
        "releases": ["2.8.2", "3.9.2"],
        "answers": {"a": [["2.8.2", 1]], "b": [["2.8.2", None], ["3.9.2", [2]]]},
    }
    assert record_answers("fake", {"3.0.2": {"b": [3]}})
    assert recorded_answers("fake") == {**first, "3.0.2": {"b": [3]}}
    recorded_answers.cache_clear()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [(["erors"], "error_codes"), (["error_codes", "--release", "9.9"], "4.4.0"), (["table", "x"], "error_codes")],
)
def test_an_unknown_name_is_refused(arguments: list[str], named: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == BAD_INPUT
    printed = capsys.readouterr()
    assert printed.out == ""
    assert named in printed.err


def test_views_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["table", "error_codes"]) == main(["differences", "api_version_ranges"]) == 0
    printed = capsys.readouterr().out
    assert "error_codes" in printed
    assert "24/newest stable" in printed


def test_the_model_takes_no_value_that_kafka_rejects_but_small_segments() -> None:
    subject = SUBJECTS["config_definitions"]
    wider = {
        (each.release, each.item)
        for made in comparisons(subject).values()
        for each in made.stated
        if str(each.model).endswith(WIDER)
    }
    since_4_1 = {
        (release, item)
        for release in releases_since(4, 1, 0)
        for item in ("broker/log.segment.bytes/range", "topic/segment.bytes/range")
    }
    assert wider == {("4.0.2", "broker/log.segment.bytes/range"), *since_4_1}

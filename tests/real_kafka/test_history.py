"""JSON lines of a run: whole lines are read, the last one may be cut short, others are errors with their place."""

from pathlib import Path

import pytest

from tests.real_kafka.history import EventWriter, read_events, relative_events


def test_events_are_read_as_they_were_written(tmp_path: Path) -> None:
    writer = EventWriter(tmp_path / "steps.jsonl")
    writer.write(-5, "process", node="broker(1)")
    writer.close()
    assert list(read_events(tmp_path / "steps.jsonl")) == [{"at_us": -5, "event": "process", "node": "broker(1)"}]


def test_the_last_line_of_a_killed_process_may_be_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "clients.jsonl"
    path.write_text('{"at_us": 1}\n{"at_us": 2, "ev', encoding="utf-8")
    assert list(read_events(path)) == [{"at_us": 1}]


@pytest.mark.parametrize("line", ["{", "[1]", "7"])
def test_another_line_that_is_no_object_is_an_error_with_its_place(tmp_path: Path, line: str) -> None:
    path = tmp_path / "clients.jsonl"
    path.write_text(f'{{"at_us": 1}}\n{line}\n{{"at_us": 2}}\n', encoding="utf-8")
    with pytest.raises(ValueError, match=r"clients\.jsonl:2"):
        list(read_events(path))


def test_wall_times_become_times_of_the_scenario() -> None:
    events = [{"wall_us": 1_500, "client": "b"}, {"wall_us": 900, "client": "a"}]
    assert relative_events(events, 1_000) == [{"at_us": -100, "client": "a"}, {"at_us": 500, "client": "b"}]

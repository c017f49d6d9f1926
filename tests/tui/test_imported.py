"""The viewer of an imported session, over the recorded logs of real brokers."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from kafka_logs.incident import read_incident
from kafka_logs.session_writer import write_session
from playbooks.recording.reader import read_session
from tests.kafka_logs.recorded import DATA, acknowledged, lost
from tui.imported import ImportedApp
from tui.terminal.theme import Appearance
from tui.viewmodel.timeline.imported_session import EventList, ImportedSession


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> ImportedSession:
    path = write_session(read_incident(lost("4.1.2")), tmp_path_factory.mktemp("sessions"), name="incident")
    return ImportedSession.of(read_session(path))


@asynccontextmanager
async def opened(session: ImportedSession, size: tuple[int, int] = (80, 24)) -> AsyncIterator[tuple[Any, Any]]:
    app = ImportedApp(session, Appearance())
    async with app.run_test(size=size, notifications=True) as pilot:
        await pilot.pause()
        await pilot.pause()
        yield app, pilot


def text(app: Any) -> str:
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_screen(session: ImportedSession, size: tuple[int, int], snapshot: SnapshotAssertion) -> None:
    async with opened(session, size) as (app, _pilot):
        assert text(app) == snapshot


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_page_of_a_finding(
    session: ImportedSession, size: tuple[int, int], snapshot: SnapshotAssertion
) -> None:
    async with opened(session, size) as (app, pilot):
        await pilot.press("x")
        await pilot.pause()
        assert text(app) == snapshot
        await pilot.press("escape")
        await pilot.pause()
        assert (app.finding, app.view.ledger.missing) == (0, 8)


async def test_keys_move_through_events_and_partitions(session: ImportedSession) -> None:
    async with opened(session) as (app, pilot):
        await pilot.press("home")
        assert (app.at, app.view.partitions) == (app.events.places[0], ())
        await pilot.press("right", "right")
        assert app.at == app.events.places[2]
        await pilot.press("end", "down")
        assert app.matrix.cursor[0] == 1
        await pilot.press("o")
        assert app.events.only == "payments-0"
        await pilot.press("up")
        assert app.events.only == "orders-0"
        await pilot.press("F")
        assert app.lanes.start == 0


async def test_the_page_needs_a_finding(tmp_path: Path) -> None:
    path = write_session(read_incident(DATA / "4.1.2-rejoined"), tmp_path, name="incident")
    async with opened(ImportedSession.of(read_session(path))) as (app, pilot):
        await pilot.press("x", "F")
        assert app.finding == 0
        await pilot.press("escape")
    assert app.return_code == 0


def state(session: ImportedSession, kind: str, partition: str = "orders-0") -> list[tuple[int, int, tuple[int, ...]]]:
    """Leader, epoch and ISR after each event of a kind."""
    found = []
    for at, event in enumerate(session.events):
        if event.kind == kind and getattr(event, "partition", "") == partition:
            view = next(each for each in session.view(at).partitions if each.name == partition)
            found.append((view.leader, view.leader_epoch, view.isr))
    return found


def test_leader_epoch_and_isr_are_those_at_the_event(session: ImportedSession) -> None:
    assert state(session, "isr_changed") == [
        (1, 0, (1, 3)), (1, 0, (1,)), (-1, 1, ()), (3, 2, (3,)), (3, 2, (3, 2)),
    ]  # fmt: skip
    assert state(session, "partition_created") == [(1, 0, (1, 2, 3))]


def test_a_deleted_topic_is_not_in_the_last_view(session: ImportedSession) -> None:
    seen = {each.name for at in range(len(session.events)) for each in session.view(at).partitions}
    last = {each.name for each in session.view(len(session.events) - 1).partitions}
    assert "orders-0" in last
    assert "obsolete-0" not in last
    assert last <= seen


def test_the_logs_fork_where_the_deposed_leader_was_alone(session: ImportedSession) -> None:
    view = session.view(len(session.events) - 1)
    log = session.log_view(next(each for each in view.partitions if each.name == "orders-0"), 0, 30)
    lanes = {lane.broker: [(run.start, run.end, run.epoch, run.diverged, run.lost) for run in lane.runs]
             for lane in log.lanes}  # fmt: skip
    assert lanes == {
        1: [(0, 12, 0, False, False), (12, 20, 0, True, True)],
        2: [(0, 12, 0, False, False), (12, 17, 2, False, False)],
        3: [(0, 12, 0, False, False), (12, 17, 2, False, False)],
    }


def test_the_list_of_one_partition_has_no_other(session: ImportedSession) -> None:
    listed = EventList.of(session, "payments-0")
    found = {getattr(session.events[at], "partition", "") for at in listed.places}
    assert found == {"", "payments-0"}


def test_lost_records_of_a_history_are_listed(tmp_path: Path) -> None:
    incident = read_incident(DATA / "4.1.2-rejoined", clients=acknowledged("4.1.2"))
    session = ImportedSession.of(read_session(write_session(incident, tmp_path, name="incident")))
    assert [each["kind"] for each in session.findings] == ["lost"]
    assert session.view(len(session.events) - 1).ledger.missing == 8


@pytest.mark.parametrize("size", [(10, 4), (40, 10), (200, 60)])
async def test_any_size_can_be_drawn(session: ImportedSession, size: tuple[int, int]) -> None:
    async with opened(session, size) as (app, pilot):
        await pilot.press("left", "x", "escape", "o", "home", "end")
        assert app.at == len(session.events) - 1

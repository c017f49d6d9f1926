"""``floodmark diff``: where two sessions part, what came of each, and what is no difference at all."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from playbooks.engine.session import Session
from playbooks.parser.loader import loads
from playbooks.recording.recorder import Recorder
from playbooks.session_format import session_files
from tests.cli.running import Steady, Typed
from tests.support.playbooks import CRASH, MANUAL
from tests.support.sessions import SECOND, Row, event, leader_crash, numbered, reseal, tear, write_session

Type = Callable[..., Typed]
IDS = ("20260131T101500-leader-crash-s7-9f3a", "20260131T101600-leader-crash-s7-9f3b")


def two(here: Path, left: list[Row], right: list[Row], **start: object) -> tuple[Path, Path]:
    """The same session twice, with other events."""
    return (
        write_session(here / "s", left, session_id=IDS[0]),
        write_session(here / "s", right, session_id=IDS[1], **start),  # type: ignore[arg-type]
    )


def changed(rows: list[Row], kind: str, number: int, **fields: object) -> list[Row]:
    """The same events, but for one of a kind."""
    at = [place for place, row in enumerate(rows) if row["kind"] == kind][number]
    return [{**row, **fields} if place == at else row for place, row in enumerate(rows)]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three sessions: a playbook twice, and once with another seed."""
    parent = tmp_path_factory.mktemp("recorded")
    found = []
    for seed in (3, 3, 4):
        recorder = Recorder(parent)
        Session.start(loads(CRASH, "crash.yaml"), seed=seed, recorder=recorder).finish()
        found.append(recorder.path)
    return found


@pytest.fixture
def runs(recorded: list[Path], here: Path) -> list[Path]:
    """Copies of them, to do with as one likes."""
    return [shutil.copytree(path, here / "s" / path.name) for path in recorded]


@pytest.mark.slow
def test_the_same_playbook_and_seed_is_the_same(
    typed: Type, runs: list[Path], steady: Steady, snapshot: SnapshotAssertion
) -> None:
    done = typed("diff", runs[0], runs[1])
    assert done.code == 0
    assert steady(done.out) == snapshot
    told = json.loads(typed("diff", runs[0], runs[1], "--json").out)
    events = [json.loads(line)["kind"] for line in (runs[0] / session_files.EVENTS).read_text().splitlines()]
    assert (told["same"], told["first_difference"]) == (True, None)
    assert told["same_events"] == sum(kind not in ("step_taken", "expectation_checked") for kind in events)


def test_another_seed_differs_where_the_logs_say_so(typed: Type, runs: list[Path]) -> None:
    done = typed("diff", runs[0], runs[2], "--json")
    told = json.loads(done.out)["first_difference"]
    logs = [
        [
            row
            for line in (run / session_files.EVENTS).read_text().splitlines()
            if (row := json.loads(line))["kind"] not in ("step_taken", "expectation_checked")
        ]
        for run in (runs[0], runs[2])
    ]
    at = next(
        number
        for number, (one, other) in enumerate(zip(*logs, strict=False))
        if {**one, "seq": 0} != {**other, "seq": 0}
    )
    assert done.code == 1
    assert told["left"] == {"text": told["left"]["text"], **logs[0][at]}
    assert told["right"] == {"text": told["right"]["text"], **logs[1][at]}
    assert [each["seq"] for each in told["before"]] == [row["seq"] for row in logs[0][max(0, at - 3) : at]]
    assert json.loads(done.out)["same_events"] == at


def test_people_see_both_lines_with_what_was_the_same_before(
    typed: Type, here: Path, snapshot: SnapshotAssertion
) -> None:
    rows = leader_crash()
    left, right = two(here, rows, changed(rows, "leader_elected", 2, leader=3, isr=[3, 2], clean=False))
    done = typed("diff", left, right)
    lines = done.out.splitlines()
    assert done.code == 1
    assert max(map(len, lines)) <= 80
    numbers = [line.split("#")[1].split()[0] for line in lines if "s  #" in line]
    assert [int(each) - int(numbers[0]) for each in numbers] == [0, 1, 2, 3, 3]
    assert done.out == snapshot


@pytest.mark.slow
def test_lines_of_the_playbook_are_distinguished_and_make_no_difference(
    typed: Type, here: Path, snapshot: SnapshotAssertion
) -> None:
    rows, detail = leader_crash(), "inject crash: as every year"
    more = numbered([*rows, event("step_taken", 6 * SECOND, by="operator", target="", detail="heal all")])
    left, right = two(here, rows, changed(more, "step_taken", 0, detail=detail))
    done = typed("diff", left, right, "--json")
    told = json.loads(done.out)
    assert (done.code, told["same"], told["first_difference"]) == (0, True, None)
    assert told["first_narration_difference"]["at_us"] == 5 * SECOND
    assert told["first_narration_difference"]["right"]["detail"] == detail
    lines = typed("diff", left, right).out.splitlines()
    assert [line for line in lines if line and not line.startswith(" ")] == snapshot


def test_an_expectation_that_turned_is_a_difference(typed: Type, here: Path) -> None:
    rows = leader_crash()
    left, right = two(here, rows, changed(rows, "expectation_checked", 0, ok=True))
    done = typed("diff", left, right, "--json")
    assert (done.code, json.loads(done.out)["turned"]) == (1, ["acked_lost() == 0"])
    assert json.loads(done.out)["first_difference"] is None


@pytest.mark.slow
def test_an_expectation_that_one_side_does_not_have_is_no_difference(
    typed: Type, here: Path, snapshot: SnapshotAssertion
) -> None:
    rows = leader_crash()
    left, right = two(here, rows, numbered(row for row in rows if row["kind"] != "expectation_checked"))
    for pair in ((left, right), (right, left)):
        done = typed("diff", *pair, "--json")
        assert (done.code, json.loads(done.out)["turned"]) == (0, [])
    more = changed(rows, "leader_elected", 2, leader=3, isr=[3, 2], clean=False)
    parted = typed("diff", right, write_session(here / "t", more, session_id=IDS[0])).out.splitlines()[-1]
    assert "expectations" not in parted
    assert parted == snapshot


@pytest.mark.slow
def test_diff_ignores_the_requester_of_an_operation_but_not_its_arguments(typed: Type, here: Path) -> None:
    rows = leader_crash()
    asked = {"operation_id": 1, "operation": "create_topic", "detail": "more"}
    mine = numbered([*rows, event("admin_requested", 30 * SECOND, by="operator", **asked)])
    left, right = two(here, mine, changed(mine, "admin_requested", 0, by="step 2"))
    assert typed("diff", left, right).code == 0
    other = write_session(here / "t", changed(mine, "admin_requested", 0, detail="less"), session_id=IDS[0])
    assert typed("diff", left, other).code == 1


def test_diff_shows_ledger_losses_and_unavailable_time_side_by_side(typed: Type, here: Path) -> None:
    rows = leader_crash()
    fewer = [row for row in rows if row["kind"] != "records_lost"]
    right_rows = numbered(changed(fewer, "node_down", 0, at_us=6 * SECOND))
    left, right = two(here, rows, right_rows)
    told = json.loads(typed("diff", left, right, "--json").out)
    ledger = {row["what"]: (row["left"], row["right"]) for row in told["ledger"]}
    assert ledger["acked lost"] == (3, 0)
    assert ledger["sent"][0] == ledger["sent"][1] > 0
    assert [(row["left"], row["right"]) for row in told["losses_by_cause"]] == [(3, None)]
    silent = {row["what"]: (row["left"], row["right"]) for row in told["availability"]}
    # Partition 0 waits from its leader's death at 5 s (6 s) for the next one at 6.95 s; its producer from the first
    # record that waits, handed over at 5.01 s, to the first acknowledgement at 7.01433 s.
    assert silent["orders-0"] == silent["orders-0 longest"] == (1_950_000, 950_000)
    assert silent["checkout acks=1"] == silent["checkout orders-0"] == (2_004_330, 2_004_330)
    assert not any("orders-1" in what for what in silent)


def test_events_alone_report_availability_what_the_result_does(typed: Type, runs: list[Path]) -> None:
    told = json.loads((runs[2] / session_files.RESULT).read_text())["unavailable"]
    wanted = {name: (its["us"], its["longest_us"]) for name, its in told["partitions"].items()}
    for client, its in told["clients"].items():
        wanted |= {f"{client} {name}": (each["us"], each["longest_us"]) for name, each in its["partitions"].items()}
    assert any(us for us, _ in wanted.values())
    (runs[2] / session_files.MANIFEST).unlink()
    found = json.loads(typed("diff", runs[2], runs[2], "--json", "--all").out)["availability"]
    rows = {row["what"]: row["left"] for row in found}
    assert {name: (rows[name], rows[f"{name} longest"]) for name in wanted} == wanted
    assert all(row["left"] == row["right"] for row in found)


def test_a_torn_session_is_compared_as_far_as_it_goes(
    typed: Type, runs: list[Path], snapshot: SnapshotAssertion
) -> None:
    notes = []
    tear(runs[1], (runs[1] / session_files.EVENTS).stat().st_size // 2)
    for pair in ((runs[0], runs[1]), (runs[1], runs[0])):
        done = typed("diff", *pair, "--json")
        told = json.loads(done.out)
        assert (done.code, told["same"]) == (0, True)
        last = (runs[1] / session_files.EVENTS).read_text().rsplit("\n", 2)[-2]
        assert told["compared_us"] == json.loads(last)["at_us"]
        notes.append(told["notes"])
        assert "verdict" not in told
        assert all(row["left"] == row["right"] for row in told["ledger"])
    assert typed("diff", runs[1], runs[2]).code == 1
    shutil.copy(runs[1] / session_files.EVENTS, runs[1] / "x")
    (runs[1] / session_files.EVENTS).write_bytes(b'{"seq":0')
    done = typed("diff", runs[0], runs[1])
    assert done.code == 0
    assert {"notes": notes, "before any event": done.out.split("\n\n")[0].splitlines()[2:]} == snapshot


@pytest.mark.slow
def test_a_recovered_session_is_compared_as_far_as_it_goes(
    typed: Type, runs: list[Path], steady: Steady, snapshot: SnapshotAssertion
) -> None:
    notes = []
    tear(runs[1], (runs[1] / session_files.EVENTS).stat().st_size // 2)
    assert typed("recover", runs[1]).code == 0
    last = (runs[1] / session_files.EVENTS).read_text().splitlines()[-1]
    for pair in ((runs[0], runs[1]), (runs[1], runs[0])):
        done = typed("diff", *pair, "--json")
        told = json.loads(done.out)
        assert (done.code, told["same"], told["first_difference"]) == (0, True, None)
        assert told["compared_us"] == json.loads(last)["at_us"]
        notes.append(told["notes"])
        assert "verdict" not in told
    state = next(row for row in told["session"] if row["what"] == "state")
    assert (state["left"], state["right"]) == ("recovered", "sealed")
    assert typed("diff", runs[1], runs[2]).code == 1
    log = runs[1] / session_files.EVENTS
    log.write_bytes(log.read_bytes().replace(b"orders-0", b"orders-O", 1))
    done = typed("diff", runs[0], runs[1])
    assert (done.code, done.out) == (2, "")
    assert {"notes": notes, "changed": steady(done.err)} == snapshot


def test_a_sealed_session_that_ends_earlier_differs(typed: Type, here: Path, snapshot: SnapshotAssertion) -> None:
    rows = leader_crash()
    left, right = two(here, rows, rows[:-3])
    told = json.loads(typed("diff", left, right, "--json").out)
    assert told["first_difference"]["right"] is None
    lines = typed("diff", left, right).out.splitlines()
    assert [line for line in lines if line.startswith("  right  ")] == snapshot


@pytest.mark.slow
def test_diff_compares_the_sessions_heads_and_playbook_texts(typed: Type, here: Path) -> None:
    rows = leader_crash()
    left, right = two(here, rows, rows, seed=8, settings={"seed": "8"}, tool_version="0.2.0")
    (right / session_files.PLAYBOOK).write_text("floodmark: 1\nname: another\n")
    reseal(right, session_files.PLAYBOOK)
    told = json.loads(typed("diff", left, right, "--json").out)
    about = {row["what"]: (row["left"], row["right"]) for row in told["session"]}
    assert (about["seed"], about["floodmark"], about["--set seed"]) == ((7, 8), ("0.1.0", "0.2.0"), (None, "8"))
    assert told["playbook_diff"][-2:] == ["-name: leader-crash", "+name: another"]
    assert "profile" not in typed("diff", left, right).out
    assert "profile" in typed("diff", left, right, "--all").out


def test_sessions_stepped_by_hand_compare_too(typed: Type, here: Path) -> None:
    (here / "hand.yaml").write_text(MANUAL)
    (here / "other.yaml").write_text(MANUAL.replace("names: [m0]", "names: [m1]"))
    for name in ("hand", "other"):
        typed("run", f"{name}.yaml", "--out", here / name)
    left, right = (session_files.sessions_under(here / name)[0] for name in ("hand", "other"))
    assert typed("diff", left, left).code == 0
    assert "names: [m1]" in typed("diff", left, right).out


def _only_begun(path: Path) -> None:
    """What a recorder leaves that was killed before its first event."""
    for file in path.iterdir():
        file.write_text("") if file.name == session_files.EVENTS else file.unlink()


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda path: (path / session_files.START).unlink(), id="no start"),
        pytest.param(_only_begun, id="only begun"),
        pytest.param(lambda path: (path / session_files.START).write_text("[]"), id="start is a list"),
        pytest.param(lambda path: (path / session_files.RESULT).write_text("{}"), id="another result"),
        pytest.param(lambda path: (path / session_files.EVENTS).write_text("no\n"), id="no events in the log"),
        pytest.param(lambda path: (path / session_files.EVENTS).unlink(), id="no log"),
        pytest.param(lambda path: (path / session_files.PLAYBOOK).write_bytes(b"\xff"), id="another playbook"),
    ],
)
def test_damage_is_one_error_and_2(
    typed: Type, here: Path, damage: Callable[[Path], None], steady: Steady, snapshot: SnapshotAssertion
) -> None:
    left, right = two(here, leader_crash(), leader_crash())
    damage(right)
    told = []
    for pair in ((left, right), (right, left)):
        done = typed("diff", *pair)
        assert (done.code, done.out) == (2, "")
        assert len(done.err.splitlines()) == 1
        told.append(steady(done.err))
    assert told[0] == told[1]
    assert told[0] == snapshot


def test_an_event_that_was_changed_is_noticed(
    typed: Type, here: Path, steady: Steady, snapshot: SnapshotAssertion
) -> None:
    left, right = two(here, leader_crash(), leader_crash())
    log = right / session_files.EVENTS
    log.write_bytes(log.read_bytes().replace(b'"clean": true', b'"clean": null'.replace(b"null", b"true "), 1))
    done = typed("diff", left, right)
    assert done.code == 2
    assert steady(done.err) == snapshot


def test_no_such_session(typed: Type, here: Path, snapshot: SnapshotAssertion) -> None:
    done = typed("diff", "here", "there")
    assert done.code == 2
    assert done.err == snapshot


@pytest.mark.slow
@pytest.mark.parametrize("strange", ['{"clients": []}', '{"expectations": [1]}', '{"partitions": {"a": 1}}', "{}"])
def test_a_result_that_is_none_makes_no_traceback(typed: Type, here: Path, strange: str) -> None:
    left, right = two(here, leader_crash(), leader_crash())
    for side in (left, right):
        (side / session_files.RESULT).write_text(strange)
        reseal(side, session_files.RESULT)
    done = typed("diff", left, right)
    assert (done.code, len(done.err.splitlines())) == ((0, 0) if strange == "{}" else (2, 1))


def test_diff_compares_included_fragments(typed: Type, here: Path) -> None:
    left, right = two(here, leader_crash(), leader_crash())
    for side, value in ((left, 1), (right, 2)):
        (side / "fragments.json").write_text(json.dumps({"az.yaml": f"floodmark: 1\nfragment: az\nseed: {value}\n"}))
    told = json.loads(typed("diff", left, right, "--json").out)
    assert told["playbook_diff"][:2] == ["--- left az.yaml", "+++ right az.yaml"]
    assert told["playbook_diff"][-2:] == ["-seed: 1", "+seed: 2"]
    assert told["same"]

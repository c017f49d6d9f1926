"""Several playbooks as a suite: typed right here, and as processes where it is about workers, signals or terminals."""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import pytest
from syrupy.assertion import SnapshotAssertion

from playbooks.session_format import session_files
from tests.cli.running import FLOODMARK, ROOT, Steady, Typed, floodmark
from tests.cli.test_processes import on_a_terminal
from tests.support.playbooks import CLUSTER, CRASH, MANUAL
from tui.cli.runs.suite import HEADS, fitting

pytestmark = pytest.mark.slow

Run = Callable[..., Typed]

ENV = {**os.environ, "PYTHONPATH": str(ROOT)}
FAILING = CLUSTER + "settle: 1s\nsteps:\n  - at: 1s\n    heal: all\nexpect:\n  - acked() == 0\n  - acked() > 0\n"
WAITING = CLUSTER + "settle: 1s\nsteps:\n  - when: leader(orders-0) == 3\n    within: 1s\n    heal: all\n"
ENDLESS = CLUSTER + "settle: 1s\nsteps:\n  - at: 100000s\n    heal: all\n"
LOSING = CRASH.replace("config: {acks: all}", "config: {acks: 0}")


def named(text: str, name: str, tags: str = "") -> str:
    tagged = f"\ntags: [{tags}]" if tags else ""
    return text.replace("name: small", f"name: {name}{tagged}", 1).replace("name: by-hand", f"name: {name}{tagged}", 1)


@pytest.fixture
def suite(here: Path) -> Path:
    """A folder with three small playbooks that pass, and one beside it for each other way to end."""
    tmp_path = here
    (tmp_path / "suite" / "deep").mkdir(parents=True)
    for place, text in {
        "suite/crash.yaml": named(CRASH, "crash", "leader, slow"),
        "suite/hand.yaml": named(MANUAL, "hand", "leader"),
        "suite/deep/load.yml": named(CLUSTER + "settle: 1s\n", "load"),
        "suite/part.yaml": "floodmark: 1\nfragment: part\n",
        "fails.yaml": named(FAILING, "fails"),
        "waits.yaml": named(WAITING, "waits"),
        "loses.yaml": named(LOSING, "loses"),
        "endless.yaml": named(ENDLESS, "endless"),
        "broken.yaml": "floodmark: 1\n",
        "wrong.yaml": "floodmark: 2\n",
    }.items():
        (tmp_path / place).write_text(text)
    return tmp_path


@pytest.fixture
def run(typed: Run) -> Run:
    """Types ``floodmark run``; without ``--jobs`` there is no other process."""
    return partial(typed, "run")


def documents(done: Typed) -> list[dict[str, object]]:
    return [each | {"session": ""} for each in json.loads(done.out)]


def test_in_parallel_the_documents_are_the_same_as_one_after_the_other(run: Run, suite: Path) -> None:
    words = ("suite", "fails.yaml", "--json", "--jobs", "2", "--junit", "2.xml", "--markdown", "2.md")
    spread = floodmark("run", *words, cwd=suite)
    alone = run("suite", "fails.yaml", "--json", "--jobs", "1", "--junit", "1.xml", "--markdown", "1.md")
    assert [each["playbook"] for each in documents(alone)] == ["crash", "load", "hand", "fails"]
    assert documents(spread) == documents(alone)
    assert (spread.code, alone.code) == (1, 1)
    assert (suite / "2.md").read_text() == (suite / "1.md").read_text()
    without = []
    for name in ("1.xml", "2.xml"):
        lines = (suite / name).read_text().splitlines()
        without.append([line for line in lines if "session:" not in line])
    assert without[0] == without[1]
    assert len(session_files.sessions_under(suite / "sessions")) == 8


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("suite", 0),
        ("suite/hand.yaml waits.yaml", 3),
        ("waits.yaml fails.yaml", 1),
        ("suite --tag leader --skip-tag slow", 0),
    ],
)
def test_the_worst_counts_and_an_inconclusive_one_hides_no_failure(
    run: Run, suite: Path, words: str, code: int, snapshot: SnapshotAssertion
) -> None:
    done = run(*words.split())
    assert (done.code, done.err) == (code, "")
    assert done.out.splitlines()[-1] == snapshot


def test_every_problem_of_every_file_is_reported_before_anything_runs(
    run: Run, suite: Path, snapshot: SnapshotAssertion
) -> None:
    (suite / "empty").mkdir()
    words = ("suite", "broken.yaml", "wrong.yaml", "empty", "nobody", "--jobs", "2", "--tag", "leeder", "--until", "x")
    done = run(*words, "--baseline", "none.json", "--markdown", "no/where.md", "--json")
    assert (done.code, done.out) == (2, "")
    assert done.err == snapshot
    assert not (suite / "sessions").exists()


@pytest.mark.parametrize(
    "words",
    [
        "suite --plain --jobs 2",
        "suite --json --markdown -",
        "suite --tag slow --skip-tag leader",
        "suite/hand.yaml --dry-run --baseline b.json",
        "suite --jobs 0",
    ],
)
def test_options_that_contradict_are_bad_input(run: Run, suite: Path, words: str, snapshot: SnapshotAssertion) -> None:
    (suite / "b.json").write_text("[]")
    done = run(*words.split())
    assert done.code == 2
    assert done.err == snapshot


def test_settings_apply_to_selected_playbooks_only(run: Run, suite: Path) -> None:
    setting = ("--set", "producers.checkout.config.acks=1")
    assert run("suite", *setting).code == 2, "a playbook stepped by hand has no producers"
    done = run("suite", *setting, "--tag", "slow", "--json")
    assert (done.code, [each["playbook"] for each in documents(done)]) == (0, ["crash"])


def test_failures_are_listed_with_cause_and_rerun_command(
    run: Run, suite: Path, steady: Steady, snapshot: SnapshotAssertion
) -> None:
    done = run("loses.yaml", "suite/hand.yaml")
    lines = done.out.splitlines()
    first = lines.index("FAIL  loses")
    assert [steady(line) for line in lines[first : first + 5]] == snapshot
    heads = next(line for line in lines if line.startswith("playbook "))
    assert heads.split() == [
        *("playbook", "profile", "verdict", "acked", "lost", "duplicates", "unavailable", "time", "took", "events")
    ]
    assert run("loses.yaml", "--seed", "3").code == 1


def test_in_a_suite_a_grid_runs_once_and_so_it_does_again(run: Run, suite: Path, snapshot: SnapshotAssertion) -> None:
    (suite / "grid.yaml").write_text(named(FAILING, "grid") + "vary: {acks: [1, all]}\n")
    document = run("grid.yaml", "suite/hand.yaml", "--json")
    assert [each["playbook"] for each in documents(document)] == ["grid", "hand"]
    done = run("grid.yaml", "suite/hand.yaml")
    assert [line for line in done.out.splitlines() if line.startswith("rerun ")] == snapshot
    assert run("grid.yaml", "--seed", "3", "--no-vary").code == 1


def test_fail_fast_begins_nothing_more(run: Run, suite: Path) -> None:
    done = run("fails.yaml", "suite", "--fail-fast", "--json")
    assert done.code == 1
    assert [each["verdict"] for each in documents(done)] == ["fail", "not run", "not run", "not run"]
    assert len(session_files.sessions_under(suite / "sessions")) == 1


def test_a_worse_run_than_the_baseline_fails_even_if_all_holds(
    run: Run, suite: Path, snapshot: SnapshotAssertion
) -> None:
    quiet = ("suite/crash.yaml", "suite/hand.yaml")
    assert run(*quiet, "--save-baseline", "base.json").code == 0
    same = run(*quiet, "--baseline", "base.json")
    assert same.code == 0
    kept = json.loads((suite / "base.json").read_text())
    kept["playbooks"][0]["unavailable"]["us"] -= 1
    kept["playbooks"][1]["ledger"]["acked_lost"] = 4
    (suite / "older.json").write_text(json.dumps(kept))
    worse = run(*quiet, "--baseline", "older.json", "--markdown", "-")
    assert worse.code == 1
    lines = worse.err.splitlines()  # stdout has the summary, and this is why the exit code is 1
    better = [line for line in lines if line.startswith("better ")]
    assert {"same": same.out.splitlines()[-1], "better": better, "worse": lines[-1]} == snapshot
    rows = [[cell.strip() for cell in line.split("|")] for line in worse.out.splitlines()]
    assert ["", "hand", "better", "acked lost", "4", "0", ""] in rows
    one = run("suite/hand.yaml", "--baseline", "older.json", "--json")
    assert (one.code, json.loads(one.out)["verdict"]) == (0, "pass"), "what got better, or did not run, is no failure"


def test_a_baseline_is_replaced_whole_or_left(run: Run, suite: Path, snapshot: SnapshotAssertion) -> None:
    (suite / "base.json").write_text("as it was")
    (suite / "file").write_text("")
    done = run("suite/hand.yaml", "--save-baseline", "base.json", "--out", "file/x")
    assert done.code == 2
    assert [line for line in done.err.splitlines() if "--save-baseline" in line] == snapshot
    assert (suite / "base.json").read_text() == "as it was"
    assert run("suite/hand.yaml", "--save-baseline", "base.json").code == 0
    assert list(json.loads((suite / "base.json").read_text())) == ["floodmark_baseline", "playbooks"]
    assert not list(suite.glob(".base*"))


def test_the_same_name_twice_is_distinguished_and_folders_run_a_file_once(run: Run, suite: Path) -> None:
    done = run("suite/hand.yaml", "suite", "suite/deep", "suite/hand.yaml", "--json", "--junit", "j.xml")
    assert [each["playbook"] for each in documents(done)] == ["hand", "crash", "load", "hand"]
    suites = ElementTree.parse(suite / "j.xml").getroot()
    assert [each.get("name") for each in suites] == ["hand", "crash", "load", "hand (2)"]


def test_on_a_terminal_a_bar_moves_and_the_table_fits(suite: Path) -> None:
    crash = suite / "suite/crash.yaml"  # long enough to be seen on its way, however slow the machine draws
    crash.write_text(re.sub(r"(?m)^settle: .*$", "settle: 20m", crash.read_text()))
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", on_a_terminal(("run", "suite"), suite, {"COLUMNS": "80"}))
    lines = plain.replace("\r", "\n").splitlines()
    assert any(re.fullmatch(r"\S+ 3/3 +\d:\d\d:\d\d *", line) for line in lines), lines
    assert any(re.match(r". crash  \d+\.\d+s, (before|settling)", line) for line in lines), lines
    (heads,) = [line.split() for line in lines if line.split()[:1] == ["playbook"]]
    assert heads == ["playbook", "verdict", "acked", "lost", "duplicates", "unavailable", "time"]
    assert any(line.split()[:4] == ["crash", "pass", "1215", "0/0"] for line in lines)
    assert "3 playbooks: 3 pass" in lines


def test_columns_are_left_out_only_where_they_do_not_fit() -> None:
    rows = [tuple("x" * len(head) for head in HEADS)]
    needed = sum(len(head) + 3 for head in HEADS)
    assert fitting(HEADS, rows, None) == fitting(HEADS, rows, needed) == ([*HEADS], [[*rows[0]]])
    assert fitting(HEADS, rows, needed - 1)[0] == [*HEADS[:-1]]
    assert fitting(HEADS, rows, 1)[0] == ["playbook", "verdict", "acked", "lost", "duplicates", "unavailable"]


def begun(here: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*FLOODMARK, "run", *words],
        cwd=here,
        env=ENV,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def recording(here: Path, count: int, name: str) -> None:
    """Wait until so many sessions of that name have something in them."""
    while sum(path.stat().st_size > 10_000 for path in here.glob(f"sessions/*{name}*/events.jsonl")) < count:
        time.sleep(0.02)


def stopped(typed: Run, suite: Path, steady: Steady, *, to_all: bool) -> list[str]:
    """What is told of two that were running, and of the whole, when ctrl+c comes: to all processes or the first."""
    process = begun(suite, "endless.yaml", "endless.yaml", "suite", "--jobs", "2", "--json", "--junit", "j.xml")
    recording(suite, 2, "endless")
    (os.killpg if to_all else os.kill)(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err
    sessions = session_files.sessions_under(suite / "sessions")
    assert len(sessions) == 2
    lines = err.splitlines()
    told = set()
    for session in sessions:
        line = next(line for line in lines if line.endswith(f" {session.relative_to(suite)}"))
        told.add(steady(line[line.index("stopped; ") :]))
    assert not (suite / "j.xml").exists()
    assert typed("replay", sessions[0]).code == 0
    return [*told, lines[-1]]


def test_ctrl_c_stops_every_worker_and_keeps_what_was_recorded(
    typed: Run, suite: Path, steady: Steady, snapshot: SnapshotAssertion
) -> None:
    assert stopped(typed, suite, steady, to_all=True) == snapshot


@pytest.mark.evening
def test_ctrl_c_for_the_first_process_stops_the_others_as_well(typed: Run, suite: Path, steady: Steady) -> None:
    """As a run by its pool does when it is interrupted alone."""
    told, last = stopped(typed, suite, steady, to_all=False)
    assert (told.startswith("stopped; "), last.endswith(" 5 stopped")) == (True, True)


def children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def opened(pid: int) -> list[str]:
    """Paths of the files that a process has open."""
    paths = []
    for each in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed since
            paths.append(str(each.readlink()))
    return paths


def test_a_worker_that_is_killed_is_70_and_the_others_are_reported(suite: Path, snapshot: SnapshotAssertion) -> None:
    process = begun(suite, "endless.yaml", "suite/hand.yaml", "fails.yaml", "--jobs", "2", "--json", "--junit", "j.xml")
    recording(suite, 1, "endless")
    (worker,) = (child for child in children(process.pid) if any("endless" in each for each in opened(child)))
    os.kill(worker, signal.SIGKILL)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 70
    assert [each["verdict"] for each in json.loads(out)] == ["error", "pass", "fail"]
    case = ElementTree.parse(suite / "j.xml").getroot()[0].find("testcase/error")
    assert case is not None
    error = case.get("message") or ""
    assert error == snapshot
    assert f"ERROR  endless: {error}" in err
    (session,) = suite.glob("sessions/*endless*")
    assert f"log      {session.relative_to(suite)}/crash.log" in err
    assert error in (session / "crash.log").read_text()

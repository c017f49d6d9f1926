"""``floodmark run``: exit codes, documents, and what happens to bad input."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.protocol.events import GuardActed, StepTaken
from playbooks.engine.session import Session
from playbooks.errors import CODES
from playbooks.parser.loader import loads
from playbooks.recording.recorder import Recorder, RecordingError
from playbooks.session_format import session_files
from tests.cli.running import Steady, Typed
from tests.support.playbooks import CLUSTER, CRASH, MANUAL
from tui.cli.runs.session_driver import SessionDriver, progress
from tui.output.result import guard_lines, refusal_text

pytestmark = pytest.mark.slow

Type = Callable[..., Typed]

FAILING = CLUSTER + "settle: 1s\nsteps:\n  - at: 1s\n    heal: all\nexpect:\n  - acked() == 0\n  - acked() > 0\n"
WAITING = CLUSTER + "settle: 1s\nsteps:\n  - when: leader(orders-0) == 3\n    within: 1s\n    heal: all\n"


@pytest.fixture(autouse=True)
def files(here: Path) -> None:
    for name, text in (("crash", CRASH), ("fails", FAILING), ("waits", WAITING), ("hand", MANUAL)):
        (here / f"{name}.yaml").write_text(text)


def sessions(here: Path) -> list[Path]:
    return session_files.sessions_under(here / "sessions")


@pytest.mark.parametrize(("name", "code"), [("crash", 0), ("hand", 0), ("fails", 1), ("waits", 3)])
def test_exit_codes_show_the_verdict(typed: Type, here: Path, name: str, code: int) -> None:
    done = typed("run", f"{name}.yaml")
    assert done.code == code
    assert done.err == "", "nothing but progress goes to stderr, and none of it to a pipe"
    assert {0: "PASS", 1: "FAIL", 3: "INCONCLUSIVE"}[code] in done.out
    assert len(sessions(here)) == 1


def test_refused_steps_are_reported_without_plain(typed: Type, snapshot: SnapshotAssertion) -> None:
    assert [line for line in typed("run", "hand.yaml").out.splitlines() if line.startswith("refused")] == snapshot
    assert not any(line.startswith("refused") for line in typed("run", "crash.yaml").out.splitlines())


def test_only_the_first_of_many_refusals_are_reported(snapshot: SnapshotAssertion) -> None:
    steps = [StepTaken(0, f"step {number}", "", "admin elect_leaders x=1", "NOT_CONTROLLER") for number in range(1, 11)]
    assert refusal_text(steps) == snapshot


def test_the_sandbox_runs_without_a_screen_under_load(typed: Type) -> None:
    done = typed("run", "sandbox", "--json")
    assert (done.code, json.loads(done.out)["ledger"]["sent"]) == (0, 4000)


def test_expectations_that_were_not_evaluated_are_untested(typed: Type, snapshot: SnapshotAssertion) -> None:
    done = typed("run", "sandbox", "--until", "1s")
    assert (done.code, "FAILED" in done.out) == (3, False)
    assert [line for line in done.out.splitlines() if line.startswith("untested")] == snapshot


def test_progress_says_what_the_session_is_at(here: Path, snapshot: SnapshotAssertion) -> None:
    session = Session.start(loads((here / "waits.yaml").read_text(), "waits.yaml"))
    told = [progress(session)]
    while session.advance(session.cluster.now_us + 500_000):
        told.append(progress(session))
    told.append(progress(Session.start(loads(CLUSTER, "load.yaml"))))
    assert told == snapshot


def test_json_is_one_document_and_nothing_else(typed: Type, here: Path) -> None:
    done = typed("run", "crash.yaml", "--json")
    document = json.loads(done.out)
    assert (document["verdict"], done.err) == ("pass", "")
    assert document["session"] == str(sessions(here)[0].relative_to(here))
    assert json.loads((here / document["session"] / session_files.RESULT).read_text()) == document


def test_the_same_seed_gives_the_same_digest_and_another_another(typed: Type) -> None:
    digests = [
        json.loads(typed("run", "crash.yaml", "--json", *seed).out)["digest"]
        for seed in ((), ("--seed", "3"), ("--seed", "4"))
    ]
    assert digests[0] == digests[1] != digests[2]


def test_several_playbooks_make_a_table_a_list_and_the_worst_code(typed: Type, snapshot: SnapshotAssertion) -> None:
    words = ("run", "crash.yaml", "waits.yaml", "fails.yaml", "--jobs", "1")
    document = typed(*words, "--json")
    assert (document.code, document.err) == (1, "")
    assert [each["verdict"] for each in json.loads(document.out)] == ["pass", "inconclusive", "fail"]
    done = typed(*words)
    assert (done.code, done.err) == (1, "")
    lines = done.out.splitlines()
    head = next(number for number, line in enumerate(lines) if line.startswith("playbook "))
    rows = [line.replace("small (", "small-(").split() for line in lines[head + 1 : head + 4]]
    assert [(row[0], row[2]) for row in rows] == [
        ("small", "pass"),
        ("small-(2)", "inconclusive"),
        ("small-(3)", "fail"),
    ]
    assert lines[-1] == snapshot


def test_inconclusive_alone_is_3_and_reports_why(typed: Type, snapshot: SnapshotAssertion) -> None:
    done = typed("run", "crash.yaml", "--until", "3s")
    assert done.code == 3
    assert [line for line in done.out.splitlines() if line.startswith("INCONCLUSIVE")] == snapshot


def test_out_and_the_environment_choose_where_sessions_go(
    typed: Type, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed("run", "hand.yaml", "--out", here / "one")
    monkeypatch.setenv("FLOODMARK_SESSIONS", str(here / "two"))
    typed("run", "hand.yaml")
    assert [len(session_files.sessions_under(here / name)) for name in ("one", "two", "sessions")] == [1, 1, 0]


def test_settings_change_the_run_and_are_kept_with_it(typed: Type, here: Path) -> None:
    done = typed(
        "run", "crash.yaml", "--set", "cluster.kafka=2.8", "--set", "producers.checkout.config.acks=1", "--json"
    )
    assert json.loads(done.out)["profile"] == "2.8-zookeeper"
    session = sessions(here)[0]
    start = session_files.read_start(session)
    assert start.settings == {"cluster.kafka": "2.8", "producers.checkout.config.acks": "1"}
    assert start.producers[0]["acks"] == 1
    assert loads((session / session_files.PLAYBOOK).read_text(), "x").spec.kafka == "2.8"


def test_plain_prints_notable_events_on_stdout(typed: Type) -> None:
    lines = typed("run", "crash.yaml", "--plain").out.splitlines()
    assert next(line for line in lines if "became_leader" in line).split()[0] == "0.000s"
    assert any("fault_injected" in line and "broker 1" in line for line in lines)
    assert not any("records_acked" in line or "hw_advanced" in line for line in lines)


def test_plain_with_json_leaves_stdout_to_the_document(typed: Type) -> None:
    done = typed("run", "crash.yaml", "--plain", "--json")
    assert json.loads(done.out)["verdict"] == "pass"
    assert "leader_elected" in done.err


def test_show_prints_the_table_as_plain_lines_in_a_pipe(typed: Type) -> None:
    lines = typed("run", "hand.yaml").out.splitlines()
    head = next(number for number, line in enumerate(lines) if line.startswith("broker "))
    assert lines[head].split() == ["broker", "role", "LEO", "HW", "epochs", "ISR", "log"]
    assert lines[head + 1].split() == ["1", "leader", "1", "0", "0@0", "1,2", "0:m0"]


def test_junit_has_a_case_per_expectation(typed: Type, here: Path, snapshot: SnapshotAssertion) -> None:
    typed("run", "crash.yaml", "fails.yaml", "waits.yaml", "--jobs", "1", "--junit", here / "results.xml")
    suites = ElementTree.parse(here / "results.xml").getroot()
    names = [suite.get("name") for suite in suites]
    assert names == ["small", "small (2)", "small (3)"]
    counts = [tuple(suite.get(key) for key in ("tests", "failures", "errors", "skipped")) for suite in suites]
    assert counts == [("3", "0", "0", "0"), ("2", "1", "0", "0"), ("2", "0", "1", "1")]
    failure, error = suites[1].find("testcase/failure"), suites[2].find("testcase/error")
    assert failure is not None
    assert error is not None
    assert {each.tag: each.get("message") for each in (failure, error)} == snapshot


BAD = [
    "nothing-like-it",
    "leader-crush",
    "missing.yaml",
    "broken.yaml",
    "crash.yaml --until soon",
    "crash.yaml --set x",
    "crash.yaml --set producers.nobody.rate=1/s",
    "crash.yaml --set cluster.kafka=3.99",
    "hand.yaml --until 5s",
    "crash.yaml --junit no/such/dir.xml",
    "crash.yaml broken.yaml",
    "crash.yaml --seed -1",
    "crash.yaml --frobnicate",
    "",
]


@pytest.mark.parametrize("words", BAD)
def test_bad_input_is_2_with_one_message_and_nothing_written(
    typed: Type, here: Path, words: str, snapshot: SnapshotAssertion
) -> None:
    (here / "broken.yaml").write_text("- a\n- b\n")
    done = typed("run", *words.split(), "--json")
    assert done.code == 2
    assert "Traceback" not in done.err
    assert done.out == ""
    assert done.err == snapshot
    assert not (here / "sessions").exists()


def test_a_file_wins_over_a_bundled_name(typed: Type, here: Path) -> None:
    (here / "leader-crash").write_text(MANUAL)
    assert json.loads(typed("run", "leader-crash", "--json").out)["playbook"] == "by-hand"


def test_sessions_that_cannot_be_written_are_one_error(typed: Type, here: Path, snapshot: SnapshotAssertion) -> None:
    (here / "sessions").write_text("in the way")
    done = typed("run", "hand.yaml")
    assert done.code == 2
    assert done.err == snapshot


def test_an_internal_error_keeps_the_session_and_names_its_account(
    typed: Type, here: Path, monkeypatch: pytest.MonkeyPatch, steady: Steady, snapshot: SnapshotAssertion
) -> None:
    mistake = ZeroDivisionError("a mistake of ours")

    def explode(self: SessionDriver, *_args: object) -> None:
        raise mistake

    monkeypatch.setattr(SessionDriver, "_print", explode)
    done = typed("run", "crash.yaml", "--json")
    assert (done.code, done.out) == (70, "")
    assert "Traceback" not in done.err
    (session,) = sessions(here)
    assert done.err.splitlines()[-1].endswith(f" {session.relative_to(here) / 'crash.log'}")
    assert steady(done.err) == snapshot
    assert str(mistake) in (session / session_files.CRASH_LOG).read_text()
    assert (session / session_files.EVENTS).stat().st_size > 0
    assert not (session / session_files.MANIFEST).exists()


def stopped(err: str) -> str:
    """The line that says so, before the tables of all that was to run."""
    return next(line for line in err.splitlines() if line.startswith("stopped"))


def test_an_interrupted_run_is_130_and_keeps_what_it_has(
    typed: Type, here: Path, monkeypatch: pytest.MonkeyPatch, steady: Steady, snapshot: SnapshotAssertion
) -> None:
    def interrupt(self: SessionDriver, *_args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(SessionDriver, "_print", interrupt)
    done = typed("run", "crash.yaml", "hand.yaml", "--jobs", "1")
    assert done.code == 130
    (session,) = sessions(here)
    assert stopped(done.err).endswith(f" {session.relative_to(here)}")
    assert steady(stopped(done.err)) == snapshot


def test_an_interrupted_run_whose_last_events_cannot_be_kept_is_130_as_well(
    typed: Type, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    def interrupt(self: SessionDriver, *_args: object) -> None:
        raise KeyboardInterrupt

    def full(self: Recorder) -> None:
        raise RecordingError("the disk is full", code="cannot_go_on")

    monkeypatch.setattr(SessionDriver, "_print", interrupt)
    monkeypatch.setattr(Recorder, "close", full)
    done = typed("run", "crash.yaml", "hand.yaml", "--jobs", "1")
    assert done.code == 130
    assert stopped(done.err) == snapshot
    assert "internal error" not in done.err


def test_codes_cover_every_verdict() -> None:
    assert sorted(CODES.values()) == [0, 1, 3]


def test_manual_playbooks_report_no_durations(typed: Type, steady: Steady, snapshot: SnapshotAssertion) -> None:
    told = [typed("run", name).out.splitlines() for name in ("lost-tail-same-epoch", "crash.yaml")]
    assert [[steady(line) for line in lines if line.startswith(("known", "digest"))] for lines in told] == snapshot


def test_unanswered_records_are_printed_if_there_are_any(typed: Type) -> None:
    cut = typed("run", "crash.yaml", "--until", "3900ms").out
    (ledger,) = (line for line in cut.splitlines() if line.startswith("ledger"))
    counts = {name: int(count) for count, name in re.findall(r"(\d+) ([a-z ]+)", ledger)}
    assert list(counts)[:6] == ["sent", "acked", "failed", "unknown", "unanswered", "acked lost"]
    assert (counts["failed"], counts["unknown"], counts["acked lost"]) == (0, 0, 0)
    assert counts["sent"] == counts["acked"] + counts["unanswered"]
    assert counts["unanswered"] > 100
    assert "unanswered" not in typed("run", "crash.yaml").out


def test_guard_actions_are_printed(typed: Type, here: Path, snapshot: SnapshotAssertion) -> None:
    steps = "steps:\n  - {at: 1s, inject: crash, target: broker(1)}\n"
    (here / "guarded.yaml").write_text(CLUSTER + "settle: 1s\nguards: {max_brokers_down: 0}\n" + steps)
    done = typed("run", "guarded.yaml")
    assert done.code == 0
    assert [line for line in done.out.splitlines() if line.startswith("guard")] == snapshot


def test_only_the_first_of_many_guard_actions_are_printed(snapshot: SnapshotAssertion) -> None:
    acted = [GuardActed(at, "stop_when", "stopped", "", "", "enough") for at in range(11)]
    lines = guard_lines(acted)
    assert len(lines) == 9
    assert lines == snapshot

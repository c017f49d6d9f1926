"""``floodmark why``, and what ``floodmark run`` says of it behind the verdict."""

import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from syrupy.assertion import SnapshotAssertion
from typer.testing import CliRunner

from cluster_model.checker.root_cause.findings import LOST, SKIPPED, Finding, RecordBlock
from faults.declarations.fault import Action
from playbooks.diagnosis.remedies import Remedy, SettingChange
from playbooks.diagnosis.why import FindingDiagnosis, LossExplanation, findings_of
from playbooks.engine.session import Session
from playbooks.engine.session_runner import start_session
from playbooks.library.bundled import path_of
from playbooks.parser.loader import load, loads
from playbooks.recording.recorder import Recorder
from tests.cli.running import Steady, Typed
from tests.playbooks.diagnosis.test_point_of_no_return import TAIL
from tui.cli.main import app
from tui.cli.runs.why import print_why
from tui.output.result import print_findings

pytestmark = pytest.mark.slow


Type = Callable[..., Typed]


def test_a_playbook_is_explained_on_stdout(typed: Type, snapshot: SnapshotAssertion) -> None:
    done = typed("why", "kip-101-loss")
    assert done.code == 0
    assert max(map(len, done.out.splitlines())) <= 110
    assert done.out == snapshot


@pytest.fixture(scope="module")
def unclean() -> Typed:
    """The document of a loss that an unclean election made."""
    done = CliRunner().invoke(app, ["why", "unclean-election", "--json", "--jobs", "1"], catch_exceptions=False)
    return Typed(done.exit_code, done.stdout, done.stderr)


def test_the_document_has_the_set_of_actions_and_every_remedy(unclean: Typed) -> None:
    done = unclean
    told = json.loads(done.out)
    assert done.code == 0
    assert "call-off" in told["operator_actions"]
    (finding,) = told["findings"]
    assert (finding["kind"], finding["no_return"]["kind"], finding["no_return"]["step"]) == ("lost", "event", "step 15")
    assert finding["no_return"]["without_unclean"]["step"] == "step 13"
    saving = [each["set"] for each in finding["remedies"] if each["verdict"] == "saves"]
    assert ["topics.orders.config.unclean.leader.election.enable=false"] in saving


def test_a_known_issue_is_described_once_and_then_named(typed: Type) -> None:
    done = typed("why", "kafka-6361", "--jobs", "1")
    lines = done.out.splitlines()
    causes = [line.split()[4] for line in lines if line.startswith("known issue ")]
    assert [cause.rstrip(":") for cause in causes] == ["KAFKA-6361"] * 3
    assert [cause.endswith(":") for cause in causes] == [True, False, False]
    assert [line for line in lines if line.startswith("known issues ")]


def test_a_failed_expectation_is_explained_without_a_finding(typed: Type, here: Path) -> None:
    head, _found, _rest = path_of("kafka-17584").read_text(encoding="utf-8").partition("expect:\n")
    (here / "retention.yaml").write_text(f"{head}expect: [end: log_start(orders-0) > 0]\n", encoding="utf-8")
    done = typed("run", here / "retention.yaml", "--out", here / "kept")
    assert done.code == 1
    (session,) = (here / "kept").iterdir()
    document = json.loads(typed("why", session, "--json", "--jobs", "1", "--seeds", "2").out)
    assert document["findings"] == []
    (failure,) = document["failures"]
    assert (failure["kind"], failure["name"]) == ("expectation", "log_start(orders-0) > 0")
    assert [each["issue"] for each in failure["known_issues"]] == ["KAFKA-17584"]


def test_the_same_twice(typed: Type, unclean: Typed) -> None:
    assert typed("why", "unclean-election", "--json").out == unclean.out


def test_a_setting_that_fixes_it_leaves_no_finding(typed: Type, snapshot: SnapshotAssertion) -> None:
    done = typed("why", "kip-101-loss", "--set", "cluster.kafka=0.11")
    assert done.code == 0
    assert done.out == snapshot
    assert json.loads(typed("why", "kip-101-loss", "--set", "cluster.kafka=0.11", "--json").out)["findings"] == []


@pytest.mark.parametrize(
    "words",
    [
        "no-such-thing",
        "kip-101-loss --finding 7",
        "kip-101-loss --set nonsense",
        "kip-101-loss --set cluster.kafka=9.9",
        "kip-101-loss --at 3s",
    ],
)
def test_bad_input_is_one_error(typed: Type, words: str, steady: Steady, snapshot: SnapshotAssertion) -> None:
    done = typed("why", *words.split())
    assert (done.code, done.out) == (2, "")
    assert "Traceback" not in done.err
    assert steady(done.err) == snapshot


@pytest.mark.parametrize("words", ["--at noon", "--at 2s --finding 1"])
def test_a_running_session_is_explained_only_as_far_as_it_went(
    typed: Type, tmp_path: Path, words: str, snapshot: SnapshotAssertion
) -> None:
    session = Session.start(loads(TAIL, "tail.yaml"), recorder=Recorder(tmp_path, live=True), open_ended=True)
    session.advance(15_000_000)
    assert session.recorder is not None
    session.recorder.flush()
    done = typed("why", session.recorder.path, *words.split())
    assert (done.code, done.out) == (2, "")
    assert done.err == snapshot


def test_a_session_by_hand_is_explained_behind_its_verdict(
    typed: Type, here: Path, snapshot: SnapshotAssertion
) -> None:
    done = typed("run", "kip-101-loss", "--out", here / "kept")
    assert done.code == 0
    assert done.out.index("PASS") < done.out.index("no return")
    assert "finding 1           lost" not in done.out
    (session,) = (here / "kept").iterdir()
    again = typed("why", session)
    assert again.code == 0
    begin = ("finding 1", "no return", "point of no return", "  kafka")
    told = {"run": done.out, "why": again.out}
    assert {
        name: [line for line in text.splitlines() if line.startswith(begin)] for name, text in told.items()
    } == snapshot


@pytest.mark.parametrize("words", [("--no-why",), ("--json",), ("--plain",)])
def test_it_can_be_left_out(typed: Type, here: Path, words: tuple[str, ...]) -> None:
    done = typed("run", "kip-101-loss", "--out", here / "kept", *words)
    assert done.code == 0
    assert "no return" not in done.err + done.out


def test_piped_output_of_a_timed_session_names_the_why_command(typed: Type, here: Path) -> None:
    file = here / "tail.yaml"
    file.write_text(TAIL, encoding="utf-8")
    done = typed("run", file, "--out", here / "kept")
    assert "no return" not in done.out
    (session,) = (here / "kept").iterdir()
    assert f"floodmark why {session}" in done.out


def test_nothing_is_said_where_nothing_was_lost(typed: Type, here: Path) -> None:
    done = typed("run", "kip-101-scenario-1-3.9", "--out", here / "kept")
    assert "why" not in done.out


def test_why_reports_that_nothing_was_lost(typed: Type, here: Path, snapshot: SnapshotAssertion) -> None:
    done = typed("run", "kip-101-scenario-1-3.9", "--out", here / "kept", "--why")
    assert [line for line in done.out.splitlines() if line.startswith("nothing ")] == snapshot
    done = typed("run", "kip-101-scenario-1-3.9", "--out", here / "kept", "--why", "--json")
    assert json.loads(done.out)["why"]["findings"] == []


def test_findings_have_the_numbers_of_the_result_and_the_point_is_looked_for_in_losses(
    snapshot: SnapshotAssertion,
) -> None:
    lost = Finding(LOST, "", "gone", (RecordBlock("o-0", "p", 0, 1, 0, 0, 1, committed=False),), ())
    skipped = replace(lost, kind=SKIPPED)
    result = replace(start_session(load(path_of("kip-101-loss"))).finish(), findings=(skipped, lost))
    assert [each.kind for each in findings_of(result)] == [SKIPPED, LOST]
    console = Console(file=io.StringIO(), width=60, force_terminal=True, color_system=None, soft_wrap=True)
    print_why(console, LossExplanation(result, (FindingDiagnosis(1, skipped, None, ()),), by_hand=True))
    out = console.file.getvalue()  # type: ignore[attr-defined]
    assert out == snapshot


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_remedies_and_findings_fit_the_terminal(columns: int) -> None:
    result = start_session(load(path_of("kip-101-loss"))).finish()
    change = SettingChange(
        "no unclean elections", (("topics.orders.config.unclean", "false"),), "KIP-101, KIP-106, KIP-98"
    )
    remedy = Remedy(change, "saves", 0, 50, 10, -700_000, "", 5, 5)
    console = Console(file=io.StringIO(), width=columns, force_terminal=True, color_system=None, soft_wrap=True)
    print_findings(console, result.findings, timed=False)
    print_why(
        console, LossExplanation(result, (FindingDiagnosis(1, result.findings[0], None, (remedy,)),), by_hand=True)
    )
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert max(map(len, lines)) <= columns
    assert "      --set topics.orders.config.unclean=false" in lines


def test_a_session_with_an_operator_is_explained_as_it_was(typed: Type, tmp_path: Path) -> None:
    quiet = loads(TAIL[: TAIL.index("steps:")].replace("50/s", "20/s") + "settle: 2s\n", "live.yaml")
    session = Session.start(quiet, recorder=Recorder(tmp_path, live=True), open_ended=True)
    session.advance(1_000_000)
    session.act(Action("inject", "gc_pause", "followers(orders-0)", {}, 1_500_000))
    session.advance(1_500_000)
    session.act(Action("inject", "crash", "leader(orders-0)", {}, 11_000_000))
    session.advance(15_000_000)
    path = Path(session.finish().session)

    done = typed("why", path, "--json", "--jobs", "1", "--seeds", "2")
    assert done.code == 0
    finding = json.loads(done.out)["findings"][0]
    # While the followers stand still they can be killed, and are then fenced before the leader that has the records.
    clean = finding["no_return"]["without_unclean"]
    assert (clean["at_us"], clean["description"]) == (2_500_000, "broker 2 resumed")
    assert [each["kind"] for each in clean["actions"]] == ["stop-lacking"]
    assert finding["remedies"][0]["change"] == "acks=all"
    assert finding["remedies"][0]["verdict"] == "saves"
    assert {each["seeds"] for each in finding["remedies"]} == {0, 1, 2}
    refused = typed("why", path, "--seed", "3")
    assert (refused.code, refused.out) == (2, "")

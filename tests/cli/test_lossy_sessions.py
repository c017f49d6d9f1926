"""Sessions that lost records are asked why before a report over them, and keep the answer."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from playbooks.session_format import session_files
from playbooks.session_format.session_files import read_manifest
from playbooks.version import VERSION
from spark_report.input.sessions import check_session
from spark_report.tables import compute
from tests.cli.running import Typed
from tui.cli.runs import spark_jobs
from tui.cli.runs.spark_jobs import explain_losses

pytestmark = pytest.mark.slow

Type = Callable[..., Typed]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session by hand that lost a record, and was asked why as it ended."""
    from typer.testing import CliRunner  # noqa: PLC0415

    from tui.cli.main import app  # noqa: PLC0415

    out = tmp_path_factory.mktemp("lossy")
    CliRunner().invoke(app, ["run", "kip-101-loss", "--why", "--out", str(out)])
    (session,) = session_files.sessions_under(out)
    return session


@pytest.fixture
def lossy(recorded: Path, tmp_path: Path) -> Path:
    """A copy of it, without an answer."""
    copy = tmp_path / recorded.name
    copy.mkdir()
    for file in recorded.iterdir():
        if file.name != session_files.WHY:
            (copy / file.name).write_bytes(file.read_bytes())
    return copy


def test_a_report_asks_it_and_finds_the_answer_in_its_tables(
    typed: Type, recorded: Path, lossy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_jobs, "run_subprocess", lambda _command: 0)
    assert typed("report", lossy, "--no-why").code == 0
    assert not (lossy / session_files.WHY).exists()
    assert typed("report", lossy).code == 0
    # A run that was asked has kept the same with its session.
    assert (lossy / session_files.WHY).read_bytes() == (recorded / session_files.WHY).read_bytes()
    session = check_session(lossy)
    manifest = read_manifest(lossy)
    assert manifest is not None
    assert session.why["digest"] == manifest.digest
    assert session.problems == ()
    (point,) = compute.kept_points([session])
    assert (point["finding"], point["point"], point["at_us"]) == (1, "event", None)
    remedies = compute.kept_remedies([session])
    assert [row["position"] for row in remedies] == list(range(1, len(remedies) + 1))
    saving = next(row for row in remedies if row["effect"] == "saves")
    assert (saving["before"], saving["remaining"]) == (1, 0)
    assert saving["options"]


def test_losses_are_explained_once_per_trace(lossy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Path] = []
    monkeypatch.setattr(spark_jobs, "_explain", lambda path: asked.append(path) is None)
    (lossy / session_files.WHY).write_text(json.dumps({"digest": "other"}), encoding="utf-8")
    assert check_session(lossy).why == {}
    explain_losses([str(lossy), str(lossy.parent), str(lossy / "..") + f"/{lossy.name}"], wanted=None)
    assert asked == [lossy]
    manifest = read_manifest(lossy)
    assert manifest is not None
    known = {"format": session_files.FORMAT, "digest": manifest.digest, "version": VERSION}
    (lossy / session_files.WHY).write_text(json.dumps(known), encoding="utf-8")
    explain_losses([str(lossy)], wanted=True)
    assert asked == [lossy]
    assert check_session(lossy).why == known


@pytest.mark.parametrize("kept", ['{"digest": ', "[]", "of before", "of no version"])
def test_explanations_that_are_unreadable_or_of_another_version_are_renewed(
    lossy: Path, kept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Path] = []
    monkeypatch.setattr(spark_jobs, "_explain", lambda path: asked.append(path) is None)
    manifest = read_manifest(lossy)
    assert manifest is not None
    older = {"of before": {"version": "0.0.1"}, "of no version": {}}
    text = json.dumps({"digest": manifest.digest, **older[kept]}) if kept in older else kept
    (lossy / session_files.WHY).write_text(text, encoding="utf-8")
    assert check_session(lossy).why == {}
    explain_losses([str(lossy)], wanted=None)
    assert asked == [lossy]


def test_only_one_short_session_is_explained_unless_all_are_requested(
    lossy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(spark_jobs, "_explain", lambda path: asked.append(path.name) is None)
    twin = lossy.with_name("session_id=twin")
    twin.mkdir()
    for file in lossy.iterdir():
        (twin / file.name).write_bytes(file.read_bytes())
    explain_losses([str(lossy.parent)], wanted=None)
    assert asked == [lossy.name]
    assert capsys.readouterr().err.replace(lossy.name, "SESSION") == snapshot
    explain_losses([str(lossy.parent)], wanted=True)
    assert asked == [lossy.name, lossy.name, twin.name]
    monkeypatch.setattr(spark_jobs, "MOST_EVENTS", 1)
    explain_losses([str(lossy.parent)], wanted=None)
    assert len(asked) == 3


def test_one_that_cannot_be_explained_does_not_keep_the_next_from_it(
    lossy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    names = ["session_id=first", "session_id=second", "session_id=third"]

    def fail_the_first(path: Path) -> bool:
        asked.append(path.name)
        return path.name != names[0]

    monkeypatch.setattr(spark_jobs, "_explain", fail_the_first)
    for name in names:
        twin = lossy.with_name(name)
        twin.mkdir()
        for file in lossy.iterdir():
            (twin / file.name).write_bytes(file.read_bytes())
    explain_losses([str(lossy.with_name(name)) for name in names], wanted=None)
    assert asked == names[:2]


@pytest.mark.parametrize("broken", ["playbook", "digest", "nothing lost"])
def test_a_session_that_cannot_be_explained_is_skipped_with_a_reason(
    lossy: Path, broken: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name = {"playbook": session_files.PLAYBOOK, "digest": session_files.MANIFEST}.get(broken, session_files.RESULT)
    text = (lossy / name).read_text(encoding="utf-8")
    if broken == "playbook":
        text = text.replace("kafka", "kofka")
    elif broken == "digest":
        text = json.dumps({**json.loads(text), "digest": "5eed"})
    else:
        text = json.dumps({**json.loads(text), "ledger": {"acked_lost": 0}})
    (lossy / name).write_text(text, encoding="utf-8")
    explain_losses([str(lossy)], wanted=None)
    assert not (lossy / session_files.WHY).exists()
    assert ("no remedies for" in capsys.readouterr().err) == (broken != "nothing lost")

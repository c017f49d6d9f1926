"""``floodmark demo``: two histories, a live crash, their report, and where to look next."""

import html
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from syrupy.assertion import SnapshotAssertion
from typer.testing import CliRunner

from playbooks.library.bundled import names
from playbooks.session_format.session_files import RESULT
from tests.cli.running import floodmark, report_here
from tui.cli.main import app
from tui.cli.runs import run as demo_module
from tui.cli.runs.run import CHAPTERS, demo
from tui.cli.runs.spark_jobs import Report

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow


@pytest.fixture
def requests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Report]:
    """Reports asked for; each is written at once, without Spark."""
    asked: list[Report] = []

    def report(request: Report) -> int:
        asked.append(request)
        assert request.out is not None
        request.out.mkdir(parents=True)
        (request.out / "report.json").write_text(json.dumps({"headline": "five sessions, two records lost"}))
        return 0

    monkeypatch.setattr(demo_module, "report", report)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FLOODMARK_SESSIONS", raising=False)
    return asked


def test_the_chapters_are_bundled_playbooks() -> None:
    assert {name for chapter in CHAPTERS for name in chapter.playbooks} <= set(names())


def test_it_tells_what_was_lost_why_and_where_to_look(
    requests: list[Report], capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
) -> None:
    assert demo(Path("reports/demo")) == 0
    told = capsys.readouterr().err
    old, new = told.split("kip-101-scenario-1-3.9  3.9-kraft")
    (request,) = requests
    lost = [re.findall(r"^ *lost +(\d+) of 3 ", text, re.MULTILINE) for text in (old, new)]
    assert [each[0] for each in lost] == ["1", "0"]
    assert [line for line in old.splitlines() if line.startswith(("lost ", "because "))] == snapshot
    short, report, again, screen = told.splitlines()[-4:]
    assert again.endswith(f" replay {request.sessions[0]}")
    assert [short, report, again[:12], screen[:12]] == snapshot
    assert len(request.sessions) == sum(len(chapter.playbooks) for chapter in CHAPTERS)
    assert all(Path(session).is_dir() for session in request.sessions)


def test_a_report_that_fails_is_the_end_of_it(
    requests: list[Report], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo_module, "report", lambda request: 70)
    assert demo(Path("reports/demo")) == 70
    assert "the screen" not in capsys.readouterr().err


@pytest.mark.spark
def test_the_whole_demo_with_spark(tmp_path: Path, spark: "SparkSession", monkeypatch: pytest.MonkeyPatch) -> None:
    """On the Spark of the other tests, which have one start in a process of its own as well."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FLOODMARK_SESSIONS", raising=False)
    report_here(monkeypatch, spark)
    done = CliRunner().invoke(app, ["demo"], catch_exceptions=False)
    look_at_the_whole(tmp_path, done.exit_code, done.stderr)


@pytest.mark.spark
@pytest.mark.evening
def test_the_whole_demo_as_it_is_typed(tmp_path: Path) -> None:
    done = floodmark("demo", cwd=tmp_path, env={"FLOODMARK_SESSIONS": ""})
    look_at_the_whole(tmp_path, done.code, done.err)


def look_at_the_whole(here: Path, code: int, told: str) -> None:
    assert code == 0, told
    page = html.unescape((here / "reports/demo/report.html").read_text())
    results = [json.loads(path.read_text()) for path in here.rglob(RESULT)]
    causes = {finding["sentence"] for result in results for finding in result["findings"]}
    assert causes
    assert not [cause for cause in causes if cause not in page]
    assert " reports/demo/report.html" in told
    assert "Spark" in told
    assert "says otherwise" not in told

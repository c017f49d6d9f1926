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
from tui.cli.runs import demo as demo_module
from tui.cli.runs.demo import CHAPTERS, FULL_TEXT, demo
from tui.cli.runs.spark_jobs import Report
from tui.output.result import wrapped

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
    monkeypatch.delenv("COLUMNS", raising=False)
    return asked


def test_the_chapters_are_bundled_playbooks() -> None:
    assert {name for chapter in CHAPTERS for name in chapter.playbooks} <= set(names())


def test_it_reports_what_was_lost_why_and_where_to_look(
    requests: list[Report], capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
) -> None:
    assert demo(Path("reports/demo")) == 0
    told, err = capsys.readouterr()
    (request,) = requests
    assert re.findall(r"held; (\w+) ", told) == ["1", "no", "1", "1", "no"]
    assert err == ""
    (again,) = [line for line in told.splitlines() if line.startswith("replay ")]
    assert again.endswith(f" replay {request.sessions[0]}")
    assert re.sub(r"(?m)^(replay|TUI) .*$", r"\1", told) == snapshot
    full = Path("reports/demo", FULL_TEXT).read_text()
    assert [full.count(f"{name}  ") for chapter in CHAPTERS for name in chapter.playbooks] == [1] * 5
    assert full.count("\ndigest ") == 5
    assert len(request.sessions) == sum(len(chapter.playbooks) for chapter in CHAPTERS)
    assert all(Path(session).is_dir() for session in request.sessions)


def test_a_report_that_fails_is_the_end_of_it(
    requests: list[Report], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo_module, "report", lambda request: 70)
    assert demo(Path("reports/demo")) == 70
    assert "reports/demo" not in capsys.readouterr().out


@pytest.mark.spark
def test_the_whole_demo_with_spark(tmp_path: Path, spark: "SparkSession", monkeypatch: pytest.MonkeyPatch) -> None:
    """On the Spark of the other tests, which have one start in a process of its own as well."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FLOODMARK_SESSIONS", raising=False)
    report_here(monkeypatch, spark)
    done = CliRunner().invoke(app, ["demo"], catch_exceptions=False)
    look_at_the_whole(tmp_path, done.exit_code, done.stdout, done.stderr)


@pytest.mark.spark
@pytest.mark.evening
def test_the_whole_demo_as_it_is_typed(tmp_path: Path) -> None:
    done = floodmark("demo", cwd=tmp_path, env={"FLOODMARK_SESSIONS": ""})
    look_at_the_whole(tmp_path, done.code, done.out, done.err)


MOST_LINES = 57
"""Lines of the demo at 80 columns, so that ``make demo`` prints 60 with those of its set-up."""


def look_at_the_whole(here: Path, code: int, told: str, err: str) -> None:
    assert code == 0, err
    lines = [part for line in (told + err).splitlines() for part in wrapped(line, 80)]
    assert len(lines) <= MOST_LINES
    assert told.splitlines()[-1].startswith("- "), "what it shows is the last that it says"
    page = html.unescape((here / "reports/demo/report.html").read_text())
    results = [json.loads(path.read_text()) for path in here.rglob(RESULT)]
    causes = {finding["sentence"] for result in results for finding in result["findings"]}
    assert causes
    assert not [cause for cause in causes if cause not in page]
    assert " reports/demo/report.html" in told
    assert "Spark" in told
    assert "says otherwise" not in told

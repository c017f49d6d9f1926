"""``floodmark demo``: two histories, a live crash, their report, and where to look next."""

import json
from pathlib import Path

import pytest

from playbooks.library.bundled import names
from tests.cli.running import floodmark
from tui.cli.runs import run as demo_module
from tui.cli.runs.run import CHAPTERS, demo
from tui.cli.runs.spark_jobs import Report

BECAUSE = "cut its log back to its high watermark 1, which was out of date"


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
    requests: list[Report], capsys: pytest.CaptureFixture[str]
) -> None:
    assert demo(Path("reports/demo")) == 0
    told = capsys.readouterr().err
    old, new = told.split("kip-101-scenario-1-3.9  3.9-kraft")
    assert "lost     1 of 3 acknowledged records" in old
    assert BECAUSE in old
    assert "lost     0 of 3 acknowledged records" in new
    last = told.splitlines()[-4:]
    assert last[0] == "in short    five sessions, two records lost"
    assert last[1] == "the report  reports/demo/report.html"
    assert last[3].startswith("the screen  ")
    (request,) = requests
    assert len(request.sessions) == sum(len(chapter.playbooks) for chapter in CHAPTERS)
    assert all(Path(session).is_dir() for session in request.sessions)


def test_a_report_that_fails_is_the_end_of_it(
    requests: list[Report], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo_module, "report", lambda request: 70)
    assert demo(Path("reports/demo")) == 70
    assert "the screen" not in capsys.readouterr().err


@pytest.mark.spark
def test_the_whole_demo_with_spark(tmp_path: Path) -> None:
    done = floodmark("demo", cwd=tmp_path, env={"FLOODMARK_SESSIONS": ""})
    assert done.code == 0, done.err
    html = (tmp_path / "reports/demo/report.html").read_text()
    assert BECAUSE in html
    assert "the report  reports/demo/report.html" in done.err
    assert "Spark" in done.err
    assert "says otherwise" not in done.err

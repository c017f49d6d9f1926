"""``floodmark demo``: two histories, a live crash, their report, and where to look next."""

import html
import json
import re
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from playbooks.library.bundled import names
from playbooks.session_format.session_files import RESULT
from tests.cli.running import floodmark
from tui.cli.runs import run as demo_module
from tui.cli.runs.run import CHAPTERS, demo
from tui.cli.runs.spark_jobs import Report


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
def test_the_whole_demo_with_spark(tmp_path: Path) -> None:
    done = floodmark("demo", cwd=tmp_path, env={"FLOODMARK_SESSIONS": ""})
    assert done.code == 0, done.err
    page = html.unescape((tmp_path / "reports/demo/report.html").read_text())
    results = [json.loads(path.read_text()) for path in tmp_path.rglob(RESULT)]
    causes = {finding["sentence"] for result in results for finding in result["findings"]}
    assert causes
    assert not [cause for cause in causes if cause not in page]
    assert " reports/demo/report.html" in done.err
    assert "Spark" in done.err
    assert "says otherwise" not in done.err

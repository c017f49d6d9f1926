"""What the page on continuous integration tells people to type works, in its order."""

from pathlib import Path

import pytest
import yaml

from tests.docs.test_readme import ROOT, SCREEN, blocks, here, type_here
from tests.support.playbooks import CRASH, MANUAL

pytestmark = pytest.mark.slow

PAGE = ROOT / "docs" / "test" / "ci.md"


def typed() -> list[str]:
    told = [line[2:] for block in blocks(PAGE, "console") for line in block.splitlines()]
    github, gitlab = (yaml.safe_load(block) for block in blocks(PAGE, "yaml"))
    steps = [step.get("run", "") for step in github["jobs"]["floodmark"]["steps"]] + gitlab["floodmark"]["script"]
    return told + [step for step in steps if step.startswith("floodmark ")]


def test_every_command_of_the_page_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here(tmp_path, monkeypatch)
    (tmp_path / "chaos").mkdir()
    (tmp_path / "chaos" / "crash.yaml").write_text(CRASH)
    (tmp_path / "chaos" / "hand.yaml").write_text(MANUAL)
    summary = tmp_path / "summary"
    summary.write_text("")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert len(typed()) == 5
    for command in typed():
        code, told = type_here(command.replace("floodmark", SCREEN, 1))
        assert code == 0, (command, told)
    assert summary.read_text().startswith("### floodmark: passed\n")
    assert (tmp_path / "floodmark.md").read_text().startswith("### floodmark: passed\n")
    assert (tmp_path / "floodmark.xml").exists()

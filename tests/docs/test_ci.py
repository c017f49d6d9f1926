"""What the page on continuous integration tells people to type works, in its order."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.docs.test_readme import ROOT, blocks
from tests.support.playbooks import CRASH, MANUAL

PAGE = ROOT / "docs" / "ci.md"


def typed() -> list[str]:
    told = [line[2:] for block in blocks(PAGE, "console") for line in block.splitlines()]
    github, gitlab = (yaml.safe_load(block) for block in blocks(PAGE, "yaml"))
    steps = [step.get("run", "") for step in github["jobs"]["floodmark"]["steps"]] + gitlab["floodmark"]["script"]
    return told + [step for step in steps if step.startswith("floodmark ")]


@pytest.mark.thorough
def test_every_command_of_the_page_works(tmp_path: Path) -> None:
    (tmp_path / "chaos").mkdir()
    (tmp_path / "chaos" / "crash.yaml").write_text(CRASH)
    (tmp_path / "chaos" / "hand.yaml").write_text(MANUAL)
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "floodmark"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m tui.cli.main "$@"\n')
    script.chmod(0o755)
    summary = tmp_path / "summary"
    summary.write_text("")
    path = f"{script.parent}:{os.environ['PATH']}"
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": path, "GITHUB_STEP_SUMMARY": str(summary)}
    assert len(typed()) == 5
    for command in typed():
        done = subprocess.run(["sh", "-c", command], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (command, done.stderr)
    assert summary.read_text().startswith("### floodmark: passed\n")
    assert (tmp_path / "floodmark.md").read_text().startswith("### floodmark: passed\n")
    assert (tmp_path / "floodmark.xml").exists()

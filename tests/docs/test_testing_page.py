"""The examples of the page about tests, and that of the README, are whole and do what the pages say."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from playbooks.testing import pytest_plugin

pytestmark = pytest.mark.slow

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/test/pytest.md").read_text(encoding="utf-8")
BLOCKS = PAGE.split("```")[1::2]
FIRST = (ROOT / "README.md").read_text(encoding="utf-8").split("```")[1::2]
FILES = {
    block.split("\n")[1].removeprefix("# "): block.partition("\n")[2]
    for block in (*BLOCKS, *FIRST)
    if block.startswith(("yaml\n# ", "python\n# "))
}


@pytest.fixture
def saved(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    for name, text in FILES.items():
        (pytester.path / name).write_text(text)
    return pytester


def test_both_ways_pass(saved: pytest.Pytester) -> None:
    assert sorted(FILES) == ["orders.floodmark.yaml", "script.py", "test_leader_crash.py", "test_orders.py"]
    done = saved.runpytest_inprocess("-p", "no:cacheprovider", plugins=[pytest_plugin])
    done.assert_outcomes(passed=FILES["test_orders.py"].count("def test_") + 2)


def test_the_failure_that_the_page_shows(saved: pytest.Pytester) -> None:
    shown = next(block for block in BLOCKS if "FAILED" in block)
    options = ("--floodmark-set", "producers.checkout.config.acks=1", "orders.floodmark.yaml")
    done = saved.runpytest_inprocess(*options, "-p", "no:cacheprovider", plugins=[pytest_plugin])
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines([line.replace("[", "[[]").replace(" ...", "*") for line in shown.splitlines()[2:]])


def test_the_script_runs_without_pytest(saved: pytest.Pytester) -> None:
    done = subprocess.run(
        [sys.executable, "script.py"],
        cwd=saved.path,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert re.fullmatch(r"pass 0 sessions/session_id=\S+\n", done.stdout)

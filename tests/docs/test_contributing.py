"""The recipes for those who add something do what they say: taken from the page, put into a copy, looked for there."""

import dataclasses
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from syrupy.assertion import SnapshotAssertion

from faults.declarations.fault import Fault
from tests.architecture.tree import ROOMS
from tests.cluster_model.protocol.test_versions import REVIEWED
from tests.support.playbooks import CLUSTER

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "develop" / "contributing.md").read_text(encoding="utf-8")
FILES = re.findall(r"^```python\n# (\S+\.py)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
CHANGES = [
    (part.partition("\n")[0], part.partition("\n")[2])
    for block in re.findall(r"^```diff\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    for part in block.split("--- ")[1:]
]

HUMS = (
    CLUSTER
    + """\
steps:
  - at: 1s
    inject: hum
    target: broker(1)
    for: 1s
settle: 1s
expect:
  - acked_lost() == 0
  - violations(leader-named) == 0
"""
)
LOOK = """
import asyncio
from cluster_model.checker.root_cause.findings import BY_CODE
from cluster_model.protocol.config_defs import check
from cluster_model.protocol.configs import BrokerConfig
from cluster_model.protocol.versions import Profile
from docs.generate.__main__ import page_text
from docs.generate.screenshots import staged
from playbooks.engine.session_runner import start_session
from playbooks.parser.loader import load
from tui.viewmodel.help import MODES

assert "Every append takes a little longer." in page_text("faults")
assert "leader-named" in page_text("invariants")
assert "#hums) | A disk that hummed. |" in page_text("report-tables")
assert "cosmic-ray" in page_text("causes")
assert BY_CODE["unexplained"].meaning == "the recorded events do not prove a cause"
assert "`hums_along` | 4.0+" in page_text("fidelity")
assert [Profile.of(each).hums_along for each in ("3.9", "4.0")] == [False, True]
assert "`queued.max.requests`" in page_text("configs") and "`queued.max.requests`" in page_text("defaults")
told = {"queued.max.requests": check("broker", "queued.max.requests", 7)}
assert [BrokerConfig.of(Profile.of("4.0"), each).queued_requests for each in ({}, told)] == [500, 7]
assert "hum" in MODES

session = start_session(load("hums.yaml"))
assert session.finish().verdict == "pass"

async def shown():
    async with staged((120, 40)) as stage:
        await stage.seconds(1)
        stage.app.main.action_mode("hum")
        await stage.settled()
        return stage.app.export_screenshot()

assert "brokers\\xa0hum".replace("\\xa0", "&#160;") in asyncio.run(shown())
print("found")
"""


def changed(text: str, change: str) -> str:
    """A text with one change of a diff, which has to fit in one place."""
    lines = change.splitlines()
    before = "".join(f"{line[1:]}\n" for line in lines if line[:1] in (" ", "-"))
    after = "".join(f"{line[1:]}\n" for line in lines if line[:1] in (" ", "+"))
    assert text.count(before) == 1, (
        f"a diff of docs/contributing.md fits {text.count(before)} times, expected once; "
        f"write the lines on the page as the file has them now:\n{before}"
    )
    return text.replace(before, after)


@pytest.mark.parametrize(("path", "change"), CHANGES, ids=[path for path, _change in CHANGES])
def test_every_change_fits(path: str, change: str) -> None:
    text = (ROOT / path).read_text(encoding="utf-8")
    assert changed(text, change) != text


def test_modules_of_the_recipes_exist_and_new_ones_lie_in_packages_that_do() -> None:
    assert [path for path, text in FILES if (ROOT / path).exists() == text.startswith('"""')] == []
    assert [path for path, _text in FILES if not (ROOT / path).parent.joinpath("__init__.py").exists()] == []


def test_every_file_that_the_page_names_is_there() -> None:
    added = {path for path, _text in FILES}
    paths = re.findall(r"`((?:[a-z_]+/)+(?:[a-z_-]+\.[a-z.]+)?)`", PAGE)
    assert len(paths) > 25
    assert [path for path in paths if path not in added and not (ROOT / path).exists()] == []


def test_every_test_that_the_page_names_is_there() -> None:
    names = set(re.findall(r"`(test_\w+)`", PAGE))
    found = {
        name for path in (ROOT / "tests").rglob("test_*.py") for name in re.findall(r"def (test_\w+)", path.read_text())
    }
    assert names
    assert names <= found


def test_the_recipe_of_a_release_names_every_table_that_is_compared_with_one() -> None:
    recipe = PAGE.partition("\n## A Kafka release\n")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `(.*?)` \|", recipe, re.MULTILINE)) == set(REVIEWED)


def test_the_page_has_every_field_of_a_fault_that_its_tests_look_at() -> None:
    """But for those whose default will do."""
    recipe = PAGE.partition("\n## A fault\n")[2].partition("\n## ")[0]
    told = {name for row in re.findall(r"^\| (.*?) \|", recipe, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
    needed = {each.name for each in dataclasses.fields(Fault) if each.default is dataclasses.MISSING}
    assert needed - {"is_lasting"} <= told <= {each.name for each in dataclasses.fields(Fault)}


def test_commands_of_the_page_are_targets_of_make() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    assert set(re.findall(r"`make ([a-z-]+)`", PAGE)) <= targets


def test_there_is_a_recipe_for_each_kind(snapshot: SnapshotAssertion) -> None:
    assert re.findall(r"^## (?:A|An) (.*)$", PAGE, re.MULTILINE) == snapshot
    assert len(FILES) == 5


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The rooms with all that the recipes add, and a playbook that uses it."""
    here = tmp_path_factory.mktemp("copy")
    for room in ROOMS:
        shutil.copytree(ROOT / room, here / room, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "docs", here / "docs", ignore=shutil.ignore_patterns("__pycache__", "media", "*.md"))
    left_out = shutil.ignore_patterns("__pycache__", "vectors", "java")
    shutil.copytree(ROOT / "tests" / "real_kafka", here / "tests" / "real_kafka", ignore=left_out)
    for path, text in FILES:
        with (here / path).open("a", encoding="utf-8") as file:  # at the end of a module that exists
            file.write(text)
    for path, change in CHANGES:
        target = here / path
        if not target.exists():  # a file of the tests, of which nothing else is copied
            target.parent.mkdir(parents=True)
            shutil.copy(ROOT / path, target)
        target.write_text(changed(target.read_text(encoding="utf-8"), change), encoding="utf-8")
    (here / "hums.yaml").write_text(HUMS)
    return here


def python(copy: Path, *arguments: str) -> str:
    """What a Python that has the copy prints; all that it says where it fails."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_recipes_add_what_they_promise(copy: Path) -> None:
    assert python(copy, "-c", LOOK) == "found\n"


def test_no_recipe_uses_a_name_that_is_not_defined(copy: Path) -> None:
    """The report of the recipe is made only in the evening; a name that was changed is seen at once."""
    paths = sorted({path for path, _text in (*FILES, *CHANGES) if path.endswith(".py")})
    words = ("check", "--isolated", "--quiet", "--no-cache", "--select", "F821", "--output-format", "concise", *paths)
    done = subprocess.run(
        [str(Path(sys.executable).with_name("ruff")), *words], cwd=copy, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@contextmanager
def imported_from(copy: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Imports of the rooms find the copy's; afterwards all that was imported before is there again."""

    def ours() -> list[str]:
        return [name for name in sys.modules if name.partition(".")[0] in ROOMS]

    before = {name: sys.modules.pop(name) for name in ours()}
    try:
        with monkeypatch.context() as patched:
            patched.syspath_prepend(str(copy))
            yield
    finally:
        for name in ours():
            del sys.modules[name]
        sys.modules.update(before)


@pytest.mark.evening
@pytest.mark.spark
def test_the_report_has_the_table_of_the_recipe(
    copy: Path, spark: "SparkSession", monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the Spark of the other tests, which knows nothing of modules."""
    python(copy, "-m", "tui.cli.main", "run", "hums.yaml", "--out", "sessions")
    with imported_from(copy, monkeypatch):
        job = importlib.import_module("spark_report.job")
        assert Path(job.__file__ or "").is_relative_to(copy)
        job.run([copy / "sessions"], out=copy / "report", formats=("markdown", "json"), spark=spark)
    found = json.loads((copy / "report" / "report.json").read_text(encoding="utf-8"))["tables"]["hums"]
    assert [(row["target"], row["hummed_us"]) for row in found] == [("broker 1", 1_000_000)]
    assert "Humming disks" in (copy / "report" / "report.md").read_text(encoding="utf-8")

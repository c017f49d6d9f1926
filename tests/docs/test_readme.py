"""What the README and the tour of the commands tell people to type works, in that order; links lead somewhere."""

import itertools
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from playbooks.recording import recorder
from tests.cli.running import report_here
from tests.support.breadth import EVENING
from tui.cli.main import app

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
TOUR = ROOT / "docs" / "learn" / "tour.md"
"""Goes on where the README ends, with what the reader has by then; it calls the program by its name alone."""
PAGES = [README, *sorted((ROOT / "docs").rglob("*.md"))]
TELLING = [*PAGES, ROOT / "CHANGELOG.md"]
"""All that has links."""
INDEXES = ("faults", "keys", "library", "report-tables")
"""Made pages that have a page for each part."""
SALTS = itertools.count()
SCREEN = ".venv/bin/floodmark"
"""The command that needs a terminal; the tests of the screen open it on one."""


@dataclass(frozen=True)
class Line:
    """A command of a console block, and how it ends."""

    command: str
    code: int
    told: tuple[str, ...] = ()
    """What it has to print: the lines of a block of text that comes right after it."""
    steps: int = 0
    """How many steps its answer has, where the page says so."""

    def __str__(self) -> str:
        return self.command


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def commands(page: Path) -> Iterator[Line]:
    text = page.read_text(encoding="utf-8")
    for block, told in re.findall(
        r"^```console\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", text, re.MULTILINE | re.DOTALL
    ):
        lines = block.splitlines()
        for line in lines:
            assert line.startswith("$ "), f"{page.name}: {line}"
            command, _, comment = line[2:].partition("#")
            code = re.search(r"exit code (\d+)", comment)
            steps = re.search(r"(?:in|become) (\d+)(?: steps)?$", comment)
            printed = tuple(told.splitlines()) if line is lines[-1] else ()
            yield Line(command.strip(), int(code[1]) if code else 0, printed, int(steps[1]) if steps else 0)


BOTH = f"{SCREEN} run leader-crash acks-1-lost-tail"
SHORTER = {
    f"{SCREEN} storm storm-acks-1 --runs 20 --seed 1": (f"{SCREEN} storm storm-acks-1 --runs 1 --seed 1", 0),
    f"{SCREEN} run exactly-once": (f"{SCREEN} run exactly-once --until 22s", 3),
    f"{BOTH} --save-baseline baseline.json": (f"{BOTH} --save-baseline baseline.json --until 6s", 3),
    f"{BOTH} --baseline baseline.json": (f"{BOTH} --baseline baseline.json --until 6s", 3),
}
"""What takes long → what is typed instead when it is not evening, and how it ends: with as much as the next needs."""
LISTED = f"{SCREEN} library"
"""Reads them all, as the installed one does in its test: for an evening."""
TYPED = [
    *commands(README),
    *(replace(line, command=line.command.replace("floodmark", SCREEN, 1)) for line in commands(TOUR)),
]
MADE = [line for line in TYPED if line.command.startswith("make ")]
RUN = [line for line in TYPED if line not in MADE and line.command != SCREEN]


def is_slow(line: Line) -> bool:
    return " report " in line.command or line.command.endswith(" demo")


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory as the reader has it: floodmark in ``.venv``, and the file they were asked to save."""
    here = tmp_path_factory.mktemp("reader")
    programs = here / ".venv" / "bin"
    programs.mkdir(parents=True)
    script = programs / "floodmark"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m tui.cli.main "$@"\n')
    script.chmod(0o755)
    (here / "first.yaml").write_text(blocks(README, "yaml")[0])
    return here


def type_in(clone: Path, command: str) -> subprocess.CompletedProcess[str]:
    env = {key: value for key, value in os.environ.items() if key != "FLOODMARK_SESSIONS"}
    return subprocess.run(
        ["sh", "-c", command],
        cwd=clone,
        env={**env, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def here(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work there, with one core: nothing has a process of its own then.

    Sessions of the same second are named in their order, as those of somebody are who types.
    """
    monkeypatch.chdir(clone)
    monkeypatch.delenv("FLOODMARK_SESSIONS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0}, raising=False)
    monkeypatch.setattr(recorder, "secrets", SimpleNamespace(token_hex=lambda size: f"{next(SALTS):0{2 * size}x}"))


def type_here(command: str) -> tuple[int, str]:
    """The same without a process: a shell makes words of the command, and the program is given them right here."""
    made = subprocess.run(["sh", "-c", f"printf '%s\\0' {command}"], capture_output=True, text=True, check=True)
    program, *words = made.stdout.removesuffix("\0").split("\0")
    assert program == SCREEN
    done = CliRunner().invoke(app, words, prog_name="floodmark", catch_exceptions=False)
    return done.exit_code, done.output


def test_the_readme_reports_something_to_type() -> None:
    assert len(MADE) >= 2
    assert len(RUN) >= 6
    assert len(list(commands(TOUR))) > 20
    assert any(line.command == SCREEN for line in TYPED)
    assert {*SHORTER, LISTED} <= {line.command for line in RUN}


@pytest.mark.parametrize("line", MADE, ids=str)
def test_make_targets_exist(line: Line) -> None:
    dry = subprocess.run(
        ["make", "--dry-run", *line.command.split()[1:]], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert dry.returncode == 0, dry.stderr


QUICK = [line for line in RUN if not is_slow(line) and (EVENING or line.command != LISTED)]


@pytest.fixture(scope="module")
def came() -> dict[str, tuple[int, str]]:
    """Command of the page → the exit code that it came to, and what it printed."""
    return {}


def typed_in_order(line: Line, came: dict[str, tuple[int, str]]) -> tuple[int, str]:
    """What comes of a command, behind all that the reader has typed before it: many go on with what those left."""
    for each in QUICK[: QUICK.index(line) + 1]:
        if each.command not in came:
            came[each.command] = type_here(each.command if EVENING else SHORTER.get(each.command, (each.command, 0))[0])
    return came[line.command]


@pytest.mark.slow
@pytest.mark.parametrize("line", QUICK, ids=str)
def test_readme_commands_exit_as_documented(
    clone: Path, came: dict[str, tuple[int, str]], line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    here(clone, monkeypatch)
    code, printed = typed_in_order(line, came)
    assert code == (line.code if EVENING or line.command not in SHORTER else SHORTER[line.command][1]), printed
    printed = printed.replace("\u00a0", " ")
    assert [each for each in line.told if each not in printed] == []
    if line.steps:
        assert re.findall(r"^ +(\d+)  [a-z]", printed, re.MULTILINE)[-1] == str(line.steps)


@pytest.mark.spark
@pytest.mark.parametrize("line", [line for line in RUN if is_slow(line)], ids=str)
def test_readme_reports_end_as_documented(
    clone: Path, came: dict[str, tuple[int, str]], line: Line, spark: "SparkSession", monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the Spark of the other tests: that it gets a process of its own is tested with what is installed."""
    here(clone, monkeypatch)
    report_here(monkeypatch, spark)
    typed_in_order(QUICK[0], came)
    code, printed = type_here(line.command)
    assert code == line.code, printed
    assert (clone / "reports/first/report.html").is_file()


@pytest.mark.slow
def test_the_screen_asks_for_a_terminal(clone: Path) -> None:
    done = type_in(clone, SCREEN)
    assert done.returncode == 2
    assert "terminal" in done.stderr


@pytest.mark.parametrize("page", TELLING, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    broken = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert broken == []


def anchors(page: Path) -> set[str]:
    """What a code host makes of the headings, to be linked to."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    found: list[str] = []
    for heading in re.findall(r"^#+ +(.+)$", text, re.MULTILINE):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        found.append(re.sub(r"[^\w\- ]", "", plain).replace(" ", "-"))
    return {f"{slug}-{found[:at].count(slug)}" if slug in found[:at] else slug for at, slug in enumerate(found)}


@pytest.mark.slow
@pytest.mark.parametrize("page", TELLING, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_to_headings_that_are_there(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s:]*)#([^)\s]+)\)", page.read_text(encoding="utf-8"))
    broken = [(path, slug) for path, slug in links if slug not in anchors(page.parent / path if path else page)]
    assert broken == []


def test_the_readme_links_the_first_page_of_the_manual_which_links_all_others() -> None:
    assert "(docs/README.md)" in README.read_text(encoding="utf-8")


def test_every_page_is_linked_from_the_first_page_of_the_manual_or_from_the_index_that_it_is_a_part_of() -> None:
    folder = ROOT / "docs"
    text = (folder / "README.md").read_text(encoding="utf-8")
    pages = [page.relative_to(folder).as_posix() for page in folder.rglob("*.md") if page != folder / "README.md"]
    assert len(pages) > 40
    rest = sorted(page for page in pages if f"({page}" not in text)
    for page in rest:
        (index,) = (name for name in INDEXES if page.startswith(f"reference/{name}-"))
        assert f"({page.rpartition('/')[2]}" in (folder / "reference" / f"{index}.md").read_text(encoding="utf-8"), page


@pytest.mark.slow
def test_the_page_of_run_names_every_option() -> None:
    page = (ROOT / "docs/run/run.md").read_text(encoding="utf-8")
    shown = subprocess.run(
        [sys.executable, "-m", "tui.cli.main", "run", "--help"],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=True,
    )
    options = set(re.findall(r"(--[a-z]+)", shown.stdout)) - {"--help"}
    assert options
    assert {option for option in options if f"`{option}" not in page} == set()

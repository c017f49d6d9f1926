"""What the pages show of a command's answer is what it answers."""

import re
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

from playbooks.session_format import session_files
from tests.cli.running import Typed
from tests.docs.test_readme import README, ROOT, blocks, here
from tests.kafka_logs.recorded import lost
from tests.support.playbooks import CRASH, MANUAL
from tui.cli.main import app

DOCS = ROOT / "docs"
MADE = {
    "20260131T101500-leader-crash-s11-0c40": "leader-crash",
    "20260131T101600-leader-crash-s11-5e13": "leader-crash --set producers.checkout.config.acks=1",
    "20260131T101500-first-s0-f483": "first.yaml --set producers.checkout.config.acks=1",
    "20260131T101700-exactly-once-s21-0fac": "exactly-once --until 13s",
}
"""Session that a page speaks of → what was run, as far as it is looked at; ``first.yaml`` is the README's."""
ELSEWHERE = ("floodmark serve", "floodmark run --speed")
"""Answers that take their time from the clock on the wall; their own tests look at them."""
ON_SPARK = "--engine spark"
"""Thousands of runs, for a cluster; the tests of the engine look at smaller ones."""
LONG = ("floodmark ask", "floodmark why", "floodmark storm", "floodmark run acks-matrix")
"""Hundreds of sessions each, or a grid of whole ones; the README's grid is looked at every time."""
VARIES = (
    (r"session_id=\S+", r"session_id=\S+"),
    (r"\b\d+\.\ds\b", r"\S+"),  # how long it took
    (r"\.\.\.", ".*"),
)
"""What the page shows → what may stand there."""


@dataclass(frozen=True)
class Shown:
    """A command on a page, and the lines below it."""

    page: str
    command: str
    lines: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.page}: {self.command}"


def answers() -> Iterator[Shown]:
    for page in sorted(DOCS.rglob("*.md")):
        for block in re.findall(r"^```\n(\$ floodmark .*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL):
            for part in block.removeprefix("$ ").split("\n$ "):
                command, *lines = part.splitlines()
                yield Shown(page.relative_to(DOCS).as_posix(), command.partition("  #")[0].strip(), tuple(lines))


ANSWERS = [each for each in answers() if ON_SPARK not in each.command and any(line.strip(". ") for line in each.lines)]
HERE = [each for each in ANSWERS if not each.command.startswith((*ELSEWHERE, *LONG))]
FOR_LONG = [each for each in ANSWERS if each.command.startswith(LONG)]


def pattern(line: str) -> str:
    """A shown line as it may be printed: spaces as they come, and whatever :data:`VARIES`."""
    left = " ".join(line.split())
    either = re.compile("|".join(f"({shown})" for shown, _may in VARIES))
    told, end = "", 0
    for found in either.finditer(left):
        told += re.escape(left[end : found.start()]) + VARIES[(found.lastindex or 1) - 1][1]
        end = found.end()
    return told + re.escape(left[end:])


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where somebody who reads the pages has all that they speak of; sessions stay there once they are recorded."""
    tmp_path = tmp_path_factory.mktemp("reader")
    (tmp_path / "first.yaml").write_text(blocks(README, "yaml")[0])
    (tmp_path / "chaos").mkdir()
    crash = CRASH.replace("name: small", "name: crash")
    (tmp_path / "chaos" / "crash.yaml").write_text(crash)
    loses = CRASH.replace("name: small", "name: loses").replace("acks: all", "acks: 0")
    (tmp_path / "chaos" / "loses.yaml").write_text(loses)
    (tmp_path / "chaos" / "hand.yaml").write_text(MANUAL.replace("name: by-hand", "name: hand"))
    shutil.copytree(lost("4.1.2"), tmp_path / "incident-42")
    return tmp_path


@pytest.fixture
def reader(whole: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    here(whole, monkeypatch)
    monkeypatch.setenv("COLUMNS", "400")
    return whole


def floodmark(*words: str) -> Typed:
    done = CliRunner().invoke(app, words, prog_name="floodmark", catch_exceptions=False)
    return Typed(done.exit_code, done.stdout, done.stderr)


def recorded(reader: Path, run: str) -> Path:
    """The session of a run, which is recorded when it is first looked at."""
    parent = reader / "recorded" / re.sub(r"\W+", "-", run)
    if not parent.exists():
        floodmark("run", *shlex.split(run), "--no-why", "--out", str(parent))
    (made,) = session_files.sessions_under(parent)
    return made


def typed(reader: Path, shown: Shown) -> str:
    """All that the command prints, in one line, with sessions called as the page calls them."""
    command, named = shown.command, {}
    for name, run in MADE.items():
        if name in command:
            made = recorded(reader, run)
            named[made.name.removeprefix("session_id=")] = name
            command = command.replace(name, str(made))
    done = floodmark(*shlex.split(command)[1:])
    printed = " ".join((done.out + done.err).replace("\u00a0", " ").split())
    for made, name in named.items():
        printed = printed.replace(made, name)
    return printed


def missing(shown: Shown, printed: str) -> list[str]:
    return [line for line in shown.lines if line.strip(". ") and not re.search(pattern(line), printed)]


def test_there_are_answers_to_look_at() -> None:
    assert {each.page for each in HERE} >= {"run/run.md", "run/sessions.md", "test/explore.md", "test/shrink.md"}
    assert {each.page for each in FOR_LONG} >= {"operate/ask.md", "operate/why.md", "run/grids.md"}
    spoken = {name for each in HERE for name in re.findall(r"\b20\d{6}T\S+", each.command)}
    assert spoken == set(MADE)


def test_an_answer_that_is_no_longer_given_is_seen() -> None:
    shown = Shown("a.md", "floodmark x", ("lost     12 of 5.5s", "...", "because  of ... and [1]"))
    assert missing(shown, "lost 12 of 7.1s because of this and [1]") == []
    assert missing(shown, "lost 13 of 7.1s because of this and [2]") == [shown.lines[0], shown.lines[2]]


@pytest.mark.slow
@pytest.mark.parametrize("shown", HERE, ids=str)
def test_answers_are_as_shown(reader: Path, shown: Shown) -> None:
    if shown.command.startswith("floodmark alerts") and shutil.which("promtool") is None:
        pytest.skip("promtool is not installed: no rule was evaluated")
    assert missing(shown, typed(reader, shown)) == []


@pytest.mark.slow
@pytest.mark.evening
@pytest.mark.parametrize("shown", FOR_LONG, ids=str)
def test_answers_that_take_minutes_are_as_shown(reader: Path, shown: Shown) -> None:
    assert missing(shown, typed(reader, shown)) == []

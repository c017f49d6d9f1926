"""The command line as a process: pipes that close, colours, hash seeds, terminals that are none."""

import json
import os
import pty
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.cli.running import FLOODMARK, ROOT, Typed, floodmark
from tests.support.breadth import EVENING
from tests.support.playbooks import CLUSTER, CRASH

pytestmark = pytest.mark.slow

Type = Callable[..., Typed]

ENV = {**os.environ, "PYTHONPATH": str(ROOT)}


@pytest.fixture
def crash(tmp_path: Path) -> Path:
    path = tmp_path / "crash.yaml"
    path.write_text(CRASH.replace("rate: 100/s", "rate: 20/s"))
    return path


@pytest.mark.parametrize(
    "words", [("faults",), ("library", "leader-crash"), *([("library",), ("profiles",)] if EVENING else [])]
)
def test_a_reader_that_leaves_is_no_error(tmp_path: Path, words: tuple[str, ...]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*FLOODMARK, *words], cwd=tmp_path, env=ENV, stdout=writer, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_run_whose_reader_leaves_is_still_sealed(crash: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*FLOODMARK, "run", str(crash), "--plain"],
        cwd=crash.parent,
        env=ENV,
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writer)
    assert done.returncode == 0
    assert "BrokenPipe" not in done.stderr
    assert len(list(crash.parent.glob("sessions/*/manifest.json"))) == 1


LONG = CLUSTER + "settle: 1s\nsteps:\n  - at: 10000s\n    heal: all\n"


def killed(tmp_path: Path, number: signal.Signals) -> tuple[int, Path]:
    """Start a long run, send it a signal as soon as it has recorded something, and wait for its end."""
    (tmp_path / "long.yaml").write_text(LONG)
    command = [*FLOODMARK, "run", "long.yaml"]
    process = subprocess.Popen(command, cwd=tmp_path, env=ENV, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    while not (found := [path for path in tmp_path.glob("sessions/*/events.jsonl") if path.stat().st_size > 10_000]):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(number)
    return process.wait(), found[0].parent


def test_a_killed_run_can_be_replayed_as_far_as_it_goes(
    typed: Type, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    code, session = killed(tmp_path, signal.SIGKILL)
    assert code == -signal.SIGKILL
    assert not (session / "manifest.json").exists()
    whole = (session / "events.jsonl").read_bytes().count(b"\n")
    done = typed("replay", session)
    assert done.code == 0
    # How far it went is another at every run, and so is whether its last line is whole.
    assert done.err.replace(f" {whole:,} events", " <so many> events").splitlines()[-2:] == snapshot


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_run_says_where_its_recording_is(
    typed: Type, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    ended, session = killed(tmp_path, number)
    assert ended == code
    assert typed("replay", session).code == 0


@pytest.mark.parametrize("more", [("--json",), ("--plain",)])
def test_a_full_disk_is_one_error(crash: Path, more: tuple[str, ...]) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("there is no /dev/full here")
    with full.open("w", encoding="utf-8") as nowhere:
        done = subprocess.run(
            [*FLOODMARK, "run", str(crash), *more],
            cwd=crash.parent, env=ENV, stdout=nowhere, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    (error,) = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert (done.returncode, "No space left" in error) == (2, True), done.stderr
    assert "log  " not in done.stderr


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_the_exit_code_stays_where_nothing_can_be_written(more: tuple[str, ...]) -> None:
    command = shlex.join([*FLOODMARK, "issues", "4.0.2", *more])
    for output, code in (("> /dev/full", 2), (">&-", 0)):
        done = subprocess.run(["sh", "-c", f"{command} {output}"], env=ENV, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", [("run",), ("replay",)])
def test_a_name_that_no_file_can_have_is_one_error(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = floodmark(*words, "x" * 300, cwd=tmp_path)
    (error,) = done.err.splitlines()
    assert (done.code, "name too long" in error, len(error) < 120) == (2, True, True)


def on_a_terminal(words: tuple[str, ...], cwd: Path, env: dict[str, str]) -> str:
    """What a command writes to a terminal of 100 columns."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [*FLOODMARK, *words],
        cwd=cwd,
        env={**ENV, "TERM": "xterm-256color", "COLUMNS": "100", **env},
        stdin=slave,
        stdout=slave,
        stderr=slave,
    )
    os.close(slave)  # Its end is seen once nobody else has it open.
    written = b""
    while True:
        try:
            block = os.read(master, 65536)
        except OSError:
            break
        if not block:
            break
        written += block
    os.close(master)
    assert process.wait() == 0
    return written.decode()


def test_colours_are_for_terminals_that_want_them(typed: Type, tmp_path: Path) -> None:
    assert "\x1b[" in on_a_terminal(("faults",), tmp_path, {})
    assert "\x1b[3" not in on_a_terminal(("faults",), tmp_path, {"NO_COLOR": "1"})
    assert "\x1b[" not in typed("faults").out


def test_a_run_on_a_narrow_terminal_cuts_no_word(crash: Path, typed: Type) -> None:
    drawn = on_a_terminal(("run", str(crash), "--out", "s"), crash.parent, {"COLUMNS": "60", "NO_COLOR": "1"})
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", drawn).splitlines()
    piped = typed("run", crash, "--out", "s")
    varying = re.compile(r"session_id=\S+|[-─]{3,}")  # and the lines of a table, which a pipe has none of
    assert set(varying.sub("", " ".join(lines)).split()) == set(varying.sub("", piped.out).split())
    assert max(len(line) for line in lines if "session_id=" not in line) <= 60


def test_progress_is_all_that_goes_to_stderr_and_only_to_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "long.yaml").write_text(LONG.replace("10000s", "60s"))
    here, stderr = pty.openpty()
    command = [*FLOODMARK, "run", "long.yaml"]
    process = subprocess.Popen(command, cwd=tmp_path, env=ENV, stdin=stderr, stdout=subprocess.PIPE, stderr=stderr)
    os.close(stderr)
    out, _nothing = process.communicate(timeout=60)
    moved = os.read(here, 65536).decode()
    os.close(here)
    assert "\x1b" not in out.decode()
    assert "PASS" in out.decode().splitlines()
    assert re.search(r"small: \d+\.\d+s, ", moved)
    assert "PASS" not in moved


def test_hash_seeds_do_not_matter(crash: Path) -> None:
    documents = []
    for seed in ("0", "12345", *(("1", "2") if EVENING else ())):
        done = floodmark("run", crash, "--json", cwd=crash.parent, env={"PYTHONHASHSEED": seed})
        documents.append(json.loads(done.out) | {"session": ""})
    assert all(document == documents[0] for document in documents)


def test_the_screen_needs_a_terminal(typed: Type, here: Path, snapshot: SnapshotAssertion) -> None:
    done = typed()
    assert done.code == 2
    assert "Traceback" not in done.err
    assert done.err == snapshot
    assert not (here / "sessions").exists()


def test_an_error_outside_any_session_is_70_with_an_account(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    program = (
        "import tui.cli.reference.library as shelf\n"
        "def explode(*a, **k): raise ZeroDivisionError('a mistake of ours')\n"
        "shelf.library = explode\n"
        "from tui.cli.main import main\n"
        "import sys; sys.argv = ['floodmark', 'library']; main()\n"
    )
    done = subprocess.run(
        [FLOODMARK[0], "-c", program],
        cwd=tmp_path,
        env={**ENV, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 70
    assert "Traceback" not in done.stderr
    assert [line for line in done.stderr.splitlines() if "ZeroDivisionError" in line] == snapshot
    account = Path(done.stderr.split("log      ")[1].strip())
    assert "Traceback" in account.read_text()


def test_version(tmp_path: Path) -> None:
    done = floodmark("--version", cwd=tmp_path)
    assert done.code == 0
    assert done.out.startswith("floodmark ")


def test_help_names_every_command(typed: Type) -> None:
    text = typed("--help").out
    for command in ("run", "check", "library", "faults", "profiles", "replay", "peek", "report", "demo"):
        assert f" {command} " in text


def test_a_playbook_bomb_is_refused_at_once(typed: Type, here: Path) -> None:
    levels = "\n".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30))
    (here / "bomb.yaml").write_text(f"a0: &a0 [x]\n{levels}\n")
    (here / "deep.yaml").write_text("[" * 100_000)
    for name in ("bomb.yaml", "deep.yaml"):
        done = typed("run", name)
        assert done.code == 2
        assert done.err.startswith(f"error: {name}:")
        assert not (here / "sessions").exists()

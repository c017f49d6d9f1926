"""Kafka's Java client, every kind of it at once, through a crash, a pause and a network partition."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from tests.gateway.hosting import Served, playbook, served, until

pytestmark = [pytest.mark.sockets, pytest.mark.slow, pytest.mark.evening]
PROGRAM: Final = Path(__file__).parent / "java" / "Faults.java"
PATIENCE_S: Final = 240
QUICK: Final = (
    ", group.initial.rebalance.delay.ms: 0, replica.lag.time.max.ms: 2000, "
    "offsets.topic.num.partitions: 3, transaction.state.log.num.partitions: 3"
)
SESSION: Final = {
    "2.8": ", zookeeper.session.timeout.ms: 4000",
    "3.9": ", broker.session.timeout.ms: 2000, broker.heartbeat.interval.ms: 500",
    "4.1": ", broker.session.timeout.ms: 2000, broker.heartbeat.interval.ms: 500",
}
PROTOCOLS: Final = {"2.8": ("classic",), "3.9": ("classic",), "4.1": ("consumer", "classic")}
FAULTS: Final = (
    ("crash", "leader(work-0)", 5_000_000, {}),
    ("gc_pause", "leader(work-1)", 4_000_000, {}),
    ("isolate", "leader(work-2)", 6_000_000, {}),
    ("partition", "leader(work-3)", 5_000_000, {"to": "followers(work-3)"}),
    ("crash", "coordinator(process)", 5_000_000, {}),
)
GOES_ON: Final = 60
"""Acknowledged records that show that the writers got over a fault."""


class Program:
    """The Java program by its pipes."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def asked(self, line: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline()

    def progress(self) -> tuple[int, ...]:
        """Records acknowledged, transactions committed, records processed, administrator's calls."""
        return tuple(map(int, self.asked("how far").split()))

    def goes_on(self) -> None:
        """Wait until every kind of writer has got ahead."""
        acked, transactions, processed, calls = self.progress()
        until(
            lambda: (
                self.progress() > (acked + GOES_ON, 0, 0, 0)
                and all(
                    now > then
                    for now, then in zip(self.progress(), (acked, transactions, processed, calls), strict=True)
                )
            ),
            self.progress,
        )


@contextmanager
def started(host: Served, kafka: str, errors: Path) -> Iterator[Program]:
    java, classes = shutil.which("java"), os.environ.get("KAFKA_CLIENTS")
    if java is None or classes is None:
        pytest.skip("no java, or KAFKA_CLIENTS names no class path with kafka-clients")
    command = [java, "-cp", classes, str(PROGRAM), host.bootstrap, *PROTOCOLS[kafka]]
    with errors.open("w") as said:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n", errors.read_text()
        yield Program(process)
        process.wait(PATIENCE_S)
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("kafka", sorted(PROTOCOLS))
def test_nothing_is_lost_doubled_or_fatal(kafka: str, tmp_path: Path) -> None:
    errors = tmp_path / "errors.txt"
    with served(playbook(kafka, config=QUICK + SESSION[kafka]), tmp_path) as host:
        with started(host, kafka, errors) as program:
            program.goes_on()
            for fault, target, span_us, params in FAULTS:
                host.act(fault, target, span_us, **params)
                host.let_pass(span_us)
                program.goes_on()
            told: dict[str, Any] = json.loads(program.asked("stop"))
        counted = {
            name: told[name]
            for name in ("lost", "duplicates", "processed_lost", "processed_duplicates", "unread", "fatal")
        }
        assert counted == dict.fromkeys(counted, 0), errors.read_text()[-4000:]
        assert min(told["acked"], told["transactions"], told["processed"], told["calls"]) > 20
    result = host.stop()
    assert (result.ledger.acked_lost, result.ledger.duplicates) == (0, 0)
    assert [each for each in result.violations if not each.known] == []

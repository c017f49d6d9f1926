"""The two promises side by side, over real sockets: ``python -m tests.gateway.shown [DIRECTORY]``.

Each time ``floodmark serve`` is started as a user would, stock clients write and read in a group, and the leader of
their partition is crashed in the middle. With acks=all nothing that was acknowledged is lost. With acks=1, followers
that stand still and an unclean election, records are: as many by the ledger as by the client's own log.
"""

import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from spark_report.job import run
from tests.gateway.running import Log
from tests.gateway.stock import StockClient, read_all, reader, writer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PLAYBOOK: Final = """\
floodmark: 1
name: shown
title: Real clients, and a leader that crashes under them
seed: 1
cluster:
  kafka: "3.9"
  brokers: 3
  config: {{broker.session.timeout.ms: 2000, broker.heartbeat.interval.ms: 500, replica.lag.time.max.ms: 1000}}
topics:
  - {{name: orders, partitions: 1, replication: 3, config: {{{topic}}}}}
settle: 5s
"""
SAFE: Final = "min.insync.replicas: 2"
UNSAFE: Final = "min.insync.replicas: 1, unclean.leader.election.enable: true"
LIBRARY: Final = "confluent-kafka"
PATIENCE_S: Final = 180.0


class Shown(NamedTuple):
    """What came of it: by the client's own log, and by the session's result."""

    acks: str
    session: Path
    sent: int
    acked: int
    lost: int
    result: dict[str, Any]

    @property
    def ledger(self) -> dict[str, Any]:
        ledger: dict[str, Any] = self.result["ledger"]
        return ledger


class Serve:
    """``floodmark serve`` in a process of its own, by what it prints and what is typed."""

    def __init__(self, playbook: Path, out: Path) -> None:
        command = [sys.executable, "-m", "tui.cli.main", "serve", str(playbook), "--port", "0", "--out", str(out)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1
        )
        self._lines: SimpleQueue[str] = SimpleQueue()
        self.told: list[str] = []
        Thread(target=self._read, daemon=True).start()
        try:
            self.bootstrap = self.until(r"bootstrap.servers=(\S+)")
        except TimeoutError:
            self.close()
            raise

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line.rstrip())

    def type(self, line: str, answer: str) -> str:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return self.until(answer)

    def until(self, pattern: str) -> str:
        """Wait for a line; returns its group, or the whole of what matched."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            try:
                line = self._lines.get(timeout=0.5)
            except Empty:
                continue
            self.told.append(line)
            found = re.search(pattern, line)
            if found is not None:
                return found.group(found.lastindex or 0)
        raise TimeoutError(f"nobody said {pattern}: {self.told[-10:]}")

    def rest(self) -> list[str]:
        """The last it said, and how it ended, if it did."""
        while not self._lines.empty():
            self.told.append(self._lines.get())
        return [*self.told[-40:], f"exit code {self._process.poll()}"]

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.terminate()
            self._process.wait(PATIENCE_S)


@contextmanager
def _serving(topic: str, parent: Path) -> Iterator[Serve]:
    parent.mkdir(parents=True, exist_ok=True)
    playbook = parent / "shown.yaml"
    playbook.write_text(PLAYBOOK.format(topic=topic))
    serve = Serve(playbook, parent)
    try:
        yield serve
    finally:
        serve.close()


def safe(parent: Path) -> Shown:
    """acks=all: the leader crashes."""
    return _show("all", SAFE, parent, _crash)


def unsafe(parent: Path) -> Shown:
    """acks=1: the followers stand still, the leader goes on alone and crashes, and one of them is elected."""
    return _show("1", UNSAFE, parent, _lose)


def _crash(serve: Serve, _enough: Callable[[], None]) -> None:
    serve.type("crash leader(orders-0) 3s", "done: ")
    serve.until("elected for orders-0")


def _lose(serve: Serve, enough: Callable[[], None]) -> None:
    serve.type("gc_pause followers(orders-0)", "done: ")
    for _follower in range(2):
        serve.until("fenced by the controller")
    enough()
    serve.type("crash leader(orders-0)", "done: ")
    serve.type("heal gc_pause", "done: ")
    serve.until("elected for orders-0.*")
    enough()
    serve.type("heal all", "done: ")


def _show(acks: str, topic: str, parent: Path, harm: Callable[[Serve, Callable[[], None]], None]) -> Shown:
    with _serving(topic, parent) as serve:
        writing = writer(StockClient(LIBRARY, serve.bootstrap, "shop", acks))
        reading = [
            reader(StockClient(LIBRARY, serve.bootstrap, f"billing-{number}", group="billing")) for number in range(2)
        ]

        def enough() -> None:
            """Until the producer was told of many more."""
            wanted = len(writing.log.acked) + 100
            deadline = time.monotonic() + PATIENCE_S
            while len(writing.log.acked) < wanted:
                if time.monotonic() > deadline or not writing.is_alive():
                    raise TimeoutError(
                        f"{len(writing.log.acked)} acknowledged of {writing.log.sent} sent, wanted are {wanted}; "
                        f"failed: {writing.log.failed[:3]}, by {writing.failure!r}; the cluster: {serve.rest()}"
                    )
                time.sleep(0.02)

        enough()
        harm(serve, enough)
        enough()
        log = writing.stop()
        for each in reading:
            each.stop()
        left = {each.value for each in read_all(serve.bootstrap, 1)}
        session = Path(serve.type("quit", r"(\S+session_id=\S+)"))
        serve.close()
    return Shown(acks, session, *_own(log, left), json.loads((session / "result.json").read_text()))


def _own(log: Log, left: set[bytes]) -> tuple[int, int, int]:
    acked = {each.value for each in log.acked}
    return log.sent, len(acked), len(acked - left)


def reported(shown: Shown, out: Path, spark: "SparkSession | None" = None) -> dict[str, int]:
    """The same numbers by the report: what it counted from the recorded events, by the ledger's terms."""
    run([shown.session], out=out, formats=("json",), spark=spark)
    tables = json.loads((out / "report.json").read_text())["tables"]
    return {row["term"]: row["from_events"] for row in tables["ledger"]}


def main() -> None:
    parent = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp(prefix="floodmark-shown-"))
    for show in (safe, unsafe):
        shown = show(parent / show.__name__)
        print(f"acks={shown.acks}: the client counts {shown.acked} acknowledged, {shown.lost} of them lost;", end=" ")
        print(f"the ledger {shown.ledger['acked']} and {shown.ledger['acked_lost']};", end=" ", flush=True)
        report = reported(shown, parent / show.__name__ / "report")
        print(f"the report {report['acked']} and {report['acked_lost']}. {shown.session}")


if __name__ == "__main__":
    main()

"""The architecture's page names every package, and its two walks files and functions that there are and are called."""

import ast
import re
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from faults.declarations.fault import Action
from playbooks.engine.session import Session
from playbooks.parser.loader import loads
from playbooks.recording.recorder import Recorder
from tests.architecture.test_packages import MODEL_ORDER
from tests.architecture.tree import packages

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "develop" / "architecture.md").read_text(encoding="utf-8")
ROOMS = ("cluster_model/", "faults/", "gateway/", "playbooks/", "spark_report/", "tui/")
LOSING = """\
floodmark: 1
name: losing
cluster: {kafka: "3.9", brokers: 3, config: {broker.session.timeout.ms: 2000, broker.heartbeat.interval.ms: 200}}
topics:
  - {name: orders, placement: [[1, 2, 3]]}
clients:
  producers:
    - {name: clicks, topic: orders, rate: 20/s, config: {acks: 1}}
    - {name: checkout, topic: orders, rate: 20/s, config: {acks: all}}
steps:
  - at: 500ms
    inject: gc_pause
    target: followers(orders-0)
    for: 1500ms
  - at: 1s
    inject: crash
    target: leader(orders-0)
settle: 1s
"""
MOST_LINES = 45
"""Of one walk: more is no screen."""


def walk(title: str) -> str:
    return PAGE.partition(f"## {title}")[2].partition("\n## ")[0]


RECORD = walk("One record, from the producer to the report")
FAULT = walk("One fault, from the key to the finding")


TOUR = walk("The packages in ten minutes")


def located(path: str) -> Path:
    return ROOT / path if path.startswith(ROOMS) else ROOT / "cluster_model" / path


def files(text: str) -> list[str]:
    return re.findall(r"`([a-z_]+(?:/[a-z_]+)*(?:\.py|/))`", text)


def named(text: str) -> list[tuple[str, str]]:
    """(function, file): what is named goes for the next file in brackets behind it in its sentence."""
    found: list[tuple[str, str]] = []
    for place in re.finditer(r"\(`([a-z_/]+\.py)`", text):
        before = re.split(r"\(`[a-z_/]+\.py`|[;:]|\.\s", text[: place.start()])[-1]
        names = re.findall(r"`([A-Za-z_.]+)`", before)
        if names and not names[-1].endswith((".py", ".jsonl", ".json", ".parquet")):
            found.append((names[-1], place[1]))
    return found


def defined(path: Path) -> set[str]:
    """Functions, classes, methods and constants of a module."""
    found: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{each.name}" for each in node.body if isinstance(each, ast.FunctionDef)}
    return found


def test_the_tour_names_every_package_of_the_second_level_with_its_own() -> None:
    parts = {part.partition("/")[0]: part for part in re.split(r"^\*\*`", TOUR, flags=re.MULTILINE)[1:]}
    wanted = {tuple(package.split(".")) for package in packages() if package.count(".") == 1}
    assert {room for room, _name in wanted} == set(parts)
    assert [f"{room}/{name}" for room, name in sorted(wanted) if f"`{name}/`" not in parts[room]] == []


def test_the_tour_has_the_layers_of_the_model_in_their_order() -> None:
    rows = re.findall(r"^\| (`.*?) \|", TOUR, re.MULTILINE)
    layers = ["" if "itself" in cell else name for cell in rows for name in re.findall(r"`([a-z_]+)/`", cell)]
    assert layers == [folder for layer in MODEL_ORDER for folder in layer]


@pytest.mark.parametrize("text", [RECORD, FAULT], ids=["record", "fault"])
def test_a_walk_is_numbered_and_fits_a_screen(text: str) -> None:
    numbers = [int(each) for each in re.findall(r"^(\d+)\. \*\*", text, re.MULTILINE)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) > 8
    assert len(text.strip().splitlines()) <= MOST_LINES


@pytest.mark.parametrize("path", sorted({*files(RECORD), *files(FAULT)}))
def test_a_file_that_is_named_is_there(path: str) -> None:
    assert located(path).exists()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "path"), sorted({*named(RECORD), *named(FAULT)}))
def test_a_function_that_is_named_is_in_its_file(name: str, path: str) -> None:
    assert name in defined(located(path))


CALLS = [
    ("Producer._make", "PartitionSelector.next"),
    ("Producer._make", "RecordAccumulator.add"),
    ("Producer._make", "Sender.send_newest"),
    ("Sender.send_newest", "NodeContext.send"),
    ("NodeContext.send", "Channel.arrival"),
    ("RequestHandler.produce", "PartitionLeaderState.append"),
    ("PartitionLeaderState.append", "validate_append"),
    ("PartitionLeaderState.append", "ReplicaLog.append_batch"),
    ("serve_fetch", "PartitionLeaderState.update_follower_fetch_state"),
    ("PartitionLeaderState.update_follower_fetch_state", "PartitionLeaderState.maybe_advance_hw"),
    ("PartitionLeaderState.maybe_advance_hw", "PartitionLeaderState._settled"),
    ("RequestHandler.answer_waiting", "NodeContext.send"),
    ("Sender.on_response", "Ledger.acked"),
    ("Ledger.leader_changed", "loss_sentence"),
    ("Session._collect", "Recorder.write"),
    ("conclude_session", "FindingCollector.findings"),
    ("conclude_session", "seal"),
    ("Session.act", "Recorder.action"),
    ("Session.act", "perform"),
    ("Session._take", "take"),
    ("take", "perform"),
    ("perform", "FaultInjector.inject"),
    ("FaultInjector.inject", "with_defaults"),
    ("FaultInjector.inject", "resolve"),
    ("FaultInjector.inject", "Crash.apply"),
    ("Crash.apply", "ProcessController.crash"),
    ("ProcessController.crash", "Network.crash"),
    ("FaultInjector.heal", "ProcessStop.heal"),
]
"""Function of the page, and the function that it calls, at once or by way of functions that are not named here."""
BEFORE = [
    ("validate_append", "ReplicaLog.append_batch"),
    ("with_defaults", "resolve"),
    ("resolve", "Crash.apply"),
    ("FindingCollector.findings", "seal"),
    ("Session._take", "Recorder.action"),
]
"""What the session of this test calls for the first time before the other."""


def called(work: Any) -> tuple[dict[tuple[str, str], int], set[tuple[str, str]]]:
    """(function, file) → number of its first call, files as the page names them; (caller, callee) for :data:`CALLS`."""
    seen: dict[Any, int] = {}
    calls: set[tuple[str, str]] = set()
    inner = {callee for _caller, callee in CALLS}

    def note(frame: FrameType, what: str, _value: object) -> None:
        if what == "call":
            seen.setdefault(frame.f_code, len(seen))
            callee = frame.f_code.co_qualname
            outer = frame.f_back if callee in inner else None
            while outer is not None:
                calls.add((outer.f_code.co_qualname, callee))
                outer = outer.f_back

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    found: dict[tuple[str, str], int] = {}
    for code, first in seen.items():
        path = Path(code.co_filename)
        if path.is_relative_to(ROOT):
            found[code.co_qualname, path.relative_to(ROOT).as_posix().removeprefix("cluster_model/")] = first
    return found, calls


@pytest.mark.slow
def test_a_session_with_a_crash_goes_this_way(tmp_path: Path) -> None:
    """But for the screen, what is run again, the report, and classes, which are not called by their names."""
    session = Session.start(loads(LOSING, "losing.yaml"), recorder=Recorder(tmp_path), open_ended=True)

    def work() -> None:
        session.advance(5_000_000)
        session.act(Action("inject", "crash", "broker(3)", for_us=1_000_000))
        session.finish()

    elsewhere = (
        "tui/",
        "spark_report/",
        "playbooks/engine/replay.py",
        "playbooks/engine/session_runner.py",
        "playbooks/timetravel/timeline.py",
    )
    expected = {
        (name, path)
        for name, path in {*named(RECORD), *named(FAULT)}
        if not path.startswith(elsewhere) and ("." in name or name.islower())
    }
    assert len(expected) > 25
    found, calls = called(work)
    assert expected - set(found) == set()
    assert [pair for pair in CALLS if pair not in calls] == []
    first = {name: found[name, path] for name, path in expected}
    assert [pair for pair in BEFORE if first[pair[0]] >= first[pair[1]]] == []
    assert {name for pair in CALLS for name in pair} <= {name for name, _path in expected}


def test_missing_names_and_files_would_be_detected() -> None:
    text = "The `Nobody.does` (`clients/producer/producer.py`) and `nothing/here.py`."
    assert named(text) == [("Nobody.does", "clients/producer/producer.py")]
    assert "Nobody.does" not in defined(located("clients/producer/producer.py"))
    assert files(text) == ["clients/producer/producer.py", "nothing/here.py"]
    assert not located("nothing/here.py").exists()

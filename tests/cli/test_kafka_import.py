"""``floodmark import --kafka-logs``: sessions of the recorded logs of real brokers, and commands that refuse them."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from playbooks.recording.reader import read_session
from playbooks.session_format import session_files
from tests.cli.running import Typed
from tests.kafka_logs.recorded import DATA, RELEASES, clients_file, lost

Type = Callable[..., Typed]


def imported(typed: Type, *words: Any) -> Path:
    done = typed("import", "--kafka-logs", *words)
    assert done.code == 0, done.err
    (found,) = session_files.sessions_under(Path("sessions"))
    return found


@pytest.mark.parametrize("release", RELEASES)
def test_the_summary(typed: Type, release: str, snapshot: SnapshotAssertion) -> None:
    assert typed("import", "--kafka-logs", lost(release)).out == snapshot


def test_the_summary_as_json_is_kept_in_the_session(typed: Type, snapshot: SnapshotAssertion) -> None:
    done = typed("import", "--kafka-logs", lost("4.1.2"), "--json")
    summary = json.loads(done.out)
    session = Path(summary.pop("session"))
    assert summary == json.loads((session / session_files.IMPORTED).read_text())
    assert summary == snapshot


def test_the_same_logs_give_the_same_bytes(typed: Type) -> None:
    one, other = (imported(typed, lost("4.4.0"), "--clients", clients_file("4.4.0", Path(name).absolute())) and
                  shutil.move("sessions", name) for name in ("one", "other"))  # fmt: skip
    (first,), (second,) = (session_files.sessions_under(Path(each)) for each in (one, other))
    assert first.name == second.name
    files = session_files.files_in(first)
    different = [name for name in files if (first / name).read_bytes() != (second / name).read_bytes()]
    assert set(different) <= {"result.json", "manifest.json"}
    left, right = (json.loads((each / "result.json").read_text()) for each in (first, second))
    assert {name for name in left if left[name] != right[name]} <= {"session"}


def test_a_second_import_is_refused(typed: Type) -> None:
    session = imported(typed, lost("4.1.2"))
    again = typed("import", "--kafka-logs", lost("4.1.2"))
    assert (again.code, session.name in again.err) == (2, True)


def test_the_session_is_sealed_and_says_where_it_is_from(typed: Type) -> None:
    session = imported(typed, lost("4.1.2"))
    recorded = read_session(session)
    assert recorded.manifest is not None
    assert (recorded.start.source, recorded.manifest.source, recorded.start.imported) == ("kafka", "kafka", True)
    assert (recorded.manifest.verdict, recorded.manifest.kinds["records_lost"]) == ("inconclusive", 1)
    result = json.loads((session / session_files.RESULT).read_text())
    assert [(each["kind"], each["cause"], each["count"]) for each in result["findings"]] == [
        ("missing", "unclean-election", 8)
    ]
    replicas = result["partitions"]["orders-0"]["replicas"]
    assert {broker: each["leo"] for broker, each in replicas.items()} == {"1": 20, "2": 17, "3": 17}


def test_the_ledger_has_the_acknowledged_records(typed: Type) -> None:
    import pyarrow.parquet as pq  # noqa: PLC0415 - slow to import

    session = imported(typed, DATA / "4.1.2-rejoined", "--clients", clients_file("4.1.2", Path.cwd()))
    rows = pq.read_table(session / session_files.LEDGER).to_pylist()
    lost_rows = [row for row in rows if row["location"] == "lost"]
    assert (len(rows), {row["outcome"] for row in rows}) == (60, {"acked"})
    assert sorted((row["partition"], row["log_offset"]) for row in lost_rows) == [
        ("orders-0", offset) for offset in range(12, 20)
    ]
    ledger = json.loads((session / session_files.RESULT).read_text())["ledger"]
    assert (ledger["acked"], ledger["acked_lost"]) == (60, 8)


@pytest.mark.parametrize(
    "words",
    [
        ("replay",),
        ("why",),
        ("shrink",),
        ("groups",),
        ("export",),
        ("peek", "orders-0", 12),
        ("ask", "restart broker 1"),
        ("run",),
        ("check",),
    ],
)
def test_commands_that_run_a_session_again_refuse_it(
    typed: Type, words: tuple[Any, ...], snapshot: SnapshotAssertion
) -> None:
    session = imported(typed, lost("4.1.2"))
    done = typed(words[0], session, *words[1:])
    assert (done.code, done.out) == (2, "")
    assert done.err == snapshot


@pytest.mark.parametrize("command", ["run", "check", "why", "shrink", "ask"])
def test_its_empty_playbook_is_refused_with_the_same_reason(typed: Type, command: str) -> None:
    session = imported(typed, lost("4.1.2"))
    done = typed(command, session / session_files.PLAYBOOK, *["restart broker 1"] * (command == "ask"))
    assert (done.code, done.out, done.err.count("error:")) == (2, "", 1)
    assert session_files.NOT_RUN in " ".join(done.err.split())


def test_a_folder_with_an_imported_session_is_refused(typed: Type, here: Path) -> None:
    session = imported(typed, lost("4.1.2"))
    done = typed("run", "sessions")
    assert (done.code, done.err.count("error:"), session.name in done.err) == (2, 1, True)


def test_there_is_nothing_to_recover(typed: Type) -> None:
    session = imported(typed, lost("4.1.2"))
    done = typed("recover", session)
    assert (done.code, done.out, done.err.count("error:")) == (2, "", 1)


def test_it_is_compared_and_bundled(typed: Type, here: Path) -> None:
    session = imported(typed, lost("4.1.2"))
    assert typed("export", session, "--bundle", "-o", "one.floodmark").code == 0
    assert typed("import", "one.floodmark", "--out", "theirs").code == 0
    assert typed("diff", session, here / "theirs" / session.name).code == 0
    typed("import", "--kafka-logs", lost("3.9.2"), "--out", "others")
    (other,) = session_files.sessions_under(Path("others"))
    assert typed("diff", session, other).code == 1


@pytest.mark.parametrize(
    "words",
    [
        ("import",),
        ("import", "--topic", "orders"),
        ("import", "one.floodmark", "--kafka-logs", "logs"),
        ("import", "one.floodmark", "--json"),
        ("import", "--kafka-logs", "nowhere"),
        ("import", "--kafka-logs", "."),
        ("import", "--kafka-logs", lost("4.1.2"), "--topic", "nothing"),
        ("import", "--kafka-logs", lost("4.1.2"), "--clients", "nowhere"),
    ],
)
def test_bad_input_is_one_error(typed: Type, here: Path, words: tuple[Any, ...]) -> None:
    done = typed(*words)
    assert (done.code, done.out, done.err.count("error:")) == (2, "", 1)
    assert session_files.sessions_under(here / "sessions") == []


def test_unreadable_log_files_are_reported(typed: Type, here: Path, snapshot: SnapshotAssertion) -> None:
    logs = here / "logs"
    shutil.copytree(lost("4.1.2"), logs)
    path = logs / "node-3/payments-0/00000000000000000000.log"
    path.write_bytes(path.read_bytes()[:-5])
    for node in (1, 2, 3):
        (logs / f"node-{node}/orders-0").rename(logs / f"node-{node}/other-0")
    lines = typed("import", "--kafka-logs", "logs").out.splitlines()
    assert [line for line in lines if line.startswith(("unreadable", "no logs"))] == snapshot

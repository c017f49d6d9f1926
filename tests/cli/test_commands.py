"""The smaller commands: check, faults, profiles, replay, report."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.protocol.config_defs import SCOPES, check
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.releases import RELEASE_LINES
from cluster_model.protocol.versions import FLAG_BY_NAME
from faults.catalogue import CATALOGUE
from faults.declarations.fault import FAMILIES
from faults.declarations.operation import OPERATIONS
from playbooks.session_format import session_files
from spark_report import job
from tests.cli.running import Steady, Typed
from tests.support.playbooks import MANUAL
from tui.cli.runs import spark_jobs

Type = Callable[..., Typed]


def test_check_lists_valid_playbooks(typed: Type, here: Path, snapshot: SnapshotAssertion) -> None:
    (here / "hand.yaml").write_text(MANUAL)
    done = typed("check", "hand.yaml", "leader-crash")
    assert done.code == 0
    assert done.err == snapshot


def test_check_lists_every_error_of_every_file(typed: Type, here: Path, snapshot: SnapshotAssertion) -> None:
    (here / "one.yaml").write_text("floodmark: 2\ntopics: []\n")
    (here / "two.yaml").write_text("floodmark: 1\nnonsense: 3\ntopics:\n  - {name: orders}\n")
    done = typed("check", "one.yaml", "two.yaml", "leader-crash")
    assert done.code == 2
    lines = done.err.splitlines()
    assert [line.split(": ")[1:3] for line in lines if line.startswith("error: ")] == [
        ["one.yaml:1:12", "floodmark"], ["one.yaml:2:9", "topics"],
        ["two.yaml:2:1", "nonsense"], ["two.yaml:4:5", "topics[1]"],
    ]  # fmt: skip
    assert lines[-2:] == snapshot


def test_faults_lists_the_catalogue(typed: Type) -> None:
    lines = typed("faults").out.splitlines()
    for fault in CATALOGUE.values():
        assert any(line.split()[:3] == [fault.name, "f", fault.letter] for line in lines)
    for operation in OPERATIONS.values():
        assert any(line.split()[:3] == [operation.name, "a", operation.letter] for line in lines)
    assert any(line.startswith("leader(PARTITION)") for line in lines)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*CATALOGUE, *OPERATIONS])
def test_faults_prints_the_details_of_one(typed: Type, name: str) -> None:
    done = typed("faults", name)
    assert done.code == 0
    assert done.out.startswith(name)
    for param in (CATALOGUE[name] if name in CATALOGUE else OPERATIONS[name]).params:
        assert param.name in done.out
        assert param.doc in done.out


def test_faults_are_grouped_by_family(typed: Type, snapshot: SnapshotAssertion) -> None:
    lines = typed("faults").out.splitlines()
    cells = [re.split(r" {2,}", line) for line in lines]
    heads = [at for at, (first, *more) in enumerate(cells) if first in FAMILIES and more[0] == "key"]
    assert [cells[at][0] for at in heads] == [each for each in FAMILIES if of_family(each)]
    for at in heads:
        family = cells[at][0]
        names = [line.split()[0] for line in lines[at + 1 : at + 1 + len(of_family(family))]]
        assert names == of_family(family)
    assert cells[0][1:] == snapshot
    assert [cells[at][1:] for at in heads] == [cells[0][1:]] * len(heads)
    links = typed("faults", "--family", "links").out.splitlines()
    assert [line.split()[0] for line in links if line] == ["links", *of_family("links")]
    document = json.loads(typed("faults", "--family", "links", "--json").out)
    assert [entry["name"] for entry in document] == of_family("links")


def of_family(family: str) -> list[str]:
    return [name for name, fault in CATALOGUE.items() if fault.family == family]


def test_a_family_that_is_none_is_bad_input(typed: Type, snapshot: SnapshotAssertion) -> None:
    done = typed("faults", "--family", "link")
    assert (done.code, done.out) == (2, "")
    assert done.err == snapshot
    assert typed("faults", "crash", "--family", "processes").code == 2


def test_values_of_a_fault_have_their_units(typed: Type) -> None:
    lines = [line.split() for line in typed("faults", "lag").out.splitlines()]
    assert ["latency", "duration", "1us", "to", "1h", "200ms"] in [words[:6] for words in lines]
    assert ["latency:", "200ms"] in lines


def test_faults_as_a_document(typed: Type) -> None:
    assert [entry["name"] for entry in json.loads(typed("faults", "--json").out)] == [*CATALOGUE, *OPERATIONS]
    lag = json.loads(typed("faults", "lag", "--json").out)
    assert {param["name"] for param in lag["params"]} == {param.name for param in CATALOGUE["lag"].params}


def test_an_unknown_fault_is_bad_input(typed: Type, snapshot: SnapshotAssertion) -> None:
    done = typed("faults", "crush")
    assert done.code == 2
    told, _, command = done.err.partition("; see: ")
    assert told == snapshot
    assert command.strip() == "floodmark faults"


def test_profiles_lists_versions_and_reports_rules(typed: Type) -> None:
    lines = typed("profiles").out.splitlines()
    versions, rules_told = lines[1 : len(RELEASE_LINES) + 1], lines[len(RELEASE_LINES) + 2 :]
    assert tuple(line.split()[0] for line in versions) == RELEASE_LINES
    assert [line.startswith("client rule") for line in rules_told].count(True) == 1
    told = {(row := re.split(r" {2,}", line))[0]: row[1:] for line in rules_told if not line.startswith("client rule")}
    assert {name: meaning for name, (_, meaning) in told.items()} == {
        flag.name: flag.meaning for flag in FLAG_BY_NAME.values()
    }
    assert [told[name][0] for name in ("lag_messages", "exits_out_of_range", "hw_push", "kip_320")] == [
        "0.8.2", "0.8.2-2.0.0", "2.4-2.5", "2.1+",
    ]  # fmt: skip
    rules = typed("profiles", "0.11").out
    assert "epoch_truncation" in rules
    assert "splits_batches" in rules
    assert "kip_279" not in rules
    assert "delivery_timeout" not in rules
    assert typed("profiles", "0.12").code == 2


def listed_configs(text: str) -> dict[tuple[str, str], str]:
    """Scope and name of every configuration in a listing, with what is said of it."""
    found: dict[tuple[str, str], str] = {}
    scope = ""
    for line in text.splitlines():
        name, told = re.split(r" {2,}", line)
        if " " in name:
            scope = name.split()[0]
        else:
            found[scope, name] = told
    return found


def test_configs_lists_what_can_be_set(typed: Type, snapshot: SnapshotAssertion) -> None:
    known = {(scope, name): key for scope, keys in SCOPES.items() for name, key in keys.items()}
    found = listed_configs(typed("configs").out)
    assert list(found) == list(known)
    assert all(found[each].startswith(f"{key.doc} Takes ") for each, key in known.items())
    assert found["broker", "log.retention.ms"].endswith(". Cluster-wide.")
    assert found["broker", "log.retention.hours"].endswith(". Read-only.")
    assert found["broker", "leader.replication.throttled.rate"].endswith(". Per-broker.")
    assert found["topic", "retention.ms"].endswith(". Dynamic.")
    assert listed_configs(typed("configs", "topic").out) == {at: told for at, told in found.items() if at[0] == "topic"}
    bad = typed("configs", "topics")
    assert (bad.code, bad.out) == (2, "")
    heads = [re.split(r" {2,}", line) for line in typed("configs").out.splitlines()]
    assert {"heads": [cells for cells in heads if " " in cells[0]], "no scope": bad.err} == snapshot


def test_values_listed_by_configs_are_valid(typed: Type) -> None:
    for (scope, name), told in listed_configs(typed("configs").out).items():
        key, taken = SCOPES[scope][name], told.rpartition("Takes ")[2].partition(". ")[0].removesuffix(".")
        ends: list[int | str] = list(key.choices)
        if key.type == "int":
            ends = [int(end) for end in taken.removesuffix(" or more").split(" to ")]
            for outside in [ends[0] - 1, *(end + 1 for end in ends[1:])]:
                with pytest.raises(ModelError, match=re.escape(name)):
                    check(scope, name, outside)
        elif key.choices:
            assert taken == (key.form or " | ".join(key.choices))
        for end in ends:
            assert check(scope, name, end) == end


@pytest.fixture
def session(typed: Type, here: Path) -> Path:
    (here / "hand.yaml").write_text(MANUAL)
    typed("run", "hand.yaml")
    return session_files.sessions_under(here / "sessions")[0]


def test_replay_says_that_it_is_the_same(
    typed: Type, session: Path, steady: Steady, snapshot: SnapshotAssertion
) -> None:
    manifest = session_files.read_manifest(session)
    assert manifest is not None
    told = []
    for name in (session, manifest.session_id):
        done = typed("replay", name, "--json")
        assert done.code == 0
        assert done.err.split()[-1] == manifest.digest
        told.append(steady(done.err))
    assert told == snapshot
    assert json.loads(done.out) == {
        "session": str(Path("sessions") / session.name),
        "events": manifest.events,
        "digest": manifest.digest,
        "complete": True,
    }


def test_replay_of_something_else_is_1(typed: Type, session: Path, snapshot: SnapshotAssertion) -> None:
    for name in (session_files.MANIFEST, session_files.RESULT):
        (session / name).unlink()
    events = session / session_files.EVENTS
    events.write_text(events.read_text().replace('"names=[m0]"', '"names=[m1]"').replace("m0", "m9"))
    done = typed("replay", session)
    assert done.code == 1
    assert done.err == snapshot


@pytest.mark.slow
@pytest.mark.parametrize("name", ["nowhere", ".", "hand.yaml"])
def test_replay_of_no_session_is_2(typed: Type, session: Path, name: str) -> None:
    done = typed("replay", name)
    assert done.code == 2
    assert done.err.startswith("error: ")
    assert len(done.err.splitlines()) == 1


def test_replay_of_a_truncated_session_is_2(
    typed: Type, session: Path, steady: Steady, snapshot: SnapshotAssertion
) -> None:
    events = session / session_files.EVENTS
    events.write_bytes(events.read_bytes()[:-20])
    done = typed("replay", session)
    assert done.code == 2
    assert steady(done.err) == snapshot


class FakeProcess:
    """A process that does nothing but end."""

    started: ClassVar[list[list[str]]] = []
    code = 0

    def __init__(self, command: list[str], env: dict[str, str]) -> None:
        assert env["PYTHONSAFEPATH"]
        self.started.append(command)

    def wait(self) -> int:
        return self.code


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> type[FakeProcess]:
    class Fresh(FakeProcess):
        started: ClassVar[list[list[str]]] = []

    popen: Any = Fresh
    monkeypatch.setattr(subprocess, "Popen", popen)
    return Fresh


@pytest.mark.slow
def test_report_starts_spark_in_its_own_process(typed: Type, session: Path, processes: type[FakeProcess]) -> None:
    session_id = session.name.removeprefix(session_files.DIRECTORY_PREFIX)
    given = ["--out", "r", "--format", "json", "--master", "local[1]"]
    done = typed("report", session, session_id, *given, "--baseline", session_id)
    assert done.code == 0
    found = str(Path("sessions") / session.name)
    options = [*given, "--baseline", found]
    assert processes.started == [[sys.executable, "-P", "-m", "spark_report", str(session), found, *options]]


@pytest.mark.slow
@pytest.mark.parametrize(("code", "shown"), [(2, 2), (70, 70), (-15, 143)])
def test_report_ends_as_its_process_does(
    typed: Type, session: Path, processes: type[FakeProcess], code: int, shown: int
) -> None:
    processes.code = code
    assert typed("report", session).code == shown


@pytest.mark.slow
@pytest.mark.parametrize("text", ["pdf", "html,Json", "", " , "], ids=repr)
def test_report_in_an_unknown_format_starts_nothing(
    typed: Type, session: Path, processes: type[FakeProcess], text: str, snapshot: SnapshotAssertion
) -> None:
    done = typed("report", session, "--format", text)
    assert (done.code, done.out) == (2, "")
    assert done.err == snapshot
    assert processes.started == []


def test_report_takes_the_formats_that_there_are() -> None:
    assert spark_jobs.FORMATS == job.FORMATS


def test_report_of_no_session_starts_nothing(
    typed: Type, processes: type[FakeProcess], snapshot: SnapshotAssertion
) -> None:
    done = typed("report", "nowhere", "neither", "--baseline", "nobody")
    assert done.code == 2
    assert done.err == snapshot
    assert processes.started == []

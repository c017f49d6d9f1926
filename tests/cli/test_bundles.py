"""Sessions that come and go as one file, sessions that are recovered, and when recordings are forced to the disk."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from playbooks.session_format import session_files
from playbooks.session_format.filesystem import FileSystem
from tests.cli.running import Steady, Typed
from tests.support.playbooks import CRASH, MANUAL
from tests.support.sessions import unseal

pytestmark = pytest.mark.slow

Type = Callable[..., Typed]


@pytest.fixture
def session(typed: Type, here: Path) -> Path:
    (here / "crash.yaml").write_text(CRASH)
    assert typed("run", "crash.yaml").code == 0
    (found,) = session_files.sessions_under(here / "sessions")
    return found


def torn(session: Path, keep: int) -> Path:
    unseal(session)
    events = session / session_files.EVENTS
    events.write_bytes(events.read_bytes()[:keep])
    return session


def test_a_session_is_sent_and_comes_back(
    typed: Type, here: Path, session: Path, steady: Steady, snapshot: SnapshotAssertion
) -> None:
    session_id = session.name.removeprefix(session_files.DIRECTORY_PREFIX)
    done = typed("export", session_id, "--bundle")
    assert (done.code, done.out) == (0, f"{session_id}.floodmark\n")
    again = typed("export", session, "--bundle", "-o", f"{session_id}.floodmark")
    assert (again.code, again.out) == (2, "")
    assert steady(again.err) == snapshot
    assert typed("export", session, "--bundle", "--force").code == 0
    came = typed("import", f"{session_id}.floodmark", "--out", "theirs")
    assert (came.code, came.out) == (0, f"theirs/{session.name}\n")
    assert typed("import", f"{session_id}.floodmark", "--out", "theirs").code == 2
    assert typed("diff", session, f"theirs/{session.name}").code == 0


def test_commands_that_take_a_session_take_its_bundle(typed: Type, session: Path) -> None:
    typed("export", session, "--bundle", "-o", "one.floodmark")
    replayed = typed("replay", "one.floodmark", "--json")
    manifest = session_files.read_manifest(session)
    assert manifest is not None
    assert json.loads(replayed.out)["digest"] == manifest.digest
    assert typed("peek", "one.floodmark", "orders-0", 5).out == typed("peek", session, "orders-0", 5).out
    assert typed("groups", "one.floodmark", "billing").out == typed("groups", session, "billing").out
    assert typed("diff", "one.floodmark", session).code == 0


def test_invalid_bundles_are_rejected_with_one_error(typed: Type, here: Path, snapshot: SnapshotAssertion) -> None:
    (here / "evil.floodmark").write_text("not at all")
    told = {}
    for words in ("replay evil.floodmark", "import evil.floodmark", "report evil.floodmark", "import absent.floodmark"):
        done = typed(*words.split())
        assert (done.code, done.out) == (2, "")
        told[words] = done.err
    assert told == snapshot
    assert typed("export", "absent", "--bundle").code == 2


def test_a_torn_session_is_recovered(typed: Type, session: Path, steady: Steady, snapshot: SnapshotAssertion) -> None:
    torn(session, 20_000)
    before = typed("replay", session)
    done = typed("recover", session.name)
    assert (done.code, done.out) == (0, f"sessions/{session.name}\n")
    replayed = typed("replay", session, "--json")
    manifest = session_files.read_manifest(session)
    assert manifest is not None
    assert (manifest.status, manifest.verdict) == ("recovered", "inconclusive")
    assert json.loads(replayed.out)["digest"] == manifest.digest
    again = typed("recover", session)
    assert again.code == 2
    told = {"torn": before.err, "recovered": done.err, "replayed": replayed.err, "again": again.err}
    assert {when: steady(text) for when, text in told.items()} == snapshot


def test_recovering_says_what_cannot_be(
    typed: Type, session: Path, here: Path, steady: Steady, snapshot: SnapshotAssertion
) -> None:
    typed("export", session, "--bundle", "-o", "one.floodmark")
    bundle = typed("recover", "one.floodmark")
    empty = here / "sessions" / "session_id=empty"
    empty.mkdir()
    nothing = typed("recover", empty)
    torn(session, 20_000)
    events = session / session_files.EVENTS
    events.write_bytes(events.read_bytes().replace(b'"at_us":', b'"at_us":7', 1))
    done = typed("recover", empty, session)
    assert (bundle.code, nothing.code, done.code) == (2, 2, 2)
    assert typed("recover", session).code == 1
    told = {"a bundle": bundle.err, "an empty folder": nothing.err, "that and changed events": done.err}
    assert {what: steady(text) for what, text in told.items()} == snapshot


@pytest.mark.parametrize(("fsync", "few"), [("never", True), ("always", False)])
def test_how_often_a_run_is_forced_to_the_disk(
    typed: Type, here: Path, monkeypatch: pytest.MonkeyPatch, fsync: str, few: bool
) -> None:
    syncs: list[int] = []
    monkeypatch.setattr(FileSystem, "sync_data", lambda _disk, fd: syncs.append(fd))
    (here / "hand.yaml").write_text(MANUAL)
    (here / "crash.yaml").write_text(CRASH)
    assert typed("run", "crash.yaml", "--fsync", fsync).code == 0
    assert (len(syncs) <= 9) == few
    bad = typed("run", "crash.yaml", "--fsync", "sometimes")
    assert bad.code == 2

"""Sessions of other versions: those of earlier ones are read for ever, and of later ones all that is known.

``golden_sessions`` holds one session of every schema version since the second, as a bundle. They are never made anew.
When the version is raised, ``floodmark run golden_sessions/playbook.yaml`` and ``floodmark export --bundle SESSION -o
golden_sessions/schema-N.floodmark``, in the folder of this file, give the next.
"""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.protocol.events import SCHEMA_VERSION
from playbooks.engine import replay
from playbooks.engine.replay import ReplayMismatchError
from playbooks.recording.reader import read_session
from playbooks.session_format import session_files
from playbooks.session_format.bundle import open_bundle, write_bundle
from playbooks.session_format.session_files import LEDGER_COLUMNS, SessionError
from playbooks.version import VERSION
from spark_report.input.sessions import check_session, collect_sessions
from tests.support.wording import masked_text

GOLDENS = Path(__file__).parent / "golden_sessions"
BUNDLES = sorted(GOLDENS.glob("schema-*.floodmark"))
NEWEST = GOLDENS / f"schema-{SCHEMA_VERSION}.floodmark"
NEWEST_OF_FORMAT_1 = 3
"""Schema version; later ones have the names of format 2."""


def test_there_is_one_of_this_version() -> None:
    assert NEWEST in BUNDLES


@pytest.fixture(params=BUNDLES, ids=lambda path: path.stem)
def golden(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return open_bundle(request.param, tmp_path / "golden")


def test_a_golden_session_is_read(golden: Path) -> None:
    recorded = read_session(golden)
    assert recorded.manifest is not None
    assert recorded.notes == ()
    assert (recorded.count, recorded.manifest.last_seq) == (recorded.manifest.events, recorded.manifest.events - 1)
    earlier = recorded.start.schema_version <= NEWEST_OF_FORMAT_1
    assert (recorded.start.playbook, recorded.start.seed, recorded.start.format) == ("golden", 3, 1 if earlier else 2)
    reported = check_session(golden)
    assert reported.problems == ()
    assert (reported.source, reported.last_seq) == ("parquet", recorded.count - 1)
    assert reported.result["ledger"]["acked_lost"] == 19
    ledger = pq.read_table(golden / session_files.LEDGER)
    location = "place" if earlier else "location"
    assert (
        {*LEDGER_COLUMNS, location}
        >= set(ledger.schema.names)
        >= {"partition", "client", "outcome", "records", location}
    )
    assert sum(row["records"] for row in ledger.to_pylist() if row[location] == "lost") == 19


@pytest.mark.slow
def test_a_golden_session_is_the_same_again_or_says_where_not(golden: Path) -> None:
    try:
        replayed = replay.replay(read_session(golden))
    except ReplayMismatchError as error:
        assert "difference: " in str(error) or "digest" in str(error)  # noqa: PT017 - either is right
    else:
        assert replayed.events == read_session(golden).count


# -- of a version that knows more -------------------------------------------------------------------------------------


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return open_bundle(NEWEST, tmp_path / "newer")


def edit(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def reseal(session: Path) -> None:
    """The manifest vouches for every file as it is now."""
    manifest = json.loads((session / session_files.MANIFEST).read_text())
    for name in session_files.files_in(session):
        if name != session_files.MANIFEST:
            data = (session / name).read_bytes()
            manifest["files"][name] = {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    (session / session_files.MANIFEST).write_text(json.dumps(manifest))


def of_tomorrow(session: Path) -> Path:
    """As a later version might have recorded it: more fields, kinds, columns and files."""
    (session / "weather.json").write_text("{}")
    (session / "more").mkdir()
    (session / "more" / "sounds.bin").write_bytes(b"\0\1")
    for name in (session_files.START, session_files.MANIFEST, session_files.RESULT):
        edit(session / name, lambda document: document.update(disturbances={"wind": ["strong"]}))
    for name in (session_files.START, session_files.MANIFEST):
        edit(session / name, lambda document: document.update(schema_version=SCHEMA_VERSION + 1, tool_version="99.0"))
    edit(session / session_files.START, lambda document: document["topics"][0].update(colour="red"))
    events = session / session_files.EVENTS
    lines = [json.loads(line) for line in events.read_bytes().splitlines()]
    for line in lines:
        line["mood"] = "calm"
    lines.append({"seq": len(lines), "kind": "moon_rose", "at_us": lines[-1]["at_us"], "phase": 3})
    events.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    table = pq.read_table(session / session_files.EVENTS_PARQUET)
    rose = {"seq": len(lines) - 1, "kind": "moon_rose", "at_us": lines[-1]["at_us"]}
    more = pa.concat_tables([table, pa.Table.from_pylist([rose], schema=table.schema)])
    pq.write_table(more.append_column("mood", pa.array(["calm"] * len(lines))), session / session_files.EVENTS_PARQUET)
    edit(session / session_files.MANIFEST, lambda document: document["kinds"].update(moon_rose=1))
    edit(session / session_files.MANIFEST, lambda document: document.update(events=len(lines), last_seq=len(lines) - 1))
    reseal(session)
    return session


def test_additions_of_later_versions_are_ignored(session: Path, snapshot: SnapshotAssertion) -> None:
    recorded = read_session(of_tomorrow(session))
    assert len(recorded.notes) == 1
    assert masked_text(recorded.notes[0], later=SCHEMA_VERSION + 1, ours=SCHEMA_VERSION) == snapshot
    (reported,), aside = collect_sessions([session])
    assert not aside
    assert reported.source == "parquet"
    assert [
        masked_text(problem, later=SCHEMA_VERSION + 1, ours=SCHEMA_VERSION) for problem in reported.problems
    ] == snapshot


def test_a_replay_says_where_the_versions_part(session: Path, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(ReplayMismatchError) as caught:
        replay.replay(read_session(of_tomorrow(session)))
    assert masked_text(caught.value, version=VERSION).splitlines()[:2] == snapshot


def test_a_kind_that_is_not_known_is_where_the_versions_part(session: Path, snapshot: SnapshotAssertion) -> None:
    events = session / session_files.EVENTS
    lines = events.read_bytes().splitlines(keepends=True)
    strange = {"seq": 5, "kind": "moon_rose", "at_us": json.loads(lines[5])["at_us"], "phase": 3}
    lines[5] = json.dumps(strange, separators=(",", ":")).encode() + b"\n"
    events.write_bytes(b"".join(lines))
    reseal(session)
    with pytest.raises(ReplayMismatchError) as caught:
        replay.replay(read_session(session))
    where, what, *_lines = str(caught.value).splitlines()
    assert " event 5 " in where
    assert what == snapshot


def test_bundles_keep_files_of_later_versions(session: Path, tmp_path: Path) -> None:
    write_bundle(of_tomorrow(session), tmp_path / "x.floodmark")
    opened = open_bundle(tmp_path / "x.floodmark", tmp_path / "there")
    assert session_files.files_in(opened) == session_files.files_in(session)
    assert (opened / "more" / "sounds.bin").read_bytes() == b"\0\1"


@pytest.mark.parametrize("name", [session_files.START, session_files.MANIFEST])
def test_another_format_is_refused_in_one_sentence(session: Path, name: str, snapshot: SnapshotAssertion) -> None:
    edit(session / name, lambda document: document.update(format=session_files.FORMAT + 1, tool_version="99.0"))
    for read in (read_session, check_session):
        with pytest.raises((SessionError, session_files.LayoutError)) as caught:
            read(session)
        assert caught.value.code == "later_format"
        assert masked_text(caught.value, session=session) == snapshot


def test_files_from_before_the_format_was_written_are_of_the_first(tmp_path: Path) -> None:
    session = open_bundle(GOLDENS / f"schema-{NEWEST_OF_FORMAT_1}.floodmark", tmp_path / "before")
    for name in (session_files.START, session_files.MANIFEST):
        edit(session / name, lambda document: document.pop("format"))
    for key in ("scenario_sha256", "actions", "kinds"):
        edit(session / session_files.MANIFEST, lambda document, key=key: document.pop(key))
    reseal(session)
    manifest = read_session(session).manifest
    assert manifest is not None
    assert (manifest.format, manifest.scenario_sha256, manifest.actions, manifest.kinds) == (1, "", -1, {})
    assert check_session(session).problems == ()

"""A session in one file: it opens bit for bit somewhere else, and what somebody made to do harm does none."""

import json
import random
import re
import shutil
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from playbooks.engine import replay
from playbooks.engine.session import Session
from playbooks.parser.loader import loads
from playbooks.recording.reader import read_session
from playbooks.recording.recorder import Recorder
from playbooks.session_format import bundle as bundling
from playbooks.session_format import session_files
from playbooks.session_format.bundle import open_bundle, write_bundle
from playbooks.session_format.session_files import BundleError
from playbooks.session_format.session_finder import find_session
from spark_report.input.sessions import check_session
from tests.support.playbooks import CRASH
from tests.support.sessions import unseal
from tests.support.wording import masked_text

Members = list[tuple[zipfile.ZipInfo, bytes]]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    parent = tmp_path_factory.mktemp("recorded")
    return Path(Session.start(loads(CRASH, "crash.yaml"), seed=9, recorder=Recorder(parent)).finish().session)


@pytest.fixture(scope="module")
def bundle(recorded: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("bundles") / "one.floodmark"
    write_bundle(recorded, file)
    return file


def contents_of(session: Path) -> dict[str, bytes]:
    return {name: (session / name).read_bytes() for name in session_files.files_in(session)}


@pytest.mark.slow
def test_it_opens_bit_for_bit_somewhere_else(recorded: Path, bundle: Path, tmp_path: Path) -> None:
    session = open_bundle(bundle, tmp_path / "elsewhere")
    assert session == tmp_path / "elsewhere" / recorded.name
    assert contents_of(session) == contents_of(recorded)
    here, there = read_session(recorded), read_session(session)
    assert (there.events, there.manifest, there.playbook) == (here.events, here.manifest, here.playbook)
    assert here.manifest is not None
    assert replay.replay(there).digest == here.manifest.digest
    assert check_session(session).problems == ()
    assert sorted(path.name for path in (tmp_path / "elsewhere").iterdir()) == [recorded.name]


def test_the_same_session_gives_the_same_bytes(recorded: Path, bundle: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(recorded, tmp_path / "copy" / recorded.name, copy_function=shutil.copyfile))
    for path in copy.iterdir():
        path.chmod(0o600)
    (copy / ".result.json.tmp").write_text("half")
    digest = write_bundle(copy, tmp_path / "two.floodmark")
    assert (tmp_path / "two.floodmark").read_bytes() == bundle.read_bytes()
    session = open_bundle(bundle, tmp_path)
    assert write_bundle(session, tmp_path / "three.floodmark") == digest
    assert bundle.stat().st_size < sum(map(len, contents_of(recorded).values())) / 3


def test_a_bundle_begins_with_contents_and_manifest(bundle: Path) -> None:
    with zipfile.ZipFile(bundle) as packed:
        names = packed.namelist()
        told = json.loads(packed.read(bundling.CONTENTS))
        assert {(each.date_time, each.external_attr >> 16) for each in packed.infolist()} == {
            ((1980, 1, 1, 0, 0, 0), stat.S_IFREG | 0o644)
        }
    assert names[:2] == [bundling.CONTENTS, session_files.MANIFEST]
    assert names[1:] == list(told["files"])
    assert (told["floodmark_bundle"], told["status"]) == (1, "complete")


def test_a_torn_session_can_be_sent_and_says_so(recorded: Path, tmp_path: Path) -> None:
    torn = Path(shutil.copytree(recorded, tmp_path / "torn" / recorded.name))
    unseal(torn)
    write_bundle(torn, tmp_path / "torn.floodmark")
    with zipfile.ZipFile(tmp_path / "torn.floodmark") as packed:
        assert json.loads(packed.read(bundling.CONTENTS))["status"] == "torn"
    opened = open_bundle(tmp_path / "torn.floodmark", tmp_path / "there")
    assert contents_of(opened) == contents_of(torn)
    assert read_session(opened).manifest is None


def test_files_in_directories_go_along(recorded: Path, tmp_path: Path) -> None:
    session = Path(shutil.copytree(recorded, tmp_path / "x" / recorded.name))
    (session / "fragments").mkdir()
    (session / "fragments" / "az-loss.yaml").write_text("floodmark: 1\n")
    write_bundle(session, tmp_path / "x.floodmark")
    opened = open_bundle(tmp_path / "x.floodmark", tmp_path / "there")
    assert (opened / "fragments" / "az-loss.yaml").read_text() == "floodmark: 1\n"


def test_nothing_is_written_over_unless_forced(
    recorded: Path, bundle: Path, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    file = tmp_path / "there.floodmark"
    file.write_text("precious")
    with pytest.raises(BundleError) as caught:
        write_bundle(recorded, file)
    assert caught.value.code == "file_exists"
    assert masked_text(caught.value, file=file) == snapshot
    assert file.read_text() == "precious"
    write_bundle(recorded, file, force=True)
    assert file.read_bytes() == bundle.read_bytes()
    assert sorted(tmp_path.iterdir()) == [file]
    open_bundle(file, tmp_path / "s")
    with pytest.raises(BundleError) as caught:
        open_bundle(file, tmp_path / "s")
    assert caught.value.code == "session_exists"
    assert masked_text(caught.value, file=file, target=tmp_path / "s" / recorded.name) == snapshot


def test_a_session_that_is_none_and_a_place_that_is_none(
    recorded: Path, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    with pytest.raises(BundleError) as none:
        write_bundle(tmp_path, tmp_path / "x.floodmark")
    with pytest.raises(BundleError) as nowhere:
        write_bundle(recorded, tmp_path / "nowhere" / "x.floodmark")
    assert (none.value.code, nowhere.value.code) == ("nothing_recorded", "unwritable")
    assert [masked_text(each.value, directory=tmp_path) for each in (none, nowhere)] == snapshot
    assert list(tmp_path.iterdir()) == []


def test_bundles_are_accepted_where_sessions_are(recorded: Path, bundle: Path, tmp_path: Path) -> None:
    found = find_session(str(bundle), tmp_path)
    assert contents_of(found) == contents_of(recorded)
    assert list(tmp_path.iterdir()) == []


# -- what somebody made to do harm ----------------------------------------------------------------------------------


def members_of(bundle: Path) -> Members:
    with zipfile.ZipFile(bundle) as packed:
        return [(info, packed.read(info)) for info in packed.infolist()]


def pack(file: Path, members: Members) -> Path:
    with zipfile.ZipFile(file, "w") as out:
        for info, data in members:
            out.writestr(info, data, zipfile.ZIP_DEFLATED)
    return file


def plain(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFREG | 0o644) << 16
    return info


def link(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.create_system = 3
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


def told(members: Members, change: Callable[[dict[str, object]], object]) -> Members:
    """The same with another ``bundle.json``."""
    contents = json.loads(members[0][1])
    change(contents)
    return [(plain(bundling.CONTENTS), json.dumps(contents).encode()), *members[1:]]


def without(members: Members, name: str) -> Members:
    return [each for each in members if each[0].filename != name]


HARM: dict[str, tuple[Callable[[Members], Members], str]] = {
    # what somebody makes of a bundle, and the code of the refusal
    "path upwards": (lambda m: [*m, (plain("../evil"), b"x")], "bad_file_name"),
    "path upwards inside": (lambda m: [*m, (plain("a/../../evil"), b"x")], "bad_file_name"),
    "path from the root": (lambda m: [*m, (plain("/etc/evil"), b"x")], "bad_file_name"),
    "backslash": (lambda m: [*m, (plain("..\\evil"), b"x")], "bad_file_name"),
    "drive": (lambda m: [*m, (plain("C:evil"), b"x")], "bad_file_name"),
    "hidden": (lambda m: [*m, (plain(".bashrc"), b"x")], "bad_file_name"),
    "directory": (lambda m: [*m, (plain("dir/"), b"")], "bad_file_name"),
    "link": (lambda m: [*m, (link("result2.json"), b"/etc/passwd")], "not_a_plain_file"),
    "twice": (lambda m: [*m, (plain(session_files.START.upper()), b"x")], "file_twice"),
    "not named": (lambda m: [*m, (plain("more.txt"), b"x")], "file_not_listed"),
    "missing": (lambda m: without(m, session_files.EVENTS), "file_missing"),
    "no contents": (lambda m: m[1:], "not_a_bundle"),
    "empty": (lambda m: [], "not_a_bundle"),
    "contents not JSON": (lambda m: [(plain(bundling.CONTENTS), b"{"), *m[1:]], "not_json"),
    "contents deep": (lambda m: [(plain(bundling.CONTENTS), b"[" * 90_000), *m[1:]], "not_json"),
    "contents a list": (lambda m: [(plain(bundling.CONTENTS), b"[]"), *m[1:]], "not_a_bundle"),
    "later format": (lambda m: told(m, lambda c: c.update(floodmark_bundle=2)), "later_format"),
    "id upwards": (lambda m: told(m, lambda c: c.update(session_id="../../x")), "bad_session_id"),
    "id another": (lambda m: told(m, lambda c: c.update(session_id="another")), "another_session"),
    "files none": (lambda m: told(m, lambda c: c.update(files=[])), "wrong_type"),
    "no start": (
        lambda m: told(without(m, session_files.START), lambda c: c["files"].pop(session_files.START)),  # type: ignore[attr-defined]
        "file_missing",
    ),
    "other bytes": (
        lambda m: [
            (info, data.replace(b"1", b"2", 1) if info.filename == session_files.EVENTS else data) for info, data in m
        ],
        "content_changed",
    ),
    "other size": (
        lambda m: [(info, data + b"x") if info.filename == session_files.EVENTS else (info, data) for info, data in m],
        "size_changed",
    ),
    "a file that is a directory": (
        lambda m: told([*m, (plain("start.json/x"), b"x")], lambda c: c["files"].update({"start.json/x": c["files"]["start.json"] | {"bytes": 1}})),  # type: ignore[index,attr-defined] # noqa: E501
        "unreadable",
    ),
    "bomb": (lambda m: [*m, (plain("bomb"), bytes(80 << 20))], "too_large"),
    "many": (lambda m: [*m, *((plain(f"f{n}"), b"") for n in range(1_000))], "too_many_files"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("harm", HARM)
def test_a_malicious_bundle_is_refused_with_one_clear_error(
    recorded: Path, bundle: Path, tmp_path: Path, harm: str, snapshot: SnapshotAssertion
) -> None:
    make, code = HARM[harm]
    file = pack(tmp_path / "evil.floodmark", make(members_of(bundle)))
    with pytest.raises(BundleError) as caught:
        open_bundle(file, tmp_path / "deep" / "into")
    assert caught.value.code == code
    assert "\n" not in str(caught.value)
    assert str(file) in str(caught.value)
    session_id = recorded.name.removeprefix(session_files.DIRECTORY_PREFIX)
    told = masked_text(caught.value, file=file, into=tmp_path / "deep" / "into", session_id=session_id)
    assert re.sub(r"\b\d{5,}", "N", re.sub(r"\.tmp.*", ".tmp", told)) == snapshot
    left = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert left == [file]


def test_a_size_that_lies_is_noticed_while_unpacking(bundle: Path, tmp_path: Path) -> None:
    data = bytearray(bundle.read_bytes())
    with zipfile.ZipFile(bundle) as packed:
        size = packed.getinfo(session_files.EVENTS).file_size
    for lie in (size - 100, size + 100):
        lied = data.replace(size.to_bytes(4, "little"), lie.to_bytes(4, "little"))
        file = tmp_path / f"{lie}.floodmark"
        file.write_bytes(lied)
        with pytest.raises(BundleError):
            open_bundle(file, tmp_path / "into")


def test_files_that_are_no_bundles(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    for number, data in enumerate((b"", b"PK\x03\x04", b"no zip at all", b"\0" * 5_000)):
        file = tmp_path / f"{number}.floodmark"
        file.write_bytes(data)
        with pytest.raises(BundleError) as caught:
            open_bundle(file, tmp_path / "into")
        assert caught.value.code == "not_whole"
        assert masked_text(caught.value, file=file) == snapshot
    with pytest.raises(BundleError) as caught:
        open_bundle(tmp_path / "absent.floodmark", tmp_path / "into")
    assert caught.value.code == "unreadable"
    assert masked_text(caught.value, file=tmp_path / "absent.floodmark") == snapshot


@pytest.mark.slow
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    places=st.lists(st.integers(min_value=0), min_size=1, max_size=4), seed=st.integers(0, 1 << 30), cut=st.booleans()
)
def test_whatever_is_damaged_it_is_refused_or_the_same(
    recorded: Path, bundle: Path, tmp_path: Path, places: list[int], seed: int, cut: bool
) -> None:
    data = bytearray(bundle.read_bytes())
    draw = random.Random(seed)
    for place in places:
        data[place % len(data)] = draw.randrange(256)
    if cut:
        del data[places[0] % len(data) :]
    file = tmp_path / "damaged.floodmark"
    file.write_bytes(data)
    into = tmp_path / "into"
    try:
        session = open_bundle(file, into)
    except BundleError:
        assert not into.exists() or not list(into.iterdir())
    else:
        assert contents_of(session) == contents_of(recorded)
        shutil.rmtree(session)

"""Whatever is in the files of two sessions, a comparison ends in an answer or in one sentence."""

import json
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playbooks.diff.session_diff import compare
from playbooks.session_format import session_files
from playbooks.session_format.session_files import SessionError
from tests.support.breadth import sample_count
from tests.support.sessions import leader_crash, reseal, write_session

pytestmark = pytest.mark.slow

FILES = (
    session_files.START,
    session_files.EVENTS,
    session_files.RESULT,
    session_files.MANIFEST,
    session_files.PLAYBOOK,
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_session(tmp_path_factory.mktemp("whole"), leader_crash())


@settings(max_examples=sample_count(30, 120))
@given(
    name=st.sampled_from(FILES),
    at=st.floats(0, 1, exclude_max=True),
    put=st.binary(max_size=4) | st.sampled_from([b"null", b"{", b"[1]", b'"', b"-1", b"\n", b"1e400", b"\\ud800"]),
    cut=st.integers(0, 8),
    sealed=st.sampled_from(["as it was", "anew", "not"]),
)
def test_damage_makes_no_traceback(whole: Path, name: str, at: float, put: bytes, cut: int, sealed: str) -> None:
    with tempfile.TemporaryDirectory() as parent:
        damaged = Path(shutil.copytree(whole, Path(parent) / whole.name))
        data = (damaged / name).read_bytes()
        place = int(at * len(data))
        (damaged / name).write_bytes(data[:place] + put + data[place + cut :])
        if sealed == "not":
            (damaged / session_files.MANIFEST).unlink()
        elif sealed == "anew" and name != session_files.MANIFEST:
            reseal(damaged, name)
        for pair in ((whole, damaged), (damaged, whole), (damaged, damaged)):
            told = answer(*pair)
            assert told
            assert "\n" not in told
            assert pair[0] != pair[1] or not told.startswith("{") or '"same": true' in told


def answer(left: Path, right: Path) -> str:
    """The document, or the sentence that says why there is none."""
    try:
        return json.dumps(compare(left, right).to_json())
    except SessionError as error:
        return str(error)

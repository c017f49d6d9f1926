"""What a playbook, a session or a bundle says reaches no terminal as a command, nor as a line of its own."""

import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.running import Typed
from tests.support.playbooks import CLUSTER
from tests.support.sessions import reseal

Type = Callable[..., Typed]
OSC, CLEAR, TURNED = "\x1b]0;pwned\x07", "\x1b[2J", "\u202e"
FORGED = "FORGED 1.000s  everything is fine"
HOSTILE = f"{OSC}{CLEAR}{TURNED}\\nFORGED 1.000s  everything is fine"
"""As it is written between quotes in YAML."""


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A playbook whose every free text is hostile."""
    text = json.dumps(HOSTILE.replace("\\n", "\n"))
    path = tmp_path / "hostile.yaml"
    path.write_text(
        CLUSTER.replace("title: A small cluster", f"title: {json.dumps('x' + TURNED)}")
        + f"steps:\n  - {{at: 1s, inject: crash, target: broker(1), for: 1s, note: {text}}}\nsettle: 2s\n"
        + "expect:\n  - acked_lost() == 0\n"
    )
    return path


def is_harmless(text: str) -> bool:
    return not any(each in text for each in (*"\x1b\x07", TURNED)) and not any(
        line.startswith("FORGED") for line in text.splitlines()
    )


@pytest.mark.parametrize(
    ("more", "told"),
    [("--plain", True), ("--speed=1000", True), ("--dry-run", False), ("--json", False), ("--markdown=-", False)],
)
def test_a_note_stays_in_its_line(hostile: Path, typed: Type, more: str, told: bool) -> None:
    done = typed("run", hostile, more)
    assert done.code == 0, done.err
    assert is_harmless(done.out)
    assert is_harmless(done.err)
    assert (FORGED in done.out + done.err) is told


def test_documents_keep_the_text_and_show_nothing_of_it(hostile: Path, typed: Type, tmp_path: Path) -> None:
    done = typed("run", hostile, "--json", "--junit", "found.xml")
    assert json.loads(done.out)["title"] == f"x{TURNED}"
    assert TURNED not in done.out
    xml = (tmp_path / "found.xml").read_text(encoding="utf-8")
    assert TURNED not in xml
    ElementTree.fromstring(xml)


def test_diff_escapes_control_characters_of_tampered_sessions(hostile: Path, typed: Type, tmp_path: Path) -> None:
    assert typed("run", hostile).code == 0
    (one,) = (tmp_path / "sessions").iterdir()
    other = tmp_path / "other" / one.name
    shutil.copytree(one, other)
    text = HOSTILE.replace("\\n", "\n")
    result = json.loads((other / "result.json").read_text(encoding="utf-8"))
    result["title"] = result["reason"] = result["playbook"] = text
    result["expectations"].append({"text": text, "ok": False, "at_us": 5, "detail": text})
    (other / "result.json").write_text(json.dumps(result), encoding="utf-8")
    reseal(other, "result.json")
    for words in (("diff", one, other), ("diff", one, other, "--all"), ("diff", one, other, "--json")):
        done = typed(*words)
        assert FORGED in done.out + done.err
        assert is_harmless(done.out + done.err)


def test_the_name_of_a_member_is_no_command(typed: Type, tmp_path: Path) -> None:
    bundle = tmp_path / "sent.floodmark"
    name = f"events{CLEAR}{TURNED}\nFORGED.json"
    seals = {name: {"bytes": 1, "sha256": "0" * 64}}
    told = {"floodmark_bundle": 1, "session_id": "20260101T000000-x-s1-abcd", "files": seals}
    for there in ((), (name,)):
        with zipfile.ZipFile(bundle, "w") as file:
            file.writestr("bundle.json", json.dumps(told))
            for each in there:
                file.writestr(each, "x")
        done = typed("replay", bundle)
        assert done.code == 2
        assert "events" in done.err
        assert is_harmless(done.err)
        assert done.err.count("\n") == 1


def test_the_name_of_a_file_is_no_command(typed: Type, tmp_path: Path) -> None:
    (tmp_path / f"a{TURNED}b.yaml").write_text("floodmark: 1\n")
    done = typed("check", f"a{TURNED}b.yaml")
    assert done.code == 2
    assert is_harmless(done.out + done.err)

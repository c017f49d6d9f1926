"""``floodmark check``: files and folders, every mistake with its line and a caret, and the same as a document."""

import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from syrupy.assertion import SnapshotAssertion

from playbooks.errors import PlaybookError, Problem, lines_of
from playbooks.parser.document.includes import playbooks_under
from playbooks.parser.loader import load, loads
from tests.cli.running import Typed, floodmark
from tests.support.playbooks import CLUSTER, CRASH, MANUAL
from tui.output.console import excerpt_of

Type = Callable[..., Typed]

BAD = CLUSTER + "steps:\n  - {at: 1s, inject: crash, taget: broker(1)}\n"
LINE = BAD.count("\n")


def test_a_mistake_is_shown_in_its_line(typed: Type, here: Path, snapshot: SnapshotAssertion) -> None:
    (here / "bad.yaml").write_text(BAD)
    shown = []
    for words in (("check", "bad.yaml"), ("run", "bad.yaml"), ("run", "--dry-run", "bad.yaml")):
        done = typed(*words)
        assert (done.code, done.out) == (2, "")
        lines = done.err.splitlines()
        place = f"error: bad.yaml:{LINE}:29: steps[1].taget: "
        (at,) = (number for number, line in enumerate(lines) if line.startswith(place))
        shown.append(lines[at : at + 3])
    assert shown[0] == snapshot
    assert shown == [shown[0]] * 3


def test_invalid_settings_are_reported_as_written(typed: Type, here: Path, snapshot: SnapshotAssertion) -> None:
    (here / "small.yaml").write_text(CLUSTER)
    done = typed("run", "small.yaml", "--set", "producers.checkout.rate=much")
    assert (done.code, done.out) == (2, "")
    assert done.err == snapshot


@pytest.mark.slow
def test_a_pipe_gets_neither_colours_nor_raw_control_characters(here: Path) -> None:
    (here / "bad.yaml").write_bytes(CLUSTER.encode() + b'steps:\n  - "\xc2\x9bred"\n  - {inject: "\\e[31mred"}\n')
    done = floodmark("check", "bad.yaml", cwd=here, env={"TERM": "xterm-256color"})
    assert done.code == 2
    assert "\x1b" not in done.err
    assert "\x9b" not in done.err


def test_a_file_that_is_no_utf_8_is_shown_with_its_bytes(typed: Type, here: Path, snapshot: SnapshotAssertion) -> None:
    (here / "latin.yaml").write_bytes(b"floodmark: 1\r\nname: caf\xe9\r\n")
    done = typed("check", "latin.yaml")
    assert done.code == 2
    assert done.err == snapshot


def test_a_mistake_of_a_fragment_is_shown_in_its_line_of_the_fragment(
    typed: Type, here: Path, snapshot: SnapshotAssertion
) -> None:
    (here / "part.yaml").write_text("floodmark: 1\nfragment: part\nsteps:\n  - {inject: crash, target: broker(9)}\n")
    (here / "whole.yaml").write_text(CLUSTER + "include: part.yaml\n")
    assert typed("check", "whole.yaml").err.splitlines()[:3] == snapshot


def test_a_missing_file_has_no_line_to_show(typed: Type, here: Path) -> None:
    done = typed("check", str(here / "none.yaml"))
    assert (done.code, len(done.err.splitlines())) == (2, 1)


def folder(here: Path) -> Path:
    """Two sound files, a fragment, two with mistakes, and what nobody asked for."""
    whole = here / "chaos"
    (whole / "more" / "deep").mkdir(parents=True)
    (whole / ".git").mkdir()
    (whole / "b.yaml").write_text(CLUSTER)
    (whole / "a.yml").write_text(MANUAL)
    (whole / "more" / "bad.yaml").write_text(BAD)
    (whole / "more" / "deep" / "worse.yaml").write_text("floodmark: 2\ntopics: []\n")
    (whole / "more" / "part.yaml").write_text("floodmark: 1\nfragment: part\nsteps:\n  - heal: all\n")
    (whole / ".git" / "hidden.yaml").write_text("no")
    (whole / ".hidden.yaml").write_text("no")
    (whole / "notes.txt").write_text("no")
    return whole


def test_a_folder_is_checked_with_all_that_is_in_it_but_what_is_hidden(
    typed: Type, here: Path, snapshot: SnapshotAssertion
) -> None:
    folder(here)
    done = typed("check", "chaos")
    assert (done.code, done.out) == (2, "")
    assert [line.split(":")[0] for line in done.err.splitlines() if "valid (" in line] == [
        "chaos/a.yml",
        "chaos/b.yaml",
    ]
    assert "hidden" not in done.err
    assert "notes" not in done.err
    assert done.err == snapshot


def test_mistakes_as_a_document(typed: Type, here: Path) -> None:
    folder(here)
    done = typed("check", "--json", "chaos", "leader-crash")
    assert (done.code, done.err) == (2, "")
    entries = json.loads(done.out)
    assert {entry["path"] for entry in entries} == {"chaos/more/bad.yaml", "chaos/more/deep/worse.yaml"}
    assert entries[0] == {
        "path": "chaos/more/bad.yaml",
        "line": LINE,
        "column": 29,
        "key": "steps[1].taget",
        "message": entries[0]["message"],
    }
    sound = typed("check", "--json", "chaos/b.yaml")
    assert (sound.code, json.loads(sound.out), sound.err) == (0, [], "")


def test_a_folder_without_playbooks_is_a_mistake(typed: Type, here: Path, snapshot: SnapshotAssertion) -> None:
    (here / "empty").mkdir()
    done = typed("check", "empty")
    assert done.code == 2
    assert done.err == snapshot


def test_a_file_named_twice_is_checked_once(typed: Type, here: Path) -> None:
    (here / "b.yaml").write_text(CLUSTER)
    assert typed("check", "b.yaml", "b.yaml").err.count("valid (") == 1


# -- the line and its caret -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "column", "shown", "below"),
    [
        ("seed: x", 7, "    1 | seed: x", "      |       ^"),
        ("\tseed: x", 2, "    1 |     seed: x", "      |     ^"),
        ("\u6771\u4eac: x", 5, "    1 | \u6771\u4eac: x", "      |       ^"),
        ("a\u0301: x", 5, "    1 | a\u0301: x", "      |    ^"),
        ("a\x1b: x", 3, "    1 | a\\x1b: x", "      |      ^"),
        ("ab", 3, "    1 | ab", "      |   ^"),
        ("ab", 99, "    1 | ab", "      |   ^"),
        ("", 1, "    1 | ", "      | ^"),
    ],
)  # fmt: skip
def test_the_caret_is_below_the_column(line: str, column: int, shown: str, below: str) -> None:
    excerpt = excerpt_of(line + "\nmore", 1, column, 80)
    assert excerpt == (shown, below)


def test_long_lines_are_cut_around_the_column() -> None:
    text = "".join(f"{number:>5}" for number in range(400))
    for column, start, end in ((1, "    0    1", "..."), (1_000, "...", "..."), (1_996, "...", "  399")):
        excerpt = excerpt_of(text, 1, column, 60)
        assert excerpt is not None
        assert max(map(cell_len, excerpt)) <= 60
        shown, at = excerpt.line[8:], excerpt.caret.index("^") - 8
        assert shown.startswith(start)
        assert shown.endswith(end)
        assert text[column - 1 :].startswith(shown[at : at + 3])


@given(st.text(max_size=200), st.integers(1, 210), st.integers(10, 90))
def test_any_line_has_its_caret_within_the_width(line: str, column: int, width: int) -> None:
    for number in range(1, len(lines_of(line)) + 1):
        excerpt = excerpt_of(line, number, column, width)
        if excerpt is None:
            assert not line
            continue
        assert excerpt.line.isprintable()
        assert excerpt.caret.endswith("^")
        assert excerpt.caret.count("^") == 1
        assert cell_len(excerpt.line) <= max(width, 40)
        assert cell_len(excerpt.caret) <= max(width, 40)


def test_lines_end_where_the_parser_has_them_end() -> None:
    text = "floodmark: 1\r\n# a\x85# b\u2028# c\rnonsense: 2\n"
    with pytest.raises(PlaybookError) as refused:
        loads(text, "odd.yaml")
    problem = next(each for each in refused.value.problems if each.key == "nonsense")
    assert lines_of(text)[problem.line - 1] == "nonsense: 2"


def test_an_error_keeps_the_text_it_is_about(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(BAD)
    with pytest.raises(PlaybookError) as refused:
        load(tmp_path / "bad.yaml")
    assert refused.value.texts == {str(tmp_path / "bad.yaml"): BAD}
    again = pickle.loads(pickle.dumps(refused.value))
    assert (again.problems, again.texts) == (refused.value.problems, refused.value.texts)


def test_a_path_with_control_characters_is_reported_on_one_line() -> None:
    assert str(Problem("a\nb\x1b.yaml", 1, 2, "", "found")) == "a\\nb\\x1b.yaml:1:2: found"


def test_a_folder_gives_the_same_files_as_to_run(typed: Type, here: Path) -> None:
    for name in ("a/z.yml", "a/C.YAML", "b.yaml"):
        (here / "suite" / name).parent.mkdir(parents=True, exist_ok=True)
        (here / "suite" / name).write_text(CRASH)
    os.mkfifo(here / "suite" / "pipe.yaml")
    done = typed("check", "suite")
    assert done.code == 0
    told = [line.partition(":")[0] for line in done.err.splitlines() if ": valid" in line]
    assert told == [str(path) for path in playbooks_under(Path("suite"))]
    assert told == ["suite/a/C.YAML", "suite/a/z.yml", "suite/b.yaml"]

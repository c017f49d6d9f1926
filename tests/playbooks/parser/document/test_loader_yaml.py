import pytest
from syrupy.assertion import SnapshotAssertion

from playbooks.parser.document.yaml_source import (
    MAX_ALIASES,
    MAX_BYTES,
    Mapping,
    Node,
    Scalar,
    Sequence,
    compose,
    decode,
)
from tests.support.mistakes import messages, mistakes_of, places


def read(text: str) -> Node:
    node, problems = compose(text, "f.yaml")
    assert problems == []
    return node


def test_places_of_keys_and_values() -> None:
    root = read("a: 1\nbc:\n  - {d: 'x y'}\n")
    assert isinstance(root, Mapping)
    key, value = root.entries["bc"]
    assert (key.line, key.column) == (2, 1)
    assert isinstance(value, Sequence)
    inner = value.items[0]
    assert isinstance(inner, Mapping)
    text = inner.get("d")
    assert isinstance(text, Scalar)
    assert (text.line, text.column, text.exact, text.text, text.plain) == (3, 9, 10, "x y", False)


@pytest.mark.parametrize("word", ["on", "off", "yes", "no", "3.10", "0777", "1_000", "12:30:45", "0x1F", "1e3", "NaN"])
def test_nothing_is_guessed(word: str) -> None:
    root = read(f"a: {word}\n")
    assert isinstance(root, Mapping)
    value = root.get("a")
    assert isinstance(value, Scalar)
    assert value.text == word


@pytest.mark.parametrize("text", ["a: >-\n  x\n  y\n", "a: 'it''s'\n", 'a: "\\x41"\n', "a: x\n  y\n"])
def test_texts_that_the_file_shows_otherwise_have_no_inner_columns(text: str) -> None:
    root = read(text)
    assert isinstance(root, Mapping)
    value = root.get("a")
    assert isinstance(value, Scalar)
    assert value.exact == 0


def test_yaml_aliases_equal_their_anchors() -> None:
    root = read("a: &x [1, 2]\nb: *x\n")
    assert isinstance(root, Mapping)
    assert root.get("a") == root.get("b")


REFUSED = {
    "an alias without an anchor": ("a: *x\n", "f.yaml:1:4"),
    "an alias inside its anchor": ("&x [*x]\n", "f.yaml:1:5"),
    "too many aliases": ("a: &x 1\nb: [" + "*x, " * (MAX_ALIASES + 1) + "]\n", "f.yaml:2:805"),
    "too deep by an alias": (
        "a: &x " + "[" * 30 + "]" * 30 + "\nb: " + "[" * 20 + "*x" + "]" * 20 + "\n",
        "f.yaml:2:24",
    ),
    "too deep": ("[" * 50_000, "f.yaml:1:42"),
    "too many values": ("- a\n" * 210_000, "f.yaml:200000:3"),
    "a list as a key": ("? [a]\n: b\n", "f.yaml:1:3"),
    "half a surrogate pair": ('a: "\\ud800"\n', "f.yaml:1:4"),
    "an escape out of range": ('a: "\\U99999999"\n', "f.yaml:1:7"),
    "a number out of range": ("%YAML " + "9" * 5000 + ".1\n---\na\n", "f.yaml:1:7"),
    "a control character": ("a: \x00\n", "f.yaml:1:4"),
    "an open list": ("a: [1\n", "f.yaml:2:1"),
    "a tag of YAML's": ("a: !!str b\n", "f.yaml:1:4"),
    "a tag": ("a: !mine b\n", "f.yaml:1:4"),
    "a second document": ("--- a\n--- b\n", "f.yaml:2:1"),
    "nothing": ("", "f.yaml:1:1"),
    "too many bytes": ("x" * (MAX_BYTES + 1), "f.yaml:1:1"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", REFUSED)
def test_invalid_yaml_is_rejected(name: str, snapshot: SnapshotAssertion) -> None:
    text, place = REFUSED[name]
    problems = mistakes_of(lambda: compose(text, "f.yaml"))
    assert places(problems) == [place]
    assert messages(problems) == snapshot


def test_bytes_that_are_no_utf8_are_refused_at_their_place(snapshot: SnapshotAssertion) -> None:
    problems = mistakes_of(lambda: decode("ä: b\nö: ".encode() + b"\xff", "f"))
    assert places(problems) == ["f:2:4"]
    assert messages(problems) == snapshot


def test_a_byte_order_mark_is_not_part_of_the_text() -> None:
    assert decode(b"\xef\xbb\xbfa: 1", "f") == "a: 1"

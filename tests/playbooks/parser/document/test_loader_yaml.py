import pytest

from playbooks.errors import PlaybookError
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


def read(text: str) -> Node:
    node, problems = compose(text, "f.yaml")
    assert problems == []
    return node


def refused(text: str) -> str:
    with pytest.raises(PlaybookError) as caught:
        compose(text, "f.yaml")
    return str(caught.value)


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


def test_aliases_stand_for_their_anchors() -> None:
    root = read("a: &x [1, 2]\nb: *x\n")
    assert isinstance(root, Mapping)
    assert root.get("a") == root.get("b")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: *x\n", "f.yaml:1:4: found the alias 'x', but nothing before it has that anchor"),
        ("&x [*x]\n", "inside what it stands for"),
        ("a: &x 1\nb: [" + "*x, " * (MAX_ALIASES + 1) + "]\n", f"more than {MAX_ALIASES} aliases"),
        ("a: &x " + "[" * 30 + "]" * 30 + "\nb: " + "[" * 20 + "*x" + "]" * 20 + "\n", "nested deeper than 40"),
        ("[" * 50_000, "nested deeper than 40"),
        ("- a\n" * 60_000, "more than 50000 values"),
        ("? [a]\n: b\n", "found a list as a key"),
        ('a: "\\ud800"\n', "half of a surrogate pair"),
        ('a: "\\U99999999"\n', "escape or number out of range"),
        ("%YAML " + "9" * 5000 + ".1\n---\na\n", "escape or number out of range"),
        ("a: \x00\n", "f.yaml:1:4: found a character that YAML does not allow"),
        ("a: [1\n", "not YAML"),
        ("a: !!str b\n", "found the tag"),
        ("a: !mine b\n", "found the tag '!mine'"),
        ("--- a\n--- b\n", "second document"),
        ("", "found an empty file"),
        ("x" * (MAX_BYTES + 1), "the most allowed"),
    ],
)
def test_what_is_refused(text: str, said: str) -> None:
    assert said in refused(text)


def test_bytes_that_are_no_utf8_are_refused_at_their_place() -> None:
    with pytest.raises(PlaybookError, match=r"^f:2:4: found the byte 0xff, allowed is UTF-8 text$"):
        decode("ä: b\nö: ".encode() + b"\xff", "f")


def test_a_byte_order_mark_is_not_part_of_the_text() -> None:
    assert decode(b"\xef\xbb\xbfa: 1", "f") == "a: 1"

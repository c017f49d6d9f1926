"""What has no picture is spelled out."""

import json

import pytest

from playbooks.text import json_text, printable, printable_json


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("orders-ä", "orders-ä"),
        ("a\u00a0b", "a\\xa0b"),
        ("a\x1b[31mb", "a\\x1b[31mb"),
        ("a\nb\tc", "a\\nb\\tc"),
        ("a\u202eb\u200d", "a\\u202eb\\u200d"),
        ("a\ud800b", "a\\ud800b"),
        ("\u2028\U000e0001", "\\u2028\\U000e0001"),
    ],
)
def test_unprintable_characters_are_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_lines_may_stay() -> None:
    assert printable("a\nb\x1b\r", "\n") == "a\nb\\x1b\\r"


@pytest.mark.parametrize("text", ["ä", "\u202e", "\U000e0001", "\x1b\n", "x\u00a0"])
def test_a_document_says_the_same_and_shows_nothing_else(text: str) -> None:
    told = json_text({text: [text]}, indent=1)
    assert json.loads(told) == {text: [text]}
    assert all(each.isprintable() or each == "\n" for each in told)
    assert printable_json(told) == told
    assert ("ä" in told) == (text == "ä")

"""Tests of behaviour assert codes and fields; sentences are compared with golden files, which one command renews."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
SENTENCE = 4
"""So many words make a literal a sentence."""
LOOKS_INTO = {
    *("startswith", "endswith", "removeprefix", "removesuffix", "count", "index", "find", "split", "partition"),
    *("match", "search", "fullmatch", "findall"),
    *("set", "frozenset", "sorted", "list", "tuple", "dict", "len", "any", "all"),
}
"""What is handed to these is compared; what is handed to other functions is the input of what is tested."""


def sentences(tree: ast.Module) -> Iterator[int]:
    """Lines of the assertions that hold a sentence."""
    for node in ast.walk(tree):
        compared = [node.test] if isinstance(node, ast.Assert) else []
        if isinstance(node, ast.Call):
            compared = [each.value for each in node.keywords if each.arg == "match"]
        if any(map(is_compared, compared)):
            yield node.lineno


def is_compared(node: ast.AST) -> bool:
    """Whether a sentence is among what an expression compares."""
    if is_sentence(node):
        return True
    if not isinstance(node, ast.Call):
        return any(map(is_compared, ast.iter_child_nodes(node)))
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    values = [*node.args, *(each.value for each in node.keywords)]
    looked_at = values if name in LOOKS_INTO or name[:1].isupper() else []
    return any(map(is_compared, [node.func, *looked_at]))


def is_sentence(node: ast.AST) -> bool:
    if isinstance(node, ast.JoinedStr):
        text = "".join(str(part.value) if isinstance(part, ast.Constant) else "0" for part in node.values)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        text = node.value
    else:
        return False
    return sum(any(map(str.isalpha, word)) for word in text.split()) >= SENTENCE


@pytest.mark.slow
def test_no_assertion_holds_a_sentence() -> None:
    found = [
        f"{path.relative_to(TESTS.parent)}:{line}: assert a code or a field, or compare the text with `snapshot`"
        for path in sorted(TESTS.rglob("*.py"))
        for line in sentences(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert found == []


def test_sentences_are_found() -> None:
    text = """
assert text == "four words are enough"
assert f"broker {broker} is the leader" in text
assert lines == ["one", ("two", "and here it is")]
assert told.startswith("what was found is")
assert found == Finding("lost", sentence="nobody had it any more")
with pytest.raises(ValueError, match=r"found .*, expected a number"): ...
"""
    assert [*sentences(ast.parse(text))] == [2, 3, 4, 5, 6, 7]


def test_input_and_names_are_none() -> None:
    text = """
assert words("how many are these here") == 5
assert parse("a > 1 and b > 2").names == ["a", "b"]
assert code == "no_such_session" and kind == "three words only"
assert path == "/one/two/three four/five"
"""
    assert [*sentences(ast.parse(text))] == []

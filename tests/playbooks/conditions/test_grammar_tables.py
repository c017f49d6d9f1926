"""The parser of conditions is read from a file, and is the one that its grammar gives."""

import pytest
from lark import Lark

from playbooks.conditions import grammar
from playbooks.conditions.grammar import TABLES, build_parser, read_parser, write_parser

TEXTS = (
    "acked_lost() == 0", "not up(1) and (lag('g', orders-0) + 2 * 3 > 5s or leader(orders-0) in [1, 2])",
    "x not in [true, false, 'a b', \"c\"]", "-1 - sent()-1 % 7 <= 2.5ms / 1 or a != b",
)  # fmt: skip


@pytest.fixture(autouse=True)
def fresh():
    grammar._parser.cache_clear()
    yield
    grammar._parser.cache_clear()


def test_the_file_is_of_this_grammar_and_this_lark():
    assert read_parser(TABLES) is not None, "run: python -m playbooks.conditions.grammar"


@pytest.mark.slow
@pytest.mark.parametrize("text", TEXTS)
def test_the_stored_parser_equals_a_built_one(text):
    read = read_parser(TABLES)
    assert read is not None
    ours, built = read.parse(text), build_parser().parse(text)
    assert ours == built
    assert [each.meta.column for each in ours.iter_subtrees()] == [each.meta.column for each in built.iter_subtrees()]


def test_no_grammar_is_made_out_where_the_file_serves(monkeypatch):
    monkeypatch.setattr(Lark, "__init__", None)
    assert grammar.parse_tree("acked_lost() == 0")


@pytest.mark.parametrize(("name", "other"), [("lark.__version__", "0.0"), ("GRAMMAR", grammar.GRAMMAR + "\n")])
def test_a_file_of_something_else_is_not_taken(monkeypatch, tmp_path, name, other):
    place = tmp_path / "tables"
    with monkeypatch.context() as patched:
        patched.setattr(f"playbooks.conditions.grammar.{name}", other)
        write_parser(place)
        assert read_parser(place) is not None
    assert read_parser(place) is None
    monkeypatch.setattr(grammar, "TABLES", place)
    assert grammar.parse_tree("acked_lost() == 0")

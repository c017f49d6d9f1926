"""Tables and lines on a terminal: nothing is wider than it, and words stay whole where they can."""

import re
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from tui.output.console import print_line, print_parts, table

NAME = "replica.high.watermark.checkpoint.interval.ms"
TEXT = "How often the high watermark is written to disk, in milliseconds. Takes 1 or more."


def drawn(width: int, name: str) -> list[str]:
    out = StringIO()
    table(Console(file=out, force_terminal=True, width=width, no_color=True), ("name", "what"), [(name, TEXT)])
    return out.getvalue().splitlines()


@pytest.mark.parametrize("width", [80, 120])
def test_a_name_stays_whole(width: int) -> None:
    lines = drawn(width, NAME)
    assert any(NAME in line for line in lines)
    assert max(map(len, lines[2:])) <= width


def test_a_name_too_long_is_folded_and_nothing_of_it_lost() -> None:
    lines = drawn(80, NAME * 3)[3:]
    assert "".join(line[:40].strip() for line in lines) == NAME * 3
    assert max(map(len, lines)) <= 80


def on_a_terminal(width: int) -> tuple[Console, StringIO]:
    out = StringIO()
    return Console(file=out, force_terminal=True, width=width, no_color=True, soft_wrap=True, highlight=False), out


def plain(out: StringIO) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue())


WORDS = st.lists(st.text(alphabet="abc-_=[](), :", min_size=0, max_size=12), min_size=1, max_size=20).map(" ".join)


@given(text=WORDS, width=st.integers(20, 60))
def test_a_long_line_breaks_between_words_and_loses_none(text: str, width: int) -> None:
    console, out = on_a_terminal(width)
    print_line(console, text)
    lines = out.getvalue().splitlines() or [""]
    assert " ".join(lines).split() == text.split()
    longest = max(map(len, text.split()), default=0)
    assert max(map(len, lines)) <= max(width, longest)


def test_further_lines_are_indented_to_the_text() -> None:
    console, out = on_a_terminal(30)
    print_parts(console, [("ok       ", "green"), ("acked_lost(clicks) > 0  ", ""), ("(it is 5)", "dim")])
    print_line(console, "     1.000s  broker 1 died, and broker 2 leads")
    assert plain(out).splitlines() == [
        "ok       acked_lost(clicks) >",
        "         0  (it is 5)",
        "     1.000s  broker 1 died,",
        "             and broker 2",
        "             leads",
    ]


def test_a_path_is_never_cut_and_a_pipe_gets_one_line() -> None:
    console, out = on_a_terminal(30)
    path = "/somewhere/else/session_id=2026"
    print_line(console, f"session  {path}")
    assert out.getvalue().splitlines() == ["session", path]
    piped = StringIO()
    print_line(Console(file=piped, soft_wrap=True), f"session  {path} and {path}")
    assert piped.getvalue().splitlines() == [f"session  {path} and {path}"]


def test_columns_that_do_not_fit_go_to_a_second_table() -> None:
    heads = ("producer", *(f"column-{number}" for number in range(8)))
    console, out = on_a_terminal(60)
    table(console, heads, [("checkout", *(str(number) * 7 for number in range(8)))])
    lines = [line.split() for line in plain(out).splitlines() if line.strip(" ─")]
    assert [line[0] for line in lines] == ["producer", "checkout"] * 2
    assert [word for line in lines[0::2] for word in line[1:]] == [*heads[1:]]
    assert max(map(len, plain(out).splitlines())) <= 60

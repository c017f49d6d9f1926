"""Tables on a terminal: nothing is wider than it, and names stay whole where they can."""

from io import StringIO

import pytest
from rich.console import Console

from tui.output.console import table

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

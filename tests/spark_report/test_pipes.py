"""A reader that leaves is no error, and what it reads first is not an empty line."""

import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import pytest
from rich.console import Console

from spark_report import job
from spark_report.job import Stages
from spark_report.render import text
from tests.spark_report.stories import story


@pytest.fixture
def left() -> Iterator[TextIO]:
    """A pipe whose reader has gone."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as stream:
        yield stream


def test_a_terminal_report_ends_well_without_its_reader(tmp_path: Path, left: TextIO) -> None:
    console = job.PipeSafeConsole(file=left)
    text.show_in_terminal(console, story(tmp_path))
    assert console.quiet
    # What is left in the buffer goes nowhere.
    left.write("more")
    left.flush()


def test_stages_continue_without_their_reader(left: TextIO) -> None:
    stages = Stages(left)
    stages("one")
    stages("two")
    left.write("more")
    left.flush()


def test_a_line_reaches_its_reader() -> None:
    stream = io.StringIO()
    job.say("a line", stream)
    assert stream.getvalue() == "a line\n"


@pytest.mark.slow
@pytest.mark.parametrize("sessions", [1, 2])
def test_the_first_line_says_something(tmp_path: Path, sessions: int) -> None:
    stream = io.StringIO()
    text.show_in_terminal(Console(file=stream, width=100), story(tmp_path, sessions=sessions))
    assert stream.getvalue().splitlines()[0].strip()

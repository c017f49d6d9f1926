"""Progress speaks only about what takes long."""

import io

from rich.console import Console

from tui.output.console import PATIENCE_S, ProgressLine


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_pipe_gets_no_progress() -> None:
    clock = Clock()
    out = io.StringIO()
    with ProgressLine(Console(file=out), clock) as telling:
        for tenths in range(int(100 * PATIENCE_S)):
            clock.now = tenths / 10
            telling.update(lambda: f"at {clock.now}")
    assert out.getvalue() == ""


def test_on_a_terminal_one_line_moves_and_is_taken_away() -> None:
    clock = Clock()
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=60)
    with ProgressLine(console, clock) as telling:
        telling.update(lambda: "too early")
        clock.now = PATIENCE_S
        telling.update(lambda: "first [not markup]")
        telling.update(lambda: "second")
    assert "too early" not in out.getvalue()
    assert "second" in out.getvalue()
    assert out.getvalue().endswith("\x1b[2K")

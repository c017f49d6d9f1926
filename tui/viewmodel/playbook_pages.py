"""A playbook's text, line by line, with what has become of each step: done, next, left out."""

from dataclasses import dataclass
from textwrap import wrap
from typing import Final

from playbooks.model.playbook import Playbook, Step
from playbooks.model.wording import step_of, step_words
from playbooks.units import duration_text
from tui.terminal import glyphs
from tui.terminal.format import clock, duration
from tui.viewmodel.row import Row

_BODY: Final = ("stepping:", "cluster:", "topics:")


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a session stands among the steps of its playbook."""

    taken: int
    """How many steps acted."""
    next: int
    """Index of the step that comes next, -1 for none."""
    due_us: int
    """When it acts by the clock, or stops waiting; -1 for never."""
    now_us: int
    phase: str


@dataclass(frozen=True, slots=True)
class Marks:
    """Lines of a file, from 1, that have a mark."""

    glyphs: dict[int, tuple[str, str]]
    running: tuple[int, int]
    """The first and last line of the step that comes next; (0, 0) for none."""


def marks(playbook: Playbook, progress: Progress | None) -> Marks:
    """The mark of each step's first line; none where the playbook does not run."""
    if progress is None:
        return Marks({}, (0, 0))
    found: dict[int, tuple[str, str]] = {}
    left_out = progress.next < 0
    for number, step in enumerate(playbook.steps):
        if number < progress.taken:
            found[step.where.line] = (glyphs.OK, "calm")
        elif left_out:
            found.setdefault(step.where.line, (glyphs.DOWN, "quiet"))
    running = (0, 0)
    if not left_out:
        line = playbook.steps[progress.taken].where.line
        found[line] = (glyphs.PLAY, "warning")
        running = (line, _last_line(playbook, line))
    return Marks(found, running)


def _last_line(playbook: Playbook, line: int) -> int:
    """The last line of the step that begins at a line: before the next step, or before the next key."""
    lines = playbook.source.splitlines()
    begins = {step.where.line for step in playbook.steps}
    last = line
    for number in range(line + 1, len(lines) + 1):
        text = lines[number - 1]
        if number in begins or (text and not text.startswith((" ", "-", "#"))):
            break
        if text.strip() and not text.strip().startswith("#"):
            last = number
    return last


def source(playbook: Playbook, progress: Progress | None) -> tuple[Row, ...]:
    """All lines, each behind its mark and its number."""
    found = marks(playbook, progress)
    lines = playbook.source.splitlines()
    digits = len(str(len(lines)))
    first, last = found.running
    rows = []
    for number, line in enumerate(lines, 1):
        glyph, role = found.glyphs.get(number, (" ", "text"))
        runs = first <= number <= last
        text = "strong" if runs else "quiet" if line.lstrip().startswith("#") else "text"
        rows.append(Row(((f"{glyph} ", role), (f"{number:>{digits}} ", "faint"), (line, text)), chosen=runs))
    return tuple(rows)


def first_line(playbook: Playbook, progress: Progress | None, height: int) -> int:
    """Where a window of so many lines begins that follows the steps: the running one a third from above.

    Of a playbook that does not run it begins where its cluster does: what stands before is told elsewhere.
    """
    lines = playbook.source.splitlines()
    first, _last = marks(playbook, progress).running
    cluster = next((number for number, line in enumerate(lines) if line.startswith(_BODY)), 0)
    wanted = first - 1 - height // 3 if first else cluster
    return max(0, min(wanted, len(lines) - height))


def told(playbook: Playbook, progress: Progress) -> str:
    """Where it stands, in one line."""
    steps = playbook.steps
    if progress.phase == "ended":
        return "it is over"
    if progress.phase == "settling":
        return "it settles: producers have stopped, faults are healed"
    if not steps:
        return "it has no steps: what happens is your doing"
    if progress.next < 0:
        left = len(steps) - progress.taken
        return "all steps are done" if not left else f"{progress.taken} of {len(steps)} steps done, the rest left out"
    step = steps[progress.taken]
    return f"next {step_of(step, steps)}, {step_words(step)}: {_when(step, progress)}"


def _when(step: Step, progress: Progress) -> str:
    left = f"in {duration(max(0, progress.due_us - progress.now_us))}"
    if step.trigger.kind != "when":
        return f"at {clock(progress.due_us)}, {left}"
    asked = f"waits for {step.trigger.condition.text if step.trigger.condition else ''}"
    return f"{asked}, gives up {left}" if progress.due_us >= 0 else asked


def about(playbook: Playbook, progress: Progress | None, width: int, height: int) -> tuple[Row, ...]:
    """Title, where it stands, and as much of the story as fits."""
    parts: list[tuple[str, str]] = [(line, "strong") for line in wrap(playbook.title or playbook.name, width)]
    if progress is not None:
        parts += [(line, "warning") for line in wrap(told(playbook, progress), width)]
    elif playbook.spec.manual:
        parts.append((f"stepped by hand, time stands still: play it with floodmark run {playbook.name}", "warning"))
    else:
        parts.append((f"seed {playbook.seed}, {_length(playbook)}", "quiet"))
    parts += [(line, "text") for line in wrap(playbook.story, width)]
    if len(parts) > height > 0:
        parts[height - 1 :] = [(parts[height - 1][0][: max(0, width - 1)] + "…", parts[height - 1][1])]
    return tuple(Row((part,)) for part in parts)


def _length(playbook: Playbook) -> str:
    steps = f"{len(playbook.steps)} step{'' if len(playbook.steps) == 1 else 's'}"
    return f"{steps}, {len(playbook.expectations)} expected, {duration_text(playbook.settle_us)} of quiet at the end"

"""How a record looks in a log, wherever logs are drawn: one character and its role."""

from cluster_model.observation.views import Run
from tui.terminal import glyphs
from tui.terminal.theme import EPOCHS


def record_look(run: Run, *, sure: bool) -> tuple[str, str]:
    """A record of a run; ``sure``: below its replica's own high watermark. What is wrong with it comes first."""
    if run.lost:
        return glyphs.LOST, "lost"
    if run.diverged:
        return glyphs.DIVERGED, "diverged_cell"
    hue = run.epoch % len(EPOCHS)
    return (str(run.epoch % 10), f"epoch{hue}") if sure else (glyphs.ABOVE_HW, f"above{hue}")

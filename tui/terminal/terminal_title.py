"""The session in the title of the terminal, for whoever looks at another window."""

from cluster_model.observation.views import ClusterView
from tui.terminal import glyphs
from tui.terminal.format import clock


def title(view: ClusterView, *, running: bool) -> str:
    """``floodmark ▶ 00:53 †4``: whether time runs, how far it is, and the acknowledged records that are missing."""
    lost = max(view.ledger.missing, view.ledger.acked_lost)
    state = glyphs.PLAY if running else glyphs.PAUSED
    return f"floodmark {state} {clock(view.now_us)[:-4]}{f' {glyphs.LOST}{lost}' if lost else ''}"

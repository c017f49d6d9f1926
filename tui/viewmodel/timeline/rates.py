"""Records per virtual second, over the last two seconds or so."""

from collections import deque
from typing import Final

from cluster_model.observation.views import ClusterView

SPAN_US: Final = 2_000_000
"""How far back a rate looks, in virtual time."""
_STEP_US: Final = 100_000


class Rates:
    """Remembers the books of a few instants and tells how fast they grow."""

    def __init__(self) -> None:
        self._books: deque[tuple[int, dict[str, int]]] = deque()

    def of(self, view: ClusterView) -> dict[str, float]:
        """Producers' acked and groups' read records per virtual second, by name; empty before time has passed."""
        now = {each.name: each.acked for each in view.producers} | {each.name: each.read for each in view.groups}
        if not self._books or view.now_us - self._books[-1][0] >= _STEP_US:
            self._books.append((view.now_us, now))
        while len(self._books) > 2 and self._books[1][0] <= view.now_us - SPAN_US:
            self._books.popleft()
        at_us, then = self._books[0]
        if view.now_us <= at_us:
            return {}
        return {name: (value - then.get(name, 0)) * 1e6 / (view.now_us - at_us) for name, value in now.items()}

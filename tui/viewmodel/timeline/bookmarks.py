"""Instants that somebody wants to come back to, each of one branch."""

from collections.abc import Iterator
from dataclasses import dataclass

from tui.terminal.format import clock


@dataclass(frozen=True, slots=True, order=True)
class Bookmark:
    """An instant of a branch."""

    at_us: int
    letter: str

    @property
    def words(self) -> str:
        """As the list and the palette write it."""
        return f"{clock(self.at_us)}  {self.letter}"


class Bookmarks:
    """In the order of their time."""

    def __init__(self) -> None:
        self._kept: list[Bookmark] = []

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[Bookmark]:
        return iter(self._kept)

    def __getitem__(self, place: int) -> Bookmark:
        return self._kept[place]

    def put(self, mark: Bookmark) -> bool:
        """Keep one; False when it is there already."""
        if mark in self._kept:
            return False
        self._kept = sorted([*self._kept, mark])
        return True

    def drop(self, mark: Bookmark) -> None:
        """Forget one."""
        self._kept.remove(mark)

"""What regular expressions are made of: parts that take where a match may stand to where it may stand behind them.

Where in a text that is is a number whose bits are positions, so that no part is ever tried twice at one place.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

LONGEST_TOPIC: Final = 249

Test = Callable[[str], bool]


class Text:
    """What is looked at; a part's characters are found once."""

    __slots__ = ("_masks", "size", "value")

    def __init__(self, value: str) -> None:
        self.value = value
        self.size = len(value)
        self._masks: dict[int, int] = {}

    def mask(self, leaf: int, test: Test) -> int:
        """Positions of characters that pass a leaf's test."""
        found = self._masks.get(leaf)
        if found is None:
            found = sum(1 << place for place, char in enumerate(self.value) if test(char))
            self._masks[leaf] = found
        return found


class Part(NamedTuple):
    """Where a match may begin → where it may end; and how many steps that takes at most."""

    run: Callable[[Text, int], int]
    cost: int


def one_after_the_other(parts: list[Part]) -> Part:
    """Each behind the one before."""

    def run(text: Text, at: int) -> int:
        for part in parts:
            at = part.run(text, at)
        return at

    return parts[0] if len(parts) == 1 else Part(run, 1 + sum(part.cost for part in parts))


def either(parts: list[Part]) -> Part:
    """Any of them."""

    def run(text: Text, at: int) -> int:
        found = 0
        for part in parts:
            found |= part.run(text, at)
        return found

    return parts[0] if len(parts) == 1 else Part(run, 1 + sum(part.cost for part in parts))


def repeated(part: Part, least: int, most: int) -> Part:
    """``most`` -1: as often as may be."""

    def run(text: Text, at: int) -> int:
        for _turn in range(least):
            at = part.run(text, at)
        found = new = at
        left = text.size + 1 if most < 0 else most - least
        while new and left:
            new = part.run(text, new) & ~found
            found |= new
            left -= 1
        return found

    return Part(run, 1 + part.cost * (least + LONGEST_TOPIC if most < 0 else max(1, most)))


def start(_text: Text, at: int) -> int:
    """Only at the beginning."""
    return at & 1


def end(text: Text, at: int) -> int:
    """Only at the end."""
    return at & (1 << text.size)


def _boundaries(text: Text) -> int:
    inside = [is_word(char) for char in text.value]
    changes = zip([False, *inside], [*inside, False], strict=True)
    return sum(1 << place for place, (before, after) in enumerate(changes) if before != after)


def boundary(text: Text, at: int) -> int:
    """Only between a character of a word and another one."""
    return at & _boundaries(text)


def no_boundary(text: Text, at: int) -> int:
    """Only elsewhere."""
    return at & ~_boundaries(text)


def is_word(char: str) -> bool:
    """Of a word: ASCII alone, as everywhere in RE2."""
    return char == "_" or (char.isascii() and char.isalnum())


def is_digit(char: str) -> bool:
    """A digit."""
    return "0" <= char <= "9"


def is_space(char: str) -> bool:
    """Space."""
    return char in "\t\n\f\r "


def anything(char: str) -> bool:
    """A dot."""
    return char != "\n"


def folded(test: Test) -> Test:
    """The same for upper and lower case."""
    return lambda char: test(char.lower()) or test(char.upper())


def negation(test: Test) -> Test:
    """What does not pass."""
    return lambda char: not test(char)

"""Regular expressions of subscriptions in RE2 syntax (RE2/J), matched within bounds of time.

Members send them, real ones too, so none may hold the coordinator up: there is no backtracking.
"""

import unicodedata
from collections.abc import Callable
from functools import lru_cache
from typing import Final, NamedTuple

# What regular expressions are made of: parts that take where a match may stand to where it may stand behind them.
#
# Where in a text that is is a number whose bits are positions, so that no part is ever tried twice at one place.


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


DEAREST: Final = 1_000_000
"""Steps that an expression may need for one topic; RE2/J knows other limits to the same end."""
LONGEST: Final = 4_000
"""Characters: expressions are kept, and nobody's may fill the memory."""
DEEPEST: Final = 100
"""Groups within groups."""
MOST: Final = 1_000
"""Counted repetitions (``RE2_MAX_REPEAT``)."""
_LAST_CHARACTER: Final = 0x10FFFF


class PatternError(ValueError):
    """It is no regular expression, or a dearer one than is taken; the message says where."""


@lru_cache(maxsize=32)
def parsed(pattern: str) -> Part:
    """The expression.

    Raises:
        PatternError: see there.
    """
    if len(pattern) > LONGEST:
        raise PatternError(f"found {len(pattern)} characters, the last one that is read is at {LONGEST}")
    parser = _Parser(pattern)
    part = parser.alternation(0)
    if parser.at < len(pattern):
        raise PatternError(f"found ) at {parser.at} without its (")
    return part


def is_regular(pattern: str) -> bool:
    """Whether a coordinator takes it."""
    try:
        parsed(pattern)
    except PatternError:
        return False
    return True


def matches(pattern: str, topic: str) -> bool:
    """Whether the whole of a topic's name is what an expression says."""
    text = Text(topic)
    return bool(parsed(pattern).run(text, 1) >> text.size)


_PERL: Final[dict[str, Test]] = {"d": is_digit, "w": is_word, "s": is_space}
_PERL.update({name.upper(): negation(test) for name, test in tuple(_PERL.items())})
_CONTROLS: Final = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_PLACES: Final = {
    "A": Part(start, 1), "z": Part(end, 1), "b": Part(boundary, 4), "B": Part(no_boundary, 4),
}  # fmt: skip
_POSIX: Final[dict[str, Test]] = {
    "alnum": lambda char: char.isascii() and char.isalnum(),
    "alpha": lambda char: char.isascii() and char.isalpha(),
    "digit": is_digit,
    "lower": lambda char: "a" <= char <= "z",
    "punct": lambda char: "!" <= char <= "~" and not char.isalnum(),
    "space": is_space,
    "upper": lambda char: "A" <= char <= "Z",
    "word": is_word,
    "xdigit": lambda char: char in "0123456789abcdefABCDEF",
}


# -- reading -----------------------------------------------------------------------------------------------------------


class _Parser:
    """Reads an expression from left to right."""

    def __init__(self, pattern: str) -> None:
        self.at = 0
        self._pattern = pattern
        self._folds = False
        """Whether upper and lower case are the same here."""
        self._leaves = 0

    def _wrong(self, what: str) -> PatternError:
        return PatternError(f"found {what} at {self.at}")

    def _next(self) -> str:
        return self._pattern[self.at : self.at + 1]

    def _takes(self, text: str) -> bool:
        if not self._pattern.startswith(text, self.at):
            return False
        self.at += len(text)
        return True

    def _until(self, end: str) -> str:
        place = self._pattern.find(end, self.at)
        if place < 0:
            raise self._wrong(f"no {end}")
        found, self.at = self._pattern[self.at : place], place + len(end)
        return found

    def alternation(self, depth: int) -> Part:
        """Up to the end of the group."""
        if depth > DEEPEST:
            raise self._wrong("too many groups within each other")
        folds = self._folds
        branches = [self._sequence(depth)]
        while self._takes("|"):
            branches.append(self._sequence(depth))
        self._folds = folds
        return self._bounded(either(branches))

    def _bounded(self, part: Part) -> Part:
        if part.cost > DEAREST:
            raise self._wrong("more repetition than is taken")
        return part

    def _sequence(self, depth: int) -> Part:
        parts: list[Part] = []
        while self._next() not in ("", "|", ")"):
            parts += self._atoms(depth)
            if parts:
                parts[-1] = self._bounded(self._quantified(parts[-1]))
        return one_after_the_other(parts) if parts else Part(lambda _text, at: at, 1)

    def _quantified(self, atom: Part) -> Part:
        counts = self._count()
        if counts is None:
            return atom
        self._takes("?")  # which match is preferred makes no difference here
        if self._count() is not None:
            raise self._wrong("a repetition of a repetition")
        return repeated(atom, *counts)

    def _count(self) -> tuple[int, int] | None:
        for sign, counts in (("*", (0, -1)), ("+", (1, -1)), ("?", (0, 1))):
            if self._takes(sign):
                return counts
        if self._next() != "{":
            return None
        inside, brace, _rest = self._pattern[self.at + 1 : self.at + 12].partition("}")
        low, comma, high = inside.partition(",")
        if not brace or not _is_number(low) or (high and not _is_number(high)):
            return None  # a brace like any character
        self.at += len(inside) + 2
        least = int(low)
        most = (int(high) if high else -1) if comma else least
        if least > MOST or most > MOST or -1 < most < least:
            raise self._wrong("such a number of repetitions")
        return least, most

    def _atoms(self, depth: int) -> list[Part]:
        """One, unless it is a quotation or nothing but flags."""
        char = self._next()
        self.at += 1
        if char == "(":
            return self._group(depth)
        if char == "[":
            return [self._leaf(self._class())]
        if char == ".":
            return [self._leaf(anything)]
        if char in ("^", "$"):
            return [_PLACES["A" if char == "^" else "z"]]
        if char in ("*", "+", "?"):
            raise self._wrong("nothing to repeat")
        if char != "\\":
            return [self._one(char)]
        if self._takes("Q"):
            quoted, _end, rest = self._pattern[self.at :].partition("\\E")
            self.at = len(self._pattern) - len(rest)
            return [self._one(each) for each in quoted]
        if self._next() in _PLACES:
            self.at += 1
            return [_PLACES[self._pattern[self.at - 1]]]
        return [self._one(self._escape())]

    def _group(self, depth: int) -> list[Part]:
        folds = self._folds
        if self._takes("?"):
            if self._takes("P<") or self._takes("<"):
                if not _is_name(self._until(">")):
                    raise self._wrong("no name of a group")
            elif self._flags() == ")":
                return []
        part = self.alternation(depth + 1)
        if not self._takes(")"):
            raise self._wrong("no )")
        self._folds = folds
        return [part]

    def _flags(self) -> str:
        """``i``, ``m``, ``s`` and ``U``, on or off, for the rest of the group or for one of their own."""
        on = True
        while True:
            char = self._next()
            self.at += 1
            if char == "i":
                self._folds = on
            elif char == "-" and on:
                on = False
            elif char in (":", ")") and char:
                return char
            elif char not in ("m", "s", "U"):
                raise self._wrong("no flag")

    def _leaf(self, test: Test) -> Part:
        self._leaves += 1
        leaf = self._leaves
        return Part(lambda text, at: (at & text.mask(leaf, test)) << 1, 1)

    def _one(self, found: str | Test) -> Part:
        return self._leaf(self._in_any_case(_test(found)))

    def _in_any_case(self, test: Test) -> Test:
        return folded(test) if self._folds else test

    def _escape(self) -> str | Test:
        """Behind a backslash: one character, or a class."""
        char = self._next()
        self.at += 1
        if char in _PERL:
            return _PERL[char]
        if char in ("p", "P"):
            return self._category(negated=char == "P")
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char == "x":
            return self._hexadecimal()
        if not char or char.isalnum():
            raise self._wrong(f"\\{char}")
        return char

    def _argument(self, size: int) -> str:
        """Some characters, or any number of them in braces."""
        if self._takes("{"):
            return self._until("}")
        self.at += size
        return self._pattern[self.at - size : self.at]

    def _hexadecimal(self) -> str:
        digits = self._argument(2)
        if not digits or digits.strip("0123456789abcdefABCDEF") or int(digits, 16) > _LAST_CHARACTER:
            raise self._wrong("no number of a character")
        return chr(int(digits, 16))

    def _category(self, *, negated: bool) -> Test:
        name = self._argument(1)
        if name not in _CATEGORIES:
            raise self._wrong("no category of characters")

        def is_of_it(char: str) -> bool:
            return unicodedata.category(char).startswith(name)

        return negation(is_of_it) if negated else is_of_it

    def _class(self) -> Test:
        negated = self._takes("^")
        tests: list[Test] = []
        while not tests or self._next() != "]":
            if not self._next():
                raise self._wrong("no ]")
            tests.append(self._member())
        self.at += 1

        def is_one(char: str) -> bool:
            return any(test(char) for test in tests)

        test = self._in_any_case(is_one)
        return negation(test) if negated else test

    def _member(self) -> Test:
        """A character of a class, or a range of them, or a class in it."""
        if self._takes("[:"):
            negated, name = self._takes("^"), self._until(":]")
            if name not in _POSIX:
                raise self._wrong("no class of characters")
            return negation(_POSIX[name]) if negated else _POSIX[name]
        low = self._character()
        goes_on = self._next() == "-" and self._pattern[self.at + 1 : self.at + 2] not in ("", "]")
        if not goes_on or not isinstance(low, str):
            return _test(low)
        self.at += 1
        high = self._character()
        if not isinstance(high, str) or high < low:
            raise self._wrong("no range of characters")
        return lambda char: low <= char <= high

    def _character(self) -> str | Test:
        if self._takes("\\"):
            return self._escape()
        self.at += 1
        return self._pattern[self.at - 1]


def _test(found: str | Test) -> Test:
    return (lambda char: char == found) if isinstance(found, str) else found


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _is_name(text: str) -> bool:
    return bool(text) and all(is_word(char) for char in text)


_CATEGORIES: Final = {
    major + minor
    for major, minors in (
        ("L", "ultmo"),
        ("M", "nce"),
        ("N", "dlo"),
        ("P", "cdseifo"),
        ("S", "mcko"),
        ("Z", "slp"),
        ("C", "cfos"),
    )
    for minor in ("", *minors)
}

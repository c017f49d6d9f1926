"""The grammar of conditions, the types of the language, and its errors.

``python -m playbooks.conditions.grammar`` writes the parser's tables.
"""

import pickle
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import lark
from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedToken

from playbooks.errors import shown

# Types of the condition language, and its errors.


Value = int | bool | str | list["Value"]
"""Values of conditions. Times are microseconds."""


class ConditionError(Exception):
    """Text that is not a condition. ``column`` is where in the file, or in the text when it stands alone; from 1."""

    def __init__(self, message: str, column: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.column = column


class EvaluationError(ConditionError):
    """A condition without a value at this time: a division by zero, or a name the cluster does not know."""


@dataclass(frozen=True, slots=True)
class Type:
    """``number``, ``time``, ``boolean``, ``text``, ``list`` (with its elements' type), or ``anything``."""

    name: str
    element: "Type | None" = None

    def __str__(self) -> str:
        if self.element is None:
            return {"anything": "anything", "text": "text", "list": "a list"}.get(self.name, f"a {self.name}")
        return f"a list of {_PLURAL.get(self.element.name, 'things')}"


NUMBER: Final = Type("number")
TIME: Final = Type("time")
BOOLEAN: Final = Type("boolean")
TEXT: Final = Type("text")
ANYTHING: Final = Type("anything")

_PLURAL: Final = {"number": "numbers", "time": "times", "boolean": "booleans", "text": "texts", "list": "lists"}


def list_of(element: Type) -> Type:
    """Return the type of a list."""
    return Type("list", element)


def joined(types: list[Type]) -> Type:
    """Return the common type of all ``types``, or ``anything``."""
    typed = [kind for kind in types if kind != ANYTHING]
    if not typed:
        return ANYTHING
    first = typed[0]
    if all(kind.name == "list" for kind in typed):
        return list_of(joined([kind.element or ANYTHING for kind in typed]))
    return first if len(typed) == len(types) and all(kind == first for kind in typed) else ANYTHING


def comparable(one: Type, other: Type) -> bool:
    """Return whether values of the two types can be equal at all."""
    if ANYTHING in (one, other):
        return True
    if one.name == other.name == "list":
        return comparable(one.element or ANYTHING, other.element or ANYTHING)
    return one == other


TABLES: Final = Path(__file__).with_name("conditions.tables")

MAX_LENGTH: Final = 2_000
"""Maximum number of characters of a condition."""

# A dash inside a word belongs to the word, since partitions and topics have no quotes and the language has no
# variables that could be subtracted: orders-0 is a partition, sent()-1 and 5s-1s are subtractions.
GRAMMAR: Final = r"""
?start: or_test
?or_test: and_test ("or" and_test)*
?and_test: not_test ("and" not_test)*
?not_test: "not" not_test -> negation
         | comparison
?comparison: sum (comparator sum)*
comparator: LESS | MORE | AT_MOST | AT_LEAST | EQUAL | UNEQUAL | IN | NOT IN
?sum: product ((PLUS | MINUS) product)*
?product: signed ((TIMES | OVER | MODULO) signed)*
?signed: MINUS signed -> minus
       | atom
?atom: NUMBER -> number
     | DURATION -> duration
     | STRING -> string
     | TRUE -> true
     | FALSE -> false
     | NAME "(" [or_test ("," or_test)*] ")" -> call
     | NAME -> name
     | "[" [or_test ("," or_test)*] "]" -> list
     | "(" or_test ")"

LESS: "<"
MORE: ">"
AT_MOST: "<="
AT_LEAST: ">="
EQUAL: "=="
UNEQUAL: "!="
IN: "in"
NOT: "not"
PLUS: "+"
MINUS: "-"
TIMES: "*"
OVER: "/"
MODULO: "%"
TRUE: "true"
FALSE: "false"
NAME: /[A-Za-z_][A-Za-z0-9._-]*/
DURATION.3: /[0-9]{1,15}(\.[0-9]{1,9})?(us|ms|s|m|h)(?![A-Za-z0-9_.])/
NUMBER.2: /[0-9]{1,18}(?![A-Za-z0-9_.])/
STRING: /"[^"\n]*"|'[^'\n]*'/
%ignore /[ \t\r\n]+/
"""

KEYWORDS: Final = frozenset({"and", "or", "not", "in", "true", "false"})

_HINTS: Final = {
    "=": "write == to compare",
    "&": "write and",
    "|": "write or",
    "!": "write not, or != to compare",
    "{": "write a list in [ ]",
    '"': "a text must end on the line it begins in",
    "'": "a text must end on the line it begins in",
}


@cache
def _parser() -> Lark:
    # Spark executors import from a zip file, which has no file to open.
    return (read_parser(TABLES) if TABLES.is_file() else None) or build_parser()


def build_parser() -> Lark:
    """Build the parser from the grammar; it takes a tenth of a session's start."""
    return Lark(GRAMMAR, parser="lalr", lexer="basic", maybe_placeholders=False, propagate_positions=True)


def read_parser(tables: Path) -> Lark | None:
    """Read the parser of :func:`write_parser`; None if that was for another grammar or another version of Lark."""
    with tables.open("rb") as file:
        return Lark.load(file) if pickle.load(file) == _made_of() else None


def write_parser(tables: Path) -> None:
    """Write the parser to a file, after what it was built from."""
    with tables.open("wb") as file:
        pickle.dump(_made_of(), file)
        build_parser().save(file)


def _made_of() -> tuple[str, str]:
    return lark.__version__, GRAMMAR


def parse_tree(text: str) -> Tree[Token] | Token:
    """Parse a condition; raise :class:`ConditionError` with a column from 1 in ``text``."""
    if len(text) > MAX_LENGTH:
        raise ConditionError(f"found {len(text)} characters, expected at most {MAX_LENGTH}")
    if not text.strip():
        raise ConditionError("found nothing, expected a condition such as acked_lost() == 0")
    try:
        return _parser().parse(text)
    except UnexpectedCharacters as error:
        raise _unexpected_character(text, error.pos_in_stream or 0) from None
    except UnexpectedToken as error:
        if error.token.type == "$END":
            raise ConditionError("ends in the middle of a condition", len(text) + 1) from None
        raise _unexpected_token(error.token) from None
    except UnexpectedEOF:
        raise ConditionError("ends in the middle of a condition", len(text) + 1) from None


def _unexpected_character(text: str, position: int) -> ConditionError:
    character = text[position]
    if character.isdigit():
        end = position
        while end < len(text) and (text[end].isalnum() or text[end] in "._-"):
            end += 1
        message = "expected whole numbers, durations such as 5s, and in quotes names that begin with a digit"
        return ConditionError(f"found {shown(text[position:end])}, {message}", position + 1)
    hint = _HINTS.get(character)
    return ConditionError(f"found {shown(character)}" + (f": {hint}" if hint else " here"), position + 1)


def _unexpected_token(token: Token) -> ConditionError:
    column = (token.start_pos or 0) + 1
    if str(token) in KEYWORDS:
        return ConditionError(f"found {shown(token)}, a keyword; as a name it needs quotes", column)
    return ConditionError(f"found {shown(token)}, which is not allowed here", column)


if __name__ == "__main__":
    write_parser(TABLES)

"""The language of target selectors: ``leader(orders-0)``, ``all - broker(1)``, ``random(2, isr(orders-0) & rack(a))``.

A selector is read once, from text to a tree; what it means is found out where it is resolved against a live cluster.

``&`` binds closer than ``+`` and ``-``, which go from left to right; brackets say otherwise. Names may hold dashes, as
partitions do, so ``-`` takes away only where it stands by itself between blanks.
"""

import difflib
import re
from dataclasses import dataclass, field
from typing import Final

from cluster_model.protocol.errors import CodedError

_TOKEN: Final = re.compile(r"\s*([A-Za-z0-9._/-]+|[(),+&])")

_LONGEST: Final = 1_000
"""Characters of a selector."""
_DEEPEST: Final = 100
"""Brackets within brackets: what is nested deeper than that was not meant."""

JOIN: Final = "+"
WITHOUT: Final = "-"
COMMON: Final = "&"
OPERATORS: Final = (JOIN, WITHOUT, COMMON)
"""Kinds of selectors that are made of others."""
LINK: Final = "link"
"""Kind of the selector that names two sides, for faults of links."""

PARTITION_SELECTORS: Final = ("leader", "follower", "followers", "isr", "replica", "replicas")
SELECTORS: Final = {
    "leader": "leader(PARTITION): the broker that leads by the controller's word",
    "follower": "follower(PARTITION): one of its other replicas, drawn by the session's seed among those that are up",
    "followers": "followers(PARTITION): all its other replicas",
    "isr": "isr(PARTITION): its in-sync replicas, the leader among them",
    "replica": (
        "replica(PARTITION, longest|shortest): the one that is up with the longest or shortest log; of equal ones the "
        "first in the partition's assignment"
    ),
    "replicas": "replicas(PARTITION): everybody who holds it",
    "controller": "controller: the active controller; controller(ID): one node of the KRaft quorum, active or not",
    "controllers": "controllers: every node that is or may become the controller; in ZooKeeper mode every broker",
    "zookeeper": "zookeeper(N): one server of the ZooKeeper ensemble, from 1",
    "zookeepers": "zookeepers: every server of the ZooKeeper ensemble",
    "coordinator": "coordinator(GROUP): the broker that leads the group's partition of __consumer_offsets",
    "transaction_coordinator": (
        "transaction_coordinator(PRODUCER): the broker that leads its transactional.id's part of __transaction_state"
    ),
    "broker": "broker(ID): one broker",
    "rack": "rack(NAME): all brokers of a rack",
    "client": "client(NAME): a producer, a member of a group as in billing/0, or admin",
    "members": "members(GROUP): every member of a group",
    "random": "random(N, SELECTOR): N of those, drawn by the session's seed; random(SELECTOR) draws one",
    "majority": "majority(SELECTOR): more than half of those, as few as that takes, drawn; majority: of all brokers",
    "minority": "minority(SELECTOR): less than half of those, as many as that allows, drawn; minority: of all brokers",
    LINK: "link(SELECTOR, SELECTOR): what connects the two sides, for faults of links: the second side is their to",
    "clients": "clients: every producer and every member of a group",
    "producers": "producers: every producer",
    "consumers": "consumers: every member of a group",
    "brokers": "brokers: every broker",
    "all": "all: every broker",
    JOIN: "SELECTOR + SELECTOR: everybody of either",
    WITHOUT: "SELECTOR - SELECTOR: those of the first who are not of the second; with blanks around the -",
    COMMON: "SELECTOR & SELECTOR: who is of both; it binds closer than + and -, and ( ) closest",
}
"""Selector → how it is written and what it means."""
BARE: Final = (
    "all", "brokers", "clients", "producers", "consumers", "controller", "controllers", "zookeepers",
    "majority", "minority",
)  # fmt: skip
"""Selectors that are one word; those of :data:`EITHER` may take something in brackets, all others must."""
EITHER: Final = ("controller", "majority", "minority")
NUMBERED: Final = ("broker", "controller", "zookeeper")
"""Selectors whose argument is a number."""
CONTROL_SELECTORS: Final = ("controller", "controllers", "zookeeper", "zookeepers")
"""Selectors of the control plane's nodes."""
OF_OTHERS: Final = ("random", "majority", "minority")
"""Selectors that draw from another one."""
LENGTHS: Final = ("longest", "shortest")
FIXED: Final = (
    "broker", "brokers", "all", "rack", "client", "clients", "producers", "consumers", "members", "controllers",
    "zookeeper", "zookeepers",
)  # fmt: skip
"""Selectors that mean the same whenever they are asked."""


class SelectorError(CodedError):
    """A selector that cannot be read or finds nothing; ``column`` counts from 0 within its text.

    ``code`` names the reason in a word or two.
    """

    def __init__(self, message: str, column: int = 0, *, code: str) -> None:
        super().__init__(message, code=code)
        self.column = column


class NobodyFoundError(SelectorError):
    """A sound selector that means nobody at this instant."""


@dataclass(frozen=True, slots=True)
class Selector:
    """A parsed selector: its kind, one plain argument, what it draws from, and what it is made of."""

    kind: str
    argument: str = ""
    count: int = 1
    inner: "Selector | None" = None
    parts: tuple["Selector", ...] = ()
    choice: str = ""
    """``longest`` or ``shortest``."""
    column: int = field(default=0, compare=False)

    def __str__(self) -> str:
        """As it would be written."""
        if self.kind == LINK:
            return f"{LINK}({self.parts[0]}, {self.parts[1]})"
        if self.kind in OPERATORS:
            return f" {self.kind} ".join(_bracketed(part, self.kind, place) for place, part in enumerate(self.parts))
        if self.inner is not None:
            count = f"{self.count}, " if self.kind == "random" else ""
            return f"{self.kind}({count}{self.inner})"
        said = ", ".join(filter(None, (self.argument, self.choice)))
        return f"{self.kind}({said})" if said else self.kind

    @property
    def fixed(self) -> bool:
        """Whether it means the same whenever it is asked."""
        if self.parts:
            return all(part.fixed for part in self.parts)
        return self.kind in FIXED or (self.kind == "controller" and bool(self.argument))


def _bracketed(part: Selector, operator: str, place: int) -> str:
    """A part of an operator's, in brackets where it would be read otherwise."""
    needed = part.kind in (JOIN, WITHOUT) and (operator == COMMON or place > 0)
    return f"({part})" if needed or (part.kind == operator == COMMON and place > 0) else str(part)


def parse(text: str) -> Selector:
    """Read a selector.

    Raises:
        SelectorError: with the place and what is allowed.
    """
    if len(text) > _LONGEST:
        raise SelectorError(f"a target of {len(text)} characters; {_LONGEST} are allowed", _LONGEST, code="too_long")
    tokens = _tokens(text)
    selector, rest = _link(tokens) if tokens[0][0] == LINK else _sum(tokens, 0)
    if rest < len(tokens):
        word, column = tokens[rest]
        told = f"; {BLANKS}" if word.startswith(WITHOUT) else ""
        raise SelectorError(f"nothing may follow the selector, found {word!r}{told}", column, code="word_too_many")
    return selector


BLANKS: Final = "a - that takes away stands between blanks"
_KINDS: Final = ", ".join(kind for kind in SELECTORS if kind not in OPERATORS)


def _tokens(text: str) -> list[tuple[str, int]]:
    tokens: list[tuple[str, int]] = []
    at = depth = 0
    while at < len(text.rstrip()):
        match = _TOKEN.match(text, at)
        if match is None:
            wrong = len(text) - len(text[at:].lstrip())
            raise SelectorError(f"unexpected character {text[wrong]!r}", wrong, code="unexpected_character")
        word = match.group(1)
        depth += (word == "(") - (word == ")")
        if depth > _DEEPEST:
            raise SelectorError(f"brackets in brackets, more than {_DEEPEST} deep", match.start(1), code="too_deep")
        tokens.append((word, match.start(1)))
        at = match.end()
    if not tokens:
        raise SelectorError(f"empty; a target is one of {_KINDS}", code="empty")
    return tokens


def _sum(tokens: list[tuple[str, int]], at: int) -> tuple[Selector, int]:
    """Selectors joined and taken away, from left to right."""
    found, at = _product(tokens, at)
    while at < len(tokens) and tokens[at][0] in (JOIN, WITHOUT):
        operator = tokens[at][0]
        part, at = _product(tokens, _operand(tokens, at + 1, SELECTORS[operator]))
        found = _made(operator, found, part)
    return found, at


def _product(tokens: list[tuple[str, int]], at: int) -> tuple[Selector, int]:
    found, at = _selector(tokens, at)
    while at < len(tokens) and tokens[at][0] == COMMON:
        part, at = _selector(tokens, _operand(tokens, at + 1, SELECTORS[COMMON]))
        found = _made(COMMON, found, part)
    return found, at


def _made(operator: str, found: Selector, part: Selector) -> Selector:
    """One selector of two; a row of one operator is one selector of many."""
    before = found.parts if found.kind == operator else (found,)
    return Selector(operator, parts=(*before, part), column=before[0].column)


def _selector(tokens: list[tuple[str, int]], at: int) -> tuple[Selector, int]:
    kind, column = tokens[at]
    if kind == "(":
        found, at = _sum(tokens, _operand(tokens, at + 1, "( SELECTOR )"))
        return found, _expect(tokens, at, ")", "( SELECTOR )")
    if kind.isdigit():
        return Selector("broker", kind, column=column), at + 1
    if kind == LINK:
        raise SelectorError(f"{LINK} is a target by itself, nothing to combine", column, code="link_combined")
    if kind not in SELECTORS or kind in OPERATORS:
        raise SelectorError(
            f"unknown target {kind!r}{_hint(kind)}; a target is one of {_KINDS}", column, code="unknown_target"
        )
    if kind in BARE and not (kind in EITHER and at + 1 < len(tokens) and tokens[at + 1][0] == "("):
        return Selector(kind, column=column), at + 1
    at = _expect(tokens, at + 1, "(", SELECTORS[kind])
    if kind in OF_OTHERS:
        return _of_others(kind, tokens, at, column)
    argument, where = _word(tokens, at, SELECTORS[kind])
    if kind in NUMBERED and not argument.isdigit():
        raise SelectorError(f"{kind} takes a number, found {argument!r}", where, code="not_a_number")
    choice = ""
    if kind == "replica":
        at = _expect(tokens, at + 1, ",", SELECTORS[kind])
        choice, place = _word(tokens, at, SELECTORS[kind])
        if choice not in LENGTHS:
            raise SelectorError(f"{kind} takes {' or '.join(LENGTHS)}, found {choice!r}", place, code="not_a_choice")
    return Selector(kind, argument, choice=choice, column=where), _expect(tokens, at + 1, ")", SELECTORS[kind])


def _hint(word: str) -> str:
    if word.startswith(WITHOUT):
        return f"; {BLANKS}"
    near = difflib.get_close_matches(word, [kind for kind in SELECTORS if kind not in OPERATORS], n=1)
    return f", did you mean {near[0]!r}?" if near else ""


def _of_others(kind: str, tokens: list[tuple[str, int]], at: int, column: int) -> tuple[Selector, int]:
    count = 1
    if kind == "random" and at + 1 < len(tokens) and tokens[at][0].isdigit() and tokens[at + 1][0] == ",":
        count = int(tokens[at][0])
        at += 2
    inner, at = _sum(tokens, _operand(tokens, at, SELECTORS[kind]))
    return Selector(kind, "", count, inner, column=column), _expect(tokens, at, ")", SELECTORS[kind])


def _link(tokens: list[tuple[str, int]]) -> tuple[Selector, int]:
    usage = SELECTORS[LINK]
    one, at = _sum(tokens, _operand(tokens, _expect(tokens, 1, "(", usage), usage))
    other, at = _sum(tokens, _operand(tokens, _expect(tokens, at, ",", usage), usage))
    return Selector(LINK, parts=(one, other), column=tokens[0][1]), _expect(tokens, at, ")", usage)


def _expect(tokens: list[tuple[str, int]], at: int, wanted: str, usage: str) -> int:
    if at >= len(tokens) or tokens[at][0] != wanted:
        column = tokens[at][1] if at < len(tokens) else tokens[-1][1] + len(tokens[-1][0])
        raise SelectorError(f"expected {wanted!r}; write {usage}", column, code="unexpected_word")
    return at + 1


def _word(tokens: list[tuple[str, int]], at: int, usage: str) -> tuple[str, int]:
    """The name that must stand here."""
    if at >= len(tokens) or tokens[at][0] in "(),+&":
        column = tokens[at][1] if at < len(tokens) else tokens[-1][1] + len(tokens[-1][0])
        raise SelectorError(f"something is missing; write {usage}", column, code="incomplete")
    return tokens[at]


def _operand(tokens: list[tuple[str, int]], at: int, usage: str) -> int:
    """Where a selector must begin."""
    if at >= len(tokens) or tokens[at][0] != "(":
        word, column = _word(tokens, at, usage)
        if word == WITHOUT:
            raise SelectorError(f"something is missing; write {usage}", column, code="incomplete")
    return at

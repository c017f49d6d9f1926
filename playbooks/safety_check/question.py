"""Parser of typed questions: ``restart broker(1); after 30s restart broker(2)``.

A question is one action or several. Each may begin with ``after 10s`` or ``when CONDITION``, followed by what a
playbook has as ``inject``, ``heal`` or ``admin``, its target or subject, ``for 30s``, and parameters as ``key=value``.
The words are read as the keys of a step, so that all checks of playbooks apply.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from faults.catalogue import CATALOGUE, FAULT_ALIASES, OPERATION_ALIASES, canonical_name
from faults.declarations import OPERATIONS
from playbooks.conditions.condition import parse
from playbooks.conditions.grammar import ConditionError
from playbooks.errors import PlaybookError, Problem, nearest, shown
from playbooks.model.playbook import Step
from playbooks.parser.document.context import ErrorNotes, PlaybookNames
from playbooks.parser.document.yaml_source import Mapping as YamlMapping
from playbooks.parser.document.yaml_source import Node, Scalar, Sequence, compose
from playbooks.parser.steps.step_groups import read_steps
from playbooks.parser.steps.timed_steps import ENDINGS, TimedSteps
from playbooks.units import UnitError, duration_us

# Lexer of questions: words with their columns; brackets and quotes keep words together.


PATH: Final = "question"
"""Name of the question in messages."""
LONGEST: Final = 2_000
"""Maximum number of characters of a question."""

_OPEN: Final = "([{"
_CLOSE: Final = ")]}"


class QuestionPart(NamedTuple):
    """A part of the question, and the column from 1 at which it begins."""

    text: str
    column: int


def question_error(text: str, column: int, message: str) -> PlaybookError:
    """Return the error about a question."""
    return PlaybookError([Problem(PATH, 1, column, "", message)], {PATH: text})


def pieces(text: str) -> list[QuestionPart]:
    """Split a question into its actions, separated by semicolons or the word ``then``.

    Raises:
        PlaybookError: it is too long, has several lines, or a bracket or quote is not closed.
    """
    if len(text) > LONGEST:
        raise question_error("", 1, f"found {len(text)} characters, expected at most {LONGEST}")
    unprintable = next((place for place, each in enumerate(text) if not each.isprintable()), -1)
    if unprintable >= 0:
        raise question_error(text, unprintable + 1, "found an unprintable character, expected one line of text")
    parts: list[QuestionPart] = []
    start = 0
    for word in words(QuestionPart(text, 1), text):
        at = word.column - 1
        if word.text in (";", "then"):
            parts.append(_stripped(text[start:at], start))
            start = at + len(word.text)
    parts.append(_stripped(text[start:], start))
    return parts


def _stripped(text: str, start: int) -> QuestionPart:
    return QuestionPart(text.strip(), start + len(text) - len(text.lstrip()) + 1)


def words(piece: QuestionPart, question: str) -> list[QuestionPart]:
    """Split an action at blanks outside of brackets and quotes; a semicolon is a word of its own.

    Raises:
        PlaybookError: a bracket or quote is not closed.
    """
    return list(_words(piece, question))


def _words(piece: QuestionPart, question: str) -> Iterator[QuestionPart]:
    text, first = piece
    start, quote, opened = 0, "", list[int]()
    for at, each in enumerate(text):
        if quote:
            if each == quote:
                quote = ""
                opened.pop()
        elif each in "\"'":
            quote = each
            opened.append(at)
        elif each in _OPEN:
            opened.append(at)
        elif each in _CLOSE:
            if not opened:
                raise question_error(question, first + at, f"found {each!r} without its opening bracket")
            if _CLOSE[_OPEN.index(text[opened[-1]])] != each:
                raise question_error(question, first + at, f"found {each!r}, which does not match the open bracket")
            opened.pop()
        elif not opened and each in " ;":
            if start < at:
                yield QuestionPart(text[start:at], first + start)
            if each == ";":
                yield QuestionPart(each, first + at)
            start = at + 1
    if opened:
        raise question_error(
            question, first + opened[-1], f"found {text[opened[-1]]!r} without its closing counterpart"
        )
    if start < len(text):
        yield QuestionPart(text[start:], first + start)


ASSIGNED: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_.-]*)=(?!=)(.*)", re.DOTALL)
"""Pattern of a parameter with its value."""

RESTART: Final = "restart"
"""For operators: stop a running process and start it again. The fault of that name only starts one that is down."""
BOUNCE: Final = "bounce"
"""The fault that stops a process and starts it again."""
HEAL: Final = "heal"
FAULTS: Final = (*CATALOGUE, *FAULT_ALIASES)
VERBS: Final = (*FAULTS, *OPERATIONS, *OPERATION_ALIASES, HEAL)
"""All words that an action can begin with."""

_ENDING: Final = ("crash", "power_loss", "clean_shutdown")
"""Faults that leave a process down until it is started."""
_ABOUT: Final = ("topic", "new topic", "partition", "broker", "brokers", "group", "text", "scopes", "release")
"""Types of parameters that can be given as an operation's first word."""

IsDown = Callable[[str], bool]
"""Predicate: whether all that a target means is down at the time of the question."""


def read_question(
    text: str, facts: PlaybookNames, is_down: IsDown = lambda target: False, first: int = 0
) -> tuple[Step, ...]:
    """Return the steps of a question; ``first`` is the index of the first of them, from 0.

    Raises:
        PlaybookError: with the column of the first error.
    """
    notes = ErrorNotes(PATH, [], facts)
    reader, steps, stopped = TimedSteps(), list[Step](), dict[str, None]()
    for number, piece in enumerate(pieces(text)):
        node = _Action(piece, text, lambda target: target in stopped or is_down(target)).node()
        step = reader.read(node, first + number, "", notes)
        if notes.problems or step is None:
            raise PlaybookError([replace(min(notes.problems), path=PATH)], {PATH: text})
        if steps:
            step = _waiting(step, steps[-1])
        if step.verb == "inject" and step.name in _ENDING and step.for_us < 0:
            stopped[step.target] = None
        elif step.target in stopped:
            del stopped[step.target]
        steps.append(step)
    return tuple(steps)


def _waiting(step: Step, before: Step) -> Step:
    """Make a ``when`` after a restart or an operation wait for its end: its condition may already hold before."""
    condition = step.trigger.condition
    if condition is None or not (before.verb == "admin" or before.name == BOUNCE):
        return step
    over = "operations() == 0" if before.verb == "admin" else f"faults({BOUNCE}) == 0"
    whole = f"{over} and ({condition.text})"
    return replace(step, trigger=replace(step.trigger, condition=parse(whole)))


def read_list(text: str, path: str, facts: PlaybookNames, first: int = 0) -> tuple[Step, ...]:
    """Return the steps of a file, a list or a mapping with a list at ``steps``, except those that end a session.

    Raises:
        PlaybookError: with every error in it.
    """
    root, problems = compose(text, path)
    notes = ErrorNotes(path, problems, facts)
    if isinstance(root, YamlMapping) and list(root.entries) == ["steps"]:
        root = root.entries["steps"][1]
    if not isinstance(root, Sequence):
        notes.refuse(root, "", "a list of steps, as a playbook has it")
    steps = read_steps(root, notes, manual=False)
    if not notes.problems and not steps:
        notes.problem(root, "", "found no step, expected at least one")
    if notes.problems:
        raise PlaybookError(notes.problems, {path: text})
    return tuple(replace(step, index=first + step.index) for step in steps if step.verb not in ENDINGS)


class _Action:
    """Converter of one action from words to the mapping that a step is read from."""

    def __init__(self, piece: QuestionPart, question: str, is_down: IsDown) -> None:
        self._piece = piece
        self._question = question
        self._is_down = is_down
        self._words = words(piece, question)
        self._entries: dict[str, tuple[Scalar, Node]] = {}

    def node(self) -> YamlMapping:
        """Return the step's keys and values, each with its column in the question."""
        if not self._words:
            raise question_error(
                self._question, self._piece.column, "found no action, expected one such as restart broker(2)"
            )
        self._trigger()
        verb = self._words.pop(0)
        name = verb.text.replace("-", "_").rstrip(":")
        if name == HEAL:
            target = self._remaining_words()
            self._put(HEAL, target or QuestionPart("all", verb.column))
        elif name in OPERATIONS or name in OPERATION_ALIASES:
            self._put("admin", QuestionPart(name, verb.column))
            self._operation(canonical_name(name))
        elif name in FAULTS:
            self._fault(QuestionPart(name, verb.column))
        else:
            known = "a fault, an operation or heal, see: floodmark faults"
            raise question_error(
                self._question, verb.column, f"found {shown(verb.text)}, expected {known}{nearest(name, VERBS)}"
            )
        return YamlMapping(1, self._piece.column, self._entries)

    # -- when it acts -----------------------------------------------------------------------------------------------

    def _trigger(self) -> None:
        first = self._words[0]
        if first.text == "at":
            message = "found a time, expected after 10s and when CONDITION; use --at to set the start"
            raise question_error(self._question, first.column, message)
        if first.text == "after":
            self._words.pop(0)
            span = self._next(first, "a duration such as 10s")
            try:
                duration_us(span.text.rstrip(":,"))
            except UnitError as error:
                raise question_error(
                    self._question, span.column, f"found {shown(span.text)}, expected {error}"
                ) from None
            self._put("after", QuestionPart(span.text.rstrip(":,"), span.column))
        elif first.text == "when":
            self._words.pop(0)
            self._condition(first)
        if not self._words:
            raise question_error(self._question, first.column, f"found {shown(first.text)} without an action after it")

    def _condition(self, when: QuestionPart) -> None:
        """Parse the words before the first word that an action can begin with as a condition."""
        error: PlaybookError | None = None
        start = when.column - 1 + len(when.text)
        for number, word in enumerate(self._words):
            if number and word.text.replace("-", "_") in VERBS:
                text = self._question[start : word.column - 1]
                column = start + 1 + len(text) - len(text.lstrip())
                text, within = self._limit(text.strip().rstrip(":,").strip(), column)
                try:
                    parse(text)
                except ConditionError as found:
                    error = error or question_error(self._question, column + found.column - 1, found.message)
                    continue
                self._put("when", QuestionPart(text, column))
                if within is not None:
                    self._put("within", within)
                self._words = self._words[number:]
                return
        message = "found no action after the condition, expected one such as restart broker(2)"
        raise error or question_error(self._question, when.column, message)

    @staticmethod
    def _limit(text: str, column: int) -> tuple[str, QuestionPart | None]:
        """Split a limit (``within``) from the end of a condition."""
        before, within, span = text.rpartition(" within ")
        if not within or " " in span.strip():
            return text, None
        return before.rstrip(), QuestionPart(span.strip(), column + len(before) + len(within))

    # -- what it does -----------------------------------------------------------------------------------------------

    def _fault(self, verb: QuestionPart) -> None:
        self._inject(verb)
        target = self._remaining_words()
        if target is not None:
            self._put("target", target)
        if verb.text == RESTART and target is not None and not self._is_down(target.text):
            self._inject(QuestionPart(BOUNCE, verb.column))
            if "for" in self._entries:
                self._is_time(target)
                self._entries["down"] = self._entries.pop("for")

    def _is_time(self, target: QuestionPart) -> None:
        """Check that the target of ``for`` is a duration, so that an error quotes the word that was typed."""
        given = self._entries["for"][1]
        try:
            duration_us(given.text if isinstance(given, Scalar) else "")
        except UnitError as error:
            found = given.text if isinstance(given, Scalar) else target.text
            raise question_error(self._question, given.column, f"for: found {shown(found)}, expected {error}") from None

    def _inject(self, verb: QuestionPart) -> None:
        self._put("inject", verb)

    def _operation(self, name: str) -> None:
        """Parse an operation: its first word is its subject, unless that is given by name."""
        about = self._remaining_words()
        if about is None:
            return
        params = [each for each in OPERATIONS[name].params if each.type in _ABOUT and each.name not in self._entries]
        types = [each.type for each in params]
        if "partition" in types and "topic" in types:
            numbered = about.text.rpartition("-")[2].isdigit()
            params = [each for each in params if each.type == ("partition" if numbered else "topic")]
        if not params:
            raise question_error(
                self._question, about.column, f"found {shown(about.text)}, expected parameters as key=value"
            )
        param = params[0]
        if param.type == "broker" and about.text.startswith("broker(") and about.text.endswith(")"):
            about = QuestionPart(about.text[7:-1].strip(), about.column + 7)
        listing = param.type in ("brokers", "scopes") and not about.text.startswith("[")
        self._put(param.name, QuestionPart(f"[{about.text}]", about.column - 1) if listing else about)

    def _remaining_words(self) -> QuestionPart | None:
        """Return the words that are no parameters as one; ``for``, ``if any`` and parameters become entries."""
        kept: list[QuestionPart] = []
        ended = False
        while self._words:
            word = self._words.pop(0)
            assigned = ASSIGNED.fullmatch(word.text)
            if word.text == "for":
                self._put("for", self._next(word, "a duration such as 30s"))
            elif word.text == "if" and self._words and self._words[0].text == "any":
                self._words.pop(0)
                self._put("if_any", QuestionPart("true", word.column))
            elif assigned is not None:
                self._put(assigned[1], QuestionPart(assigned[2], word.column + assigned.start(2)))
            elif word.text == "on" and not kept and self._words:
                continue
            elif ended:
                raise question_error(
                    self._question, word.column, f"found {shown(word.text)}, expected for and key=value here"
                )
            else:
                kept.append(word)
                continue
            ended = bool(kept)
        if not kept:
            return None
        start, last = kept[0].column - 1, kept[-1]
        return QuestionPart(self._question[start : last.column - 1 + len(last.text)], kept[0].column)

    def _next(self, after: QuestionPart, allowed: str) -> QuestionPart:
        if not self._words:
            raise question_error(
                self._question, after.column, f"found nothing after {shown(after.text)}, expected {allowed}"
            )
        return self._words.pop(0)

    def _put(self, key: str, value: QuestionPart) -> None:
        """Add a key of the step with its value, parsed as YAML."""
        if key in self._entries and key != "inject":
            raise question_error(self._question, value.column, f"found {key} twice, allowed once")
        where = Scalar(1, value.column, key, plain=True, exact=value.column)
        self._entries[key] = (where, self._value(value))

    def _value(self, value: QuestionPart) -> Node:
        if not value.text.startswith(("[", "{", '"', "'")):
            return Scalar(1, value.column, value.text, plain=True, exact=value.column)
        try:
            node, problems = compose(value.text, PATH)
        except PlaybookError as error:
            problems = list(error.problems)
        if problems:
            raise question_error(self._question, value.column + problems[0].column - 1, problems[0].message)
        return moved(node, value.column - 1)


def moved(node: Node, by: int) -> Node:
    """Return a node with its columns shifted to the right."""
    column = node.column + by
    if isinstance(node, Scalar):
        return replace(node, column=column, exact=node.exact + by if node.exact else 0)
    if isinstance(node, Sequence):
        return replace(node, column=column, items=tuple([moved(each, by) for each in node.items]))
    entries: Mapping[str, tuple[Scalar, Node]] = node.entries
    shifted = {key: (replace(at, column=at.column + by), moved(value, by)) for key, (at, value) in entries.items()}
    return replace(node, column=column, entries=shifted)

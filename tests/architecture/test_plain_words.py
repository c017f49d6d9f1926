"""The manual, the playbooks, what the program prints, docstrings, comments and names use the field's standard terms.

:data:`PROSE` and :data:`NAMES` have words that made readers stop, each with what to write instead. A use in which a
word has its usual meaning is in :data:`ALLOWED`, with the reason.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.architecture.tree import ROOT, modules

PROSE: Final = {
    r"tells?|telling|told": "print, show, report, send; notify",
    r"whoever|whomever": "the broker that, the client that",
    r"stints?|lineages?": "log branch",
    r"deeds?": "fault, action of the operator",
    r"mends?|mended|mending": "fix, heal",
    r"stands? still|stood still|standing still": "stall, pause",
    r"goes on|go on|went on|going on|gone on": "continue, resume",
    r"hears?|heard|hearing": "receive, learn of",
    r"cuts? (?:its|their|the) logs?": "truncate",
    r"as (?:it|they) stands?": "current, default",
    r"foretells?|foretold|foresees?|foreseen|foresight": "predict, impact",
    r"unjudged": "not evaluated, pending",
    r"refused for good": "failed",
    r"errands?": "task",
    r"tenants?": "hosted coordinator",
    r"rivals?": "duplicate instance",
    r"owed|owes?": "pending",
    r"promises?|promised": "guarantee, invariant",
    r"befalls?|befell|befallen|harms?|harmed|suffers?|suffered": "affect",
    r"strikes?|struck|striking": "inject, affect, target",
    r"goes by|go by|went by": "use",
    r"(?:came|comes?|coming) of (?:it|them|that|this|each|all)": "result, outcome",
    r"instants?": "time, point in time",
    r"takes? (?:up )?office": "become the controller or the leader",
    r"in hand|handed": "fetched and unprocessed; passed, delivered",
    r"weather": "disturbances",
    r"books": "counters, statistics",
    r"scenes?": "state, context",
    r"what (?:is|was) (?:lost|told|asked|meant)": "a noun",
    r"set otherwise": "with a change",
    r"lost, by its numbers": "lost offsets",
    r"99 % (?:acknowledged|read)": "p99 latency",
    r"kinds that may be": "allowed anomaly types",
    r"allowed (?:is|are)": "found X, expected Y",
}
"""Pattern of words → what to write instead."""

NAMES: Final = {
    **dict.fromkeys(("deed", "deeds"), "fault, action"),
    **dict.fromkeys(("errand", "errands"), "task"),
    **dict.fromkeys(("foresee", "foretold"), "predict"),
    **dict.fromkeys(("ground", "world", "house"), "context, cluster_state"),
    **dict.fromkeys(("lineage", "lineages", "stint", "stints"), "log_branch"),
    **dict.fromkeys(("mend", "mends", "mended"), "fix, repair"),
    **dict.fromkeys(("promise", "promises", "promised"), "guarantee, definition"),
    **dict.fromkeys(("rival", "rivals"), "duplicate"),
    **dict.fromkeys(("tenant", "tenants"), "hosted coordinator"),
    **dict.fromkeys(("weather", "wish", "wishes", "teller", "whoever"), "a standard term"),
    **dict.fromkeys(("disturb", "pump", "pumped", "pumping"), "end_idle, mark_dirty; send_ready, send_fetch"),
    **dict.fromkeys(("hear", "hears", "heard"), "receive"),
    **dict.fromkeys(("leaked", "rivals"), "aborted_committed, duplicates"),
    **dict.fromkeys(("park", "parked", "parking"), "delayed"),
    **dict.fromkeys(("excuses", "companion", "desk", "scene", "scenes"), "allowed_losses, comparison, a plain noun"),
}
"""Word of an identifier → what to write instead."""

CLASSES: Final = frozenset(
    [
        "Answers",
        "Asked",
        "Companion",
        "Desk",
        "Doing",
        "Excuses",
        "Found",
        "Frugal",
        "Given",
        "Go",
        "Hand",
        "Hands",
        "Here",
        "Known",
        "Made",
        "NoReturn",
        "Paned",
        "Placed",
        "Procedure",
        "Room",
        "Said",
        "Seen",
        "SetAside",
        "Since",
        "Standing",
        "Started",
        "Taken",
        "Telling",
        "Thing",
        "Told",
        "Training",
        "Whole",
        "World",
        "Written",
    ]
)
"""Names of classes that do not say what an instance is."""

HANDLERS: Final = frozenset(("answered", "due", "loaded", "lost", "woken"))
"""Names of methods that handle an event or return a time; they are ``on_response``, ``next_action_us`` and so on."""


class Allowed(NamedTuple):
    """A use of a word that stays."""

    where: str
    """Pattern of paths."""
    text: str
    """Pattern of a text that covers the word."""
    reason: str


ALLOWED: Final = (
    Allowed("playbooks/session_format/format_1.py", r"\bstint\b", "a name of format 1, which is translated there"),
    Allowed("docs/reference/session-files.md", r"`\w+`", "names of format 1"),
    Allowed("docs/reference/*", r"`[^`]*`", "keys and values of formats"),
)


class Text(NamedTuple):
    """A piece of prose, or an identifier."""

    path: str
    line: int
    text: str


def comments(path: Path) -> Iterator[tuple[int, str]]:
    """Comments of a module; lines below each other are one text."""
    block: list[str] = []
    first = last = 0
    for token in tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline):
        if token.type != tokenize.COMMENT:
            continue
        if block and token.start[0] != last + 1:
            yield first, " ".join(block)
            block = []
        first, last = (first if block else token.start[0]), token.start[0]
        block.append(token.string.lstrip("#:").strip())
    if block:
        yield first, " ".join(block)


def strings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Docstrings and messages: literals of several words."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
            yield node.lineno, node.value


def sources() -> Iterator[tuple[Path, ast.Module]]:
    """Modules of the product with their files."""
    for name, tree in modules().items():
        path = ROOT.joinpath(*name.split("."))
        yield (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")), tree


@cache
def texts() -> tuple[Text, ...]:
    """All prose of the product."""
    found = []
    for file, tree in sources():
        shown = file.relative_to(ROOT).as_posix()
        found += [Text(shown, line, text) for line, text in chain(strings(tree), comments(file))]
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "playbooks").rglob("*.yaml"))]
    for page in pages:
        shown = page.relative_to(ROOT).as_posix()
        found += [Text(shown, line, text) for line, text in enumerate(page.read_text("utf-8").splitlines(), 1)]
    return tuple(found)


def words(name: str) -> list[str]:
    """Words of an identifier: ``LogBranch`` and ``_log_branch`` are ``log`` and ``branch``."""
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower().split("_")


def identifiers(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Names that are defined, assigned, passed or read."""
    for node in ast.walk(tree):
        for field in ("name", "id", "attr", "arg"):
            name = getattr(node, field, None)
            if isinstance(name, str):
                yield getattr(node, "lineno", 0), name


def stumbles(pattern: re.Pattern[str], found_in: tuple[Text, ...]) -> Iterator[tuple[Text, re.Match[str]]]:
    """Uses of a word that no entry of :data:`ALLOWED` covers."""
    for text in found_in:
        for match in pattern.finditer(text.text):
            if not any(
                found.start() <= match.start() and match.end() <= found.end()
                for each in ALLOWED
                if fnmatchcase(text.path, each.where)
                for found in re.finditer(each.text, text.text)
            ):
                yield text, match


def pattern_of(word: str) -> re.Pattern[str]:
    """Pattern of words of prose: no part of an identifier, a path or an option."""
    return re.compile(rf"(?<![\w`./-])(?:{word})(?![\w`=(-])", re.IGNORECASE)


@pytest.mark.parametrize("word", PROSE)
def test_prose_uses_standard_terms(word: str) -> None:
    found = [
        f"{text.path}:{text.line + text.text[: match.start()].count(chr(10))}: {match[0]!r}, write: {PROSE[word]}"
        for text, match in stumbles(pattern_of(word), texts())
    ]
    assert found == []


def test_names_use_standard_terms() -> None:
    found = [
        f"{file.relative_to(ROOT).as_posix()}:{line}: {name}, write: {NAMES[word]}"
        for file, tree in sources()
        for line, name in identifiers(tree)
        for word in words(name)
        if word in NAMES
    ]
    assert found == []


def test_classes_are_nouns() -> None:
    """The tests are held to this too."""
    files = [file for file, _tree in sources()] + sorted((ROOT / "tests").rglob("*.py"))
    found = [
        f"{file.relative_to(ROOT).as_posix()}: {name}, say what one instance is"
        for file in files
        for name in re.findall(r"^\s*class _*(\w+)", file.read_text(encoding="utf-8"), re.MULTILINE)
        if name in CLASSES
    ]
    assert found == []


def test_handlers_are_named_for_their_event() -> None:
    found = [
        f"{file.relative_to(ROOT).as_posix()}:{method.lineno}: {node.name}.{method.name}"
        for file, tree in sources()
        if file.is_relative_to(ROOT / "cluster_model")
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for method in node.body
        if isinstance(method, ast.FunctionDef) and method.name in HANDLERS
    ]
    assert found == []


def test_words_are_found_in_prose_alone() -> None:
    text = Text("x.py", 1, "a broker is told; see `told`, told_us, ./told and --told; Told again")
    assert [match.start() for _, match in stumbles(pattern_of("told"), (text,))] == [12, 58]


def test_an_allowed_use_is_let_pass_there_alone() -> None:
    text = "the field stint"
    pattern = pattern_of(r"stints?|lineages?")
    assert [*stumbles(pattern, (Text("playbooks/session_format/format_1.py", 1, text),))] == []
    assert len([*stumbles(pattern, (Text("playbooks/session_format/bundle.py", 1, text),))]) == 1


@pytest.mark.parametrize("name", ["LogLineage", "_lineage_of", "lineages"])
def test_words_of_names_are_found(name: str) -> None:
    assert any(word in NAMES for word in words(name))


def test_module_and_function_docstrings_say_what_something_is_or_does() -> None:
    """No riddles: a docstring does not begin with a question word, and a class has more than a few words."""
    question = re.compile(r"(?:What|Who|Whom|Whose|Where|How|When|Which|Whoever)\b")
    found = []
    for file, tree in sources():
        shown = file.relative_to(ROOT).as_posix()
        if question.match(ast.get_docstring(tree) or ""):
            found.append(f"{shown}:1: begin with a noun")
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(node)):
                public = not node.name.startswith("_")
                if public and question.match(text):
                    found.append(f"{shown}:{node.lineno}: begin with a noun or a verb")
                if public and isinstance(node, ast.ClassDef) and len(text.split()) < 4:
                    found.append(f"{shown}:{node.lineno}: say what one instance is")
    assert found == []

# ruff: noqa: E501 - a page of prose and tables
"""The page of commands, made from the parser itself: ``python -m docs.generate.commands_page > docs/commands.md``."""

import re
from itertools import groupby
from typing import Any, Final

import typer

from playbooks.text import table_text
from tui.cli.main import app

_HEAD: Final = """# Commands

Every command with its arguments and options. This page is made from the parser (`python -m docs.generate.commands_page`), and
`floodmark COMMAND --help` prints the same; [the command line](cli.md) tells how they work together, what they print, and how
they end.
"""
_WORDS: Final = {
    "<int range>": "N", "<integer range>": "N", "<int>": "N", "<dir>": "DIR", "<path>": "FILE", "<str>": "TEXT",
    "<float>": "X",
}  # fmt: skip
"""What a parser calls a kind of value, and what a reader does."""


def page() -> str:
    """All of it, in Markdown."""
    group: Any = typer.main.get_command(app)
    top = typer.Context(group, info_name="floodmark")
    sections = [_section(group, top, "floodmark")]
    sections += [_section(*each) for each in _commands(group, top)]
    return _HEAD + "".join(sections)


def _commands(group: Any, above: typer.Context) -> list[tuple[Any, typer.Context, str]]:
    """Every command below a group, those of its groups included."""
    found: list[tuple[Any, typer.Context, str]] = []
    for name, command in group.commands.items():
        context = typer.Context(command, info_name=name, parent=above)
        found.append((command, context, context.command_path))
        found += _commands(command, context) if hasattr(command, "commands") else []
    return found


def _section(command: Any, context: typer.Context, path: str) -> str:
    parameters = [record for each in command.params if (record := each.get_help_record(context))]
    text = _text(command.help or "")
    rows = [(f"`{_bare(name)}`", _plain(told)) for name, told in parameters]
    table = f"\n{table_text(('argument or option', 'meaning'), rows)}" if rows else ""
    return f"\n## {path.removeprefix('floodmark ')}\n\n`{_usage(command.get_usage(context))}`\n\n{text}\n{table}"


def _text(told: str) -> str:
    """What is said of a command; the lines that can be typed stand together, as they are typed."""
    paragraphs = [" ".join(paragraph.split()) for paragraph in told.split("\n\n")]
    parts: list[str] = []
    for typed, group in groupby(paragraphs, lambda paragraph: paragraph.startswith("floodmark ")):
        told_here = list(group)
        parts += ["\n".join(["```sh", *told_here, "```"])] if typed else told_here
    return "\n\n".join(parts)


def _usage(told: str) -> str:
    """How a command is called, without the marks of the parser for what is needed."""
    line = " ".join(told.removeprefix("Usage: ").split()).replace("{", "").replace("}", "")
    return line.replace("......", "...").replace("[[", "[").replace("]]", "]")


def _bare(name: str) -> str:
    """A parameter without what the parser knows of its type beside its name."""
    if not name.startswith("-"):
        return re.sub(r" <.*>$", "", name)
    for kind, word in _WORDS.items():
        name = name.replace(kind, word)
    return name.replace("<", "").replace(">", "")


def _plain(told: str) -> str:
    return re.sub(r"\s*\[required\]", "", told).replace("  [", " [")


if __name__ == "__main__":
    print(page(), end="")

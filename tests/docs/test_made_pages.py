"""Pages that are made from the program are the ones that it makes, and leave nothing out."""

from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from cluster_model.protocol.config_defs import SCOPES
from cluster_model.protocol.versions import FLAGS
from docs.generate import commands_page, configs_page
from tui.cli.main import app

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(
    ("name", "made"),
    [("commands.md", commands_page.page), ("configs.md", configs_page.page)],
    ids=["commands", "configs"],
)
def test_the_page_is_up_to_date(name: str, made: Callable[[], str]) -> None:
    """Made by ``python -m docs.generate.commands_page > docs/commands.md``, and likewise the other."""
    assert (DOCS / name).read_text(encoding="utf-8") == made()


def test_every_command_and_option_is_on_its_page() -> None:
    text = commands_page.page()
    for name, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        part = text.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        assert part, name
        options = [option for each in command.params for option in each.opts if option.startswith("--")]
        missing = [option for option in options if option not in part]
        assert missing == [], name


def test_every_command_is_told_of_in_the_command_line_page() -> None:
    text = (DOCS / "cli.md").read_text(encoding="utf-8")
    names = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    assert [name for name in names if f"floodmark {name}" not in text] == []


def test_every_configuration_and_rule_is_on_its_page() -> None:
    text = configs_page.page()
    assert [name for keys in SCOPES.values() for name in keys if f"| `{name}` |" not in text] == []
    assert [flag.name for flag in FLAGS if f"| `{flag.name}` |" not in text] == []

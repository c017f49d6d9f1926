"""Pages that are made from the program are the ones that it makes, and leave nothing out."""

import re
import shutil
from pathlib import Path

import pytest
import typer
from syrupy.assertion import SnapshotAssertion

from cluster_model.protocol.config_defs import SCOPES
from cluster_model.protocol.versions import CLIENT_FLAGS, FLAGS
from docs.generate.__main__ import ALL, PAGES, PICTURES, SCHEMA, main, page_text, write_all
from docs.generate.command_pages import analysis_command_page, command_page, config_page
from playbooks.errors import BAD_INPUT, OK
from tui.cli.main import app, parameter_name

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.mark.parametrize("name", ["commands", "commands-analysis", "configs", "defaults"])
def test_the_page_is_up_to_date(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Made by ``python -m docs.generate commands > docs/reference/commands.md``, and likewise the other."""
    assert main([name]) == OK
    assert capsys.readouterr().out == (DOCS / "reference" / f"{name}.md").read_text(encoding="utf-8")


def test_without_a_page_the_command_lists_each_with_its_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == OK
    rows = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    assert rows[: len(PAGES)] == [[page, f"docs/reference/{page}.md"] for page in sorted(PAGES)]
    assert [name for name, _takes in rows[len(PAGES) :]] == [*PICTURES, ALL]


@pytest.mark.slow
def test_one_command_writes_all_that_is_out_of_date_and_nothing_else(tmp_path: Path) -> None:
    paths = [*(f"docs/reference/{page}.md" for page in PAGES), SCHEMA]
    for path in paths:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    for path, right, wrong in (
        ("docs/reference/faults.md", "# Faults\n", "# Fault\n"),
        ("docs/reference/tui-keys.md", "| `space` |", "| `x` |"),
        (SCHEMA, '"$schema"', '"schema"'),
    ):
        text = (tmp_path / path).read_text(encoding="utf-8")
        assert right in text
        (tmp_path / path).write_text(text.replace(right, wrong, 1), encoding="utf-8")
    (tmp_path / "docs/reference/keys-steps.md").unlink()
    changed = ["docs/reference/faults.md", "docs/reference/keys-steps.md", "docs/reference/tui-keys.md", SCHEMA]
    assert sorted(write_all(tmp_path)) == changed
    assert [path for path in paths if (tmp_path / path).read_bytes() != (ROOT / path).read_bytes()] == []


@pytest.mark.parametrize(
    "arguments",
    [["fault"], ["weather"], ["glossary", "faults"], ["pictures"]],
    ids=["nearest", "unknown", "two pages", "no directory"],
)
def test_unknown_pages_are_rejected_in_one_line(
    arguments: list[str], capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
) -> None:
    assert main(arguments) == BAD_INPUT
    out, err = capsys.readouterr()
    assert out == ""
    (line,) = err.splitlines()
    assert err == f"{line}\n"
    assert line == snapshot


def test_a_picture_that_is_unknown_draws_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
) -> None:
    assert main(["pictures", str(tmp_path / "media"), "scren"]) == BAD_INPUT
    assert capsys.readouterr().err == snapshot
    assert not (tmp_path / "media").exists()


def test_every_page_that_is_made_is_in_the_list_and_names_its_command() -> None:
    """A page that is made says so. That of anomalies does not name the command."""
    texts = {path.stem: path.read_text(encoding="utf-8") for path in DOCS.rglob("*.md")}
    output = r"(?: > docs/reference/([a-z-]+)\.md)?"
    command = rf"\bis\s+generated\s+from\s[^.]*\(`python -m docs\.generate ([a-z-]+){output}`\)"
    made = {page: found.groups() for page, text in texts.items() if (found := re.search(command, text))}
    assert {page: (name, file or page) for page, (name, file) in made.items()} == {
        page: (page, page) for page in PAGES if page != "anomalies"
    }
    assert page_text("glossary").startswith("# Glossary\n")


def test_every_command_and_option_is_on_its_page() -> None:
    text = command_page() + analysis_command_page()
    for name, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        part = text.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        assert part, name
        shown = " ".join(parameter_name(", ".join(each.opts)) for each in command.params)
        options = re.findall(r"(?<!\S)--[a-z-]+", shown)
        missing = [option for option in options if option not in part]
        assert missing == [], name


def test_every_command_is_on_the_command_line_page() -> None:
    text = (DOCS / "run" / "cli.md").read_text(encoding="utf-8")
    names = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    assert [name for name in names if f"floodmark {name}" not in text] == []


def test_every_configuration_and_rule_is_on_its_page() -> None:
    text = config_page()
    assert [name for keys in SCOPES.values() for name in keys if f"| `{name}` |" not in text] == []
    assert [flag.name for flag in (*FLAGS, *CLIENT_FLAGS) if f"| `{flag.name}` |" not in text] == []

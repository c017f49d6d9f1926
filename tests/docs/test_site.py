"""The manual as a site: what its builder (`make docs`) would refuse is found here without it."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from docs.generate.site_hook import on_page_content

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
GUIDES = ("learn", "run", "test", "clients", "operate")
"""Folders of pages that are read from top to bottom."""


class Loader(yaml.SafeLoader):
    """Reads the builder's settings without making the Python objects that they name."""


Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda _loader, suffix, _node: suffix)
SETTINGS: dict[str, Any] = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Loader)


def named(nav: object) -> list[str]:
    """Pages of a part of the navigation, in its order."""
    if isinstance(nav, str):
        return [nav]
    parts = nav.values() if isinstance(nav, dict) else nav
    assert not isinstance(parts, str | int | None)
    return [page for part in parts for page in named(part)]  # type: ignore[attr-defined]


def test_the_navigation_has_every_page_once() -> None:
    assert sorted(named(SETTINGS["nav"])) == sorted(page.relative_to(DOCS).as_posix() for page in PAGES)


def test_the_builder_fails_on_what_leads_nowhere() -> None:
    assert SETTINGS["strict"] is True
    assert set(SETTINGS["validation"].values()) == {"warn"}
    assert set(SETTINGS["validation"]) == {"omitted_files", "absolute_links", "unrecognized_links", "anchors"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_links_of_a_page_stay_in_the_manual(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    inside = [(page.parent / link).resolve() for link in links if "://" not in link]
    assert [each for each in inside if not each.is_relative_to(DOCS)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_lists_are_lists_for_every_reader(page: Path) -> None:
    """Python-Markdown wants an empty line before a list, and four spaces before one in a list."""
    text = re.sub(r"^```.*?^```", "```", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    item = r"(?:[-*]|\d+\.) "
    joined = re.findall(rf"^(?!\s|{item}|$)[^\n]*\n{item}.*", text, re.MULTILINE)
    assert joined == []
    assert re.findall(rf"^ {{1,3}}{item}.*", text, re.MULTILINE) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_a_page_is_short_enough_to_be_read(page: Path) -> None:
    guide = page.parent.name in GUIDES
    assert len(page.read_text(encoding="utf-8").splitlines()) <= (250 if guide else 650)


def test_every_object_of_the_python_page_exists() -> None:
    page = (DOCS / "reference" / "python-api.md").read_text(encoding="utf-8")
    objects = re.findall(r"^::: (\S+)$", page, re.MULTILINE)
    assert len(objects) > 5
    for name in objects:
        module, _, what = name.rpartition(".")
        text = (ROOT / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8")
        assert re.search(rf"^(?:class|def) {what}\b", text, re.MULTILINE), name


def test_the_packages_of_the_builder_are_pinned() -> None:
    done = subprocess.run(["make", "--dry-run", "docs"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "mkdocs build --strict" in done.stdout
    (line,) = re.findall(r"^docs = \[(.*)\]$", (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert [each for each in line.split(", ") if not re.fullmatch(r'"[a-z-]+==[\d.]+"', each)] == []


def test_roles_of_docstrings_leave_their_text() -> None:
    assert on_page_content("<p>As :class:<code>a.B</code> takes.</p>") == "<p>As <code>a.B</code> takes.</p>"

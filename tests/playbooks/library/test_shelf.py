"""The list of bundled playbooks, read off the heads of their files, against the page for which all is read."""

import re
from pathlib import Path

import yaml

from playbooks.library.bundled import names
from playbooks.library.index import THEMES, heading, library_entries

PAGES = Path(__file__).parents[3] / "docs" / "reference"
PAGE = "".join((PAGES / f"library-{theme}.md").read_text(encoding="utf-8") for theme in THEMES)


def test_it_says_of_each_what_the_manual_says() -> None:
    told = re.findall(r"^## (\S+)\n\n\*\*(.+?)\.\*\*\n.*?^- Tags: ([^\n]+)$", PAGE, re.MULTILINE | re.DOTALL)
    assert len(told) == len(names())
    for each in library_entries():
        title, tags = next((title, tags) for name, title, tags in told if name == each.name)
        assert re.sub(r"\W", "", each.title) == re.sub(r"\W", "", title.replace("&lt;", ""))
        assert ", ".join(each.tags) == tags
        assert each.manual == ("traces" in each.tags)


def test_the_library_is_ordered_by_theme_then_name() -> None:
    order = list(THEMES)
    assert [(order.index(each.theme), each.name) for each in library_entries()] == sorted(
        (order.index(each.theme), each.name) for each in library_entries()
    )


def test_words_are_looked_for_in_all_that_is_said() -> None:
    found = {each.name for each in library_entries() if each.fits("Zombie fenced")}
    assert "zombie-producer" in found
    assert "sandbox" not in found
    by_theme = [each for each in library_entries() if each.fits(heading("producers"))]
    assert {each.theme for each in by_theme} == {"producers"}
    assert all(each.fits("") for each in library_entries())


def test_both_readers_of_yaml_make_the_same_of_the_heads(monkeypatch):
    """The quicker one is not everywhere."""
    quick = library_entries()
    monkeypatch.setattr("playbooks.library.index._LOADER", yaml.SafeLoader)
    assert library_entries.__wrapped__() == quick

"""The keys of playbooks in words: the same tables that files are read by."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.manual.verbs import MANUAL_VERBS
from docs.generate.__main__ import PAGES, page_text
from faults.catalogue import CATALOGUE
from playbooks.parser.document.field_types import BooleanType, ChoiceType, Integer, ListOf
from playbooks.parser.key_reference import ANYTHING, BY_HAND, allowed_values_text, full_path, key_mappings, schema

PUBLISHED = Path(__file__).parents[4] / "docs" / "reference"
KEYS = [page for page in PAGES if page.partition("-")[0] == "keys"]

FREE = ("config", "partitioner", "rules")
"""Mappings whose keys are Kafka's, or the playbook's own."""


@pytest.mark.parametrize("page", KEYS)
def test_the_published_page_is_the_generated_one(page: str) -> None:
    """Write it anew: ``make pages``."""
    assert (PUBLISHED / f"{page}.md").read_text(encoding="utf-8") == page_text(page)


def test_every_key_is_on_one_of_the_pages() -> None:
    text = "".join(map(page_text, KEYS))
    for path, place in key_mappings().items():
        if path.startswith(f"{BY_HAND}."):
            assert f"| `{path.partition('.')[2]}` |" in text, path
        else:
            assert len(re.findall(rf"^###? {re.escape(path or 'The file')}$", text, re.MULTILINE)) == 1, path
        assert [name for name in place.keys if f"| `{name}`" not in text] == [], path


def test_every_key_of_the_schema_is_on_its_page() -> None:
    pages = key_mappings()
    found = list(_mappings("", schema()))
    assert len(found) > 12
    for path, names in found:
        assert set(names) <= set(pages[path].keys), path


def _mappings(path: str, rule: dict[str, Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Places of the schema with keys of their own, without their earlier names; steps and expectations are left out."""
    names = {} if path.endswith(FREE) else rule.get("properties", {})
    names = {name: each for name, each in names.items() if not each.get("description", "").startswith("Earlier name")}
    if names and rule.get("additionalProperties") is False:
        yield path, tuple(names)
    for name, each in names.items():
        below = f"{path}.{name}" if path else name
        if below not in ("steps", "expect"):
            yield from _mappings(below, each)
    for each in (*([rule["items"]] if "items" in rule else []), *rule.get("anyOf", ())):
        yield from _mappings(path, each)


def test_every_key_says_what_it_takes_and_what_it_means() -> None:
    for place in key_mappings().values():
        for name, key in place.keys.items():
            assert key.doc.strip(), (place.path, name)
            assert allowed_values_text(key.kind) not in ("", ANYTHING), (place.path, name)


def test_faults_and_verbs_are_all_there() -> None:
    pages = key_mappings()
    assert list(pages["steps.inject"].keys) == list(CATALOGUE)
    assert [name for name in pages[BY_HAND].keys if name in MANUAL_VERBS] == list(MANUAL_VERBS)
    assert "leader" in pages[f"{BY_HAND}.elect"].keys


@pytest.mark.parametrize(
    "kind",
    [BooleanType(), Integer(1, 9), ListOf(Integer(1, 9)), ChoiceType(("a", "b", "c")), ChoiceType(tuple("abcdefghij"))],
    ids=["truth", "integer", "list", "choice", "choice of many"],
)
def test_kinds_in_words(kind: Any, snapshot: SnapshotAssertion) -> None:
    assert allowed_values_text(kind) == snapshot


def test_the_last_word_of_a_place_is_enough() -> None:
    assert full_path("producers") == "clients.producers"
    assert full_path("clients.producers") == "clients.producers"
    assert full_path("nowhere") == "nowhere"

"""The fidelity card says what is so: its tests are there, every rule has an area, and the page is the card."""

import ast
import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from cluster_model.fidelity import AREAS, Area
from cluster_model.protocol.releases import RELEASE_LINES, parse_version
from cluster_model.protocol.versions import FLAG_BY_NAME
from docs.generate.reference_pages import fidelity_page
from playbooks.reference_text import areas_of, changes, document
from tests.cli.conftest import here, typed
from tests.cli.running import Typed
from tests.real_kafka.conformance.known_differences import KNOWN
from tests.real_kafka.conformance.results import recorded
from tests.real_kafka.conformance.scenario_table import SCENARIOS, scenario_named

__all__ = ["here", "typed"]
ROOT = Path(__file__).parents[2]


@cache
def names_in(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name for node in tree.body if isinstance(node, functions) and node.name.startswith("test_")}


@pytest.mark.slow
@pytest.mark.parametrize("area", AREAS, ids=lambda area: area.name)
def test_every_test_of_an_area_is_there(area: Area) -> None:
    assert area.tests
    for each in area.test_ids:
        path, _, name = each.partition("::")
        assert (ROOT / path).is_file(), each
        assert names_in(ROOT / path) & {name} if name else names_in(ROOT / path), each


def test_every_rule_belongs_to_one_area() -> None:
    named = [name for area in AREAS for name in area.flags]
    missing = [name for name in FLAG_BY_NAME if name not in named]
    assert missing == [], "name it among the flags of its area in cluster_model/fidelity.py"
    assert sorted(named) == sorted(FLAG_BY_NAME)


@pytest.mark.parametrize("area", AREAS, ids=lambda area: area.name)
def test_no_rule_is_older_than_its_area(area: Area) -> None:
    first = parse_version(area.since)
    assert [name for name in area.flags if FLAG_BY_NAME[name].since < first] == []


def test_a_release_has_the_areas_that_were_there() -> None:
    assert "idempotence" not in [area.name for area in areas_of("0.10.2")]
    assert "ZooKeeper controller" in [area.name for area in areas_of("3.9")]
    assert "ZooKeeper controller" not in [area.name for area in areas_of("4.0")]
    assert "consumer protocol" not in [area.name for area in areas_of("3.6")]
    assert all(areas_of(version) for version in RELEASE_LINES)


def test_an_area_names_the_real_runs_that_decided_as_the_model_does() -> None:
    named = {name for scenario in SCENARIOS for name in scenario.rules}
    assert named <= {area.name for area in AREAS}
    sections = {text.partition("\n")[0]: text for text in fidelity_page().split("\n## ")}
    for area in AREAS:
        shown = re.search(r"- \*\*runs on real brokers\*\* (.*)", sections[area.name])
        assert shown is not None
        found = [(name, release) for name, releases in re.findall(r"`(.+?)` \((.+?)\)", shown[1])
                 for release in releases.split(", ")]  # fmt: skip
        differing = {(each.scenario, release) for each in KNOWN for release in each.releases}
        assert found == [
            (name, release) for name, release in recorded()
            if area.name in scenario_named(name).rules and (name, release) not in differing
        ]  # fmt: skip
        assert bool(found) == (shown[1] != "none")


def test_the_page_is_up_to_date() -> None:
    """Made by ``python -m docs.generate fidelity > docs/reference/fidelity.md``."""
    assert (ROOT / "docs" / "reference" / "fidelity.md").read_text(encoding="utf-8") == fidelity_page()


def test_the_command_prints_the_card(typed: Callable[..., Typed]) -> None:
    shown = typed("profiles", "--card")
    assert shown.code == 0
    for area in AREAS:
        assert f"{area.name} (" in shown.out
        assert all(f"  not modelled: {each}\n" in shown.out for each in area.left_out)
        assert all(each in shown.out for each in area.test_ids)
        assert all(name in shown.out for name, _kafka, _says in changes(area))


def test_the_card_of_one_release_for_machines(typed: Callable[..., Typed]) -> None:
    shown = typed("profiles", "2.8", "--card", "--json")
    assert json.loads(shown.out) == [document(area) for area in areas_of("2.8")]
    assert typed("profiles", "2.88", "--card").code == 2

"""The manual's page of safety properties, and what is said of who promises them."""

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.checker.invariants.base import InvariantDefinition
from cluster_model.checker.invariants.invariant_checker import DEFINITIONS
from cluster_model.protocol.versions import Profile
from docs.generate.reference_pages import invariant_page, invariant_section
from playbooks.reference_text import PROFILES, guaranteed_versions_text, known_violation_reasons, stricter_guarantees

PUBLISHED = Path(__file__).parents[2] / "docs" / "reference" / "invariants.md"


def test_the_page_is_what_the_registry_says() -> None:
    """Write it anew: ``python -m docs.generate invariants > docs/reference/invariants.md``."""
    assert PUBLISHED.read_text(encoding="utf-8") == invariant_page()


@pytest.mark.parametrize("definition", DEFINITIONS.values(), ids=list(DEFINITIONS))
def test_each_has_a_guarantee_of_one_sentence_and_a_source(definition: InvariantDefinition) -> None:
    assert definition.statement.endswith(".")
    assert ". " not in definition.statement
    assert definition.source
    assert definition.title
    assert invariant_section(definition) in invariant_page()


@pytest.mark.parametrize(
    ("name", "since"),
    [
        ("log-matching", "2.1"),
        ("acks-all-durability", "2.1"),
        ("single-leader-per-epoch", "every"),
        ("maximal-isr-superset", "2.7"),
        ("isr-eligibility", "3.3"),
        ("unclean-exclusion", "4.1"),
    ],
)
def test_since_when_it_is_guaranteed(name: str, since: str, snapshot: SnapshotAssertion) -> None:
    words = guaranteed_versions_text(DEFINITIONS[name])
    assert words.split()[0] == since
    assert words == snapshot


def test_invariants_need_more_fixes_after_a_lost_log(snapshot: SnapshotAssertion) -> None:
    names = ("acks-all-durability", "min-isr", "leader-in-isr")
    assert {name: stricter_guarantees(DEFINITIONS[name]) for name in names} == snapshot
    assert stricter_guarantees(DEFINITIONS["isr-eligibility"]) == []


def test_why_a_version_is_known_to_break_it(snapshot: SnapshotAssertion) -> None:
    durable = DEFINITIONS["acks-all-durability"]
    assert known_violation_reasons(durable, Profile.of("3.9")) == []
    breaking = (Profile.of("2.0"), Profile.of("3.9", "zookeeper"))
    assert {kafka.name: known_violation_reasons(durable, kafka) for kafka in breaking} == snapshot


def test_the_newest_versions_guarantee_everything() -> None:
    for definition in DEFINITIONS.values():
        assert known_violation_reasons(definition, PROFILES[-1]) == []

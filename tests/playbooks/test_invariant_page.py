"""The manual's page of safety properties, and what is said of who promises them."""

from pathlib import Path

import pytest

from cluster_model.checker.invariants.base import Promise
from cluster_model.checker.invariants.invariant_checker import PROMISES
from cluster_model.protocol.versions import Profile
from docs.generate.reference_pages import invariant_page, invariant_section
from playbooks.reference_text import PROFILES, known_words, promised_words, special_words

PUBLISHED = Path(__file__).parents[2] / "docs" / "invariants.md"


def test_the_page_is_what_the_registry_says() -> None:
    """Write it anew: ``python -m docs.generate invariants > docs/invariants.md``."""
    assert PUBLISHED.read_text(encoding="utf-8") == invariant_page()


@pytest.mark.parametrize("promise", PROMISES.values(), ids=list(PROMISES))
def test_each_has_a_promise_of_one_sentence_and_a_source(promise: Promise) -> None:
    assert promise.text.endswith(".")
    assert ". " not in promise.text
    assert promise.source
    assert promise.title
    assert invariant_section(promise) in invariant_page()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("log-matching", "2.1 and later"),
        ("acks-all-durability", "2.1 and later"),
        ("single-leader-per-epoch", "every version"),
        ("maximal-isr-superset", "2.7 and later"),
        ("isr-eligibility", "3.3 and later in KRaft mode"),
        ("unclean-exclusion", "4.1 and later"),
    ],
)
def test_since_when_it_is_promised(name: str, words: str) -> None:
    assert promised_words(PROMISES[name]) == words


def test_more_is_asked_where_a_replica_lost_its_log_and_of_the_hw() -> None:
    assert special_words(PROMISES["acks-all-durability"]) == [("after a lossy crash", "3.5 and later in KRaft mode")]
    assert special_words(PROMISES["min-isr"]) == [("for the HW", "3.7 and later")]
    assert special_words(PROMISES["leader-in-isr"]) == [
        ("with unclean elections", "1.1 and later"),
        ("for replicas that a reassignment takes away", "3.3 and later in KRaft mode"),
    ]
    assert special_words(PROMISES["log-bounds"]) == []


def test_why_a_version_is_known_to_break_it() -> None:
    durable = PROMISES["acks-all-durability"]
    assert known_words(durable, Profile.of("2.0")) == [
        "known for 2.0: KIP-320 mended it in 2.1",
        "known for 2.0: KIP-320 in 2.1 and KIP-380 in 2.2 mended it (after a lossy crash)",
    ]
    assert known_words(durable, Profile.of("3.9")) == []
    assert known_words(durable, Profile.of("3.9", "zookeeper")) == [
        "known for 3.9-zookeeper: KIP-500 (KRaft mode) mended it in 3.3 (after a lossy crash)"
    ]


def test_the_newest_versions_promise_everything() -> None:
    for promise in PROMISES.values():
        assert known_words(promise, PROFILES[-1]) == []

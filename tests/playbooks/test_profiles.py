"""Bundled playbooks pass under the Kafka versions that they name; how those are read and refused."""

import re
from functools import cache

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.protocol.versions import PROFILE_VERSIONS, modes_of
from playbooks.engine.session_runner import start_session
from playbooks.library import bundled
from playbooks.model.playbook import Playbook
from playbooks.parser.document.field_types import ranges_text
from playbooks.parser.loader import loads
from playbooks.parser.settings import apply_settings
from tests.playbooks.thinned import thinned
from tests.support.breadth import EVENING
from tests.support.library import playbook_of
from tests.support.mistakes import keys, messages, mistakes_of

SMALL = """floodmark: 1
name: small
cluster: {{kafka: "2.8", brokers: 1}}
topics: [{{name: orders, replication: 1}}]
{keys}
"""
BEGINS = r"\bkafka: [\"']?([0-9.]+)(?:\+| ?- ?[0-9.]+)"
"""Where a file says that something is for some versions only, and the first of these."""


def read(keys: str) -> Playbook:
    return loads(SMALL.format(keys=keys), "small.yaml")


def representatives(playbook: Playbook) -> list[str]:
    """The first and the last version that a playbook names, and where something in its file begins to count."""
    begin = re.findall(BEGINS, playbook.source)
    chosen = {playbook.profiles[0], playbook.profiles[-1], *begin} & set(playbook.profiles)
    return [version for version in playbook.profiles if version in chosen and version != playbook.spec.kafka]


def others(playbook: Playbook) -> list[tuple[str, str]]:
    """Versions and modes that are not its own, for a playbook that runs in time."""
    if playbook.spec.manual:
        return []  # every trace runs under every version in test_library.py
    modes = re.findall(r"\bmode: (kraft|zookeeper)", playbook.source)
    found = [(kafka, (modes or modes_of(kafka))[0]) for kafka in representatives(playbook)]
    if not modes and playbook.spec.kafka == "3.9" and re.search(BEGINS, playbook.source):
        found.append(("3.9", "zookeeper"))
    return found


TRIED = (
    "0.8.2-zookeeper", "0.10.2-zookeeper", "0.11-zookeeper", "1.1-zookeeper", "2.1-zookeeper", "2.3-zookeeper",
    "2.4-zookeeper", "2.5-zookeeper", "3.0-zookeeper", "3.9-zookeeper", "3.3-kraft", "3.6-kraft", "4.0-kraft",
    "4.1-kraft",
)  # fmt: skip
"""Versions and modes in which one bundled playbook or another is tried besides its own."""


TELLING = {
    "0.8.2-zookeeper": ("acks-1-lost-tail",), "0.10.2-zookeeper": ("retention-overtakes-latest",),
    "0.11-zookeeper": ("delayed-commit",), "1.1-zookeeper": ("offsets-reset",),
    "2.1-zookeeper": ("split-leader-zookeeper", "consumer-truncation"), "2.3-zookeeper": ("consumer-truncation",),
    "2.4-zookeeper": ("instance-id-claimed-twice",), "2.5-zookeeper": ("hanging-transaction",),
    "3.0-zookeeper": ("leader-crash",), "3.9-zookeeper": ("split-leader-zookeeper",),
    "3.3-kraft": ("acks-0-leader-crash", "split-leader"), "3.6-kraft": ("rolling-restart-waiting",),
    "4.0-kraft": ("power-cut-all",), "4.1-kraft": ("leader-without-followers", "retention-overtakes-earliest"),
}  # fmt: skip
"""Some of them each, of leaders, groups and transactions: for an evening, all."""


@cache
def tried() -> dict[str, list[str]]:
    """Version and mode → the bundled playbooks to try in it."""
    found: dict[str, list[str]] = {}
    for name in bundled.names():
        for kafka, mode in others(playbook_of(name)):
            found.setdefault(f"{kafka}-{mode}", []).append(name)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("profile", TRIED)
def test_playbooks_pass_under_the_versions_they_name(profile: str) -> None:
    kafka, _, mode = profile.partition("-")
    for name in tried()[profile] if EVENING else TELLING[profile]:
        text = bundled.path_of(name).read_text(encoding="utf-8") if EVENING else thinned(name)
        playbook = loads(apply_settings(text, {"cluster.kafka": kafka, "cluster.mode": mode}), name)
        assert playbook.spec.profile.name == profile
        result = start_session(playbook).finish()
        wrong = [f"{each.text}: {each.detail}" for each in result.expectations if not each.ok]
        assert (name, result.verdict, wrong, result.reason) == (name, "pass", [], "")


def test_versions_of_all_ages_are_tried() -> None:
    assert set(tried()) == set(TRIED) == set(TELLING)
    assert all(set(names) <= set(tried()[profile]) for profile, names in TELLING.items())
    assert sum(map(len, tried().values())) > 90


def test_a_playbook_is_for_its_own_version_unless_it_names_others() -> None:
    assert read("").profiles == ("2.8",)
    assert read("profiles: 2.1").profiles == ("2.1",)
    assert read("profiles: 3.9+").profiles == ("3.9", "4.0", "4.1")
    assert read("profiles: 0.8.2+").profiles == PROFILE_VERSIONS
    assert read("profiles: [3.9+, 0.8.2-0.10.0, 3.9]").profiles == ("0.8.2", "0.9", "0.10.0", "3.9", "4.0", "4.1")


@pytest.mark.parametrize("text", ["0.8.2+", "1.1", "0.11-2.6", "0.9-0.10.1, 2.1, 3.9+", "2.4-2.5", "4.0+"])
def test_versions_are_written_as_they_are_read(text: str) -> None:
    assert ranges_text(read(f"profiles: [{text}]").profiles) == text


def test_where_a_story_comes_from_is_one_text_or_several() -> None:
    assert read("").origins == ()
    assert read("source: KIP-966").origins == ("KIP-966",)
    assert read("source: >-\n  KIP-966,\n  its motivation").origins == ("KIP-966, its motivation",)
    assert read("source: [KIP-966, 'KAFKA-1211: a bug']").origins == ("KIP-966", "KAFKA-1211: a bug")


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ("source: {kip: 966}", "source"),
        ("source:", "source"),
        ("source: []", "source"),
        ("source: [KIP-966, []]", "source[2]"),
        ("profiles: {from: 2.1}", "profiles"),
        ("profiles: []", "profiles"),
        ("profiles: [2.1+, 2.99]", "profiles[2]"),
        ("profiles: 3.9-2.1", "profiles"),
        ("profiles: [[2.1]]", "profiles[1]"),
    ],
)
def test_what_is_wrong_with_them_is_told(given: str, key: str, snapshot: SnapshotAssertion) -> None:
    problems = mistakes_of(lambda: read(given))
    assert keys(problems) == [key]
    assert messages(problems) == snapshot

"""Bundled playbooks pass under the Kafka versions that they name; how those are read and refused."""

import re

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.protocol.releases import RELEASE_LINES
from cluster_model.protocol.versions import modes_of
from playbooks.engine.session_runner import start_session
from playbooks.library import bundled
from playbooks.model.playbook import Playbook
from playbooks.parser.document.field_types import ranges_text
from playbooks.parser.loader import loads
from playbooks.parser.settings import apply_settings
from tests.playbooks.thinned import thinned
from tests.support.library import playbook_of
from tests.support.mistakes import keys, messages, mistakes_of

SMALL = """floodmark: 1
name: small
cluster: {{kafka: "2.8", brokers: 1}}
topics: [{{name: orders, replication: 1}}]
{keys}
"""
FOR_SOME = r"\bkafka: [\"']?[0-9.]+(?:\+| ?- ?[0-9.]+)"
"""Where a file says that something is for some versions only."""
STEPPED = re.compile(r"^stepping: manual$", re.MULTILINE)
TIMED = [name for name in bundled.names() if not STEPPED.search(bundled.path_of(name).read_text(encoding="utf-8"))]
"""Those that are not stepped by hand."""
PASSED = ("pass", list[str](), "")


def read(keys: str) -> Playbook:
    return loads(SMALL.format(keys=keys), "small.yaml")


TELLING = {
    "0.8.2-zookeeper": ("acks-1-lost-tail",), "0.10.2-zookeeper": ("retention-overtakes-latest",),
    "0.11-zookeeper": ("delayed-commit",), "1.1-zookeeper": ("offsets-reset",),
    "2.1-zookeeper": ("split-leader-zookeeper", "consumer-truncation"), "2.3-zookeeper": ("consumer-truncation",),
    "2.4-zookeeper": ("instance-id-claimed-twice",), "2.5-zookeeper": ("hanging-transaction",),
    "2.6-zookeeper": ("follower-partitioned",), "2.7-zookeeper": ("both-followers-paused",),
    "3.0-zookeeper": ("leader-crash",), "3.9-zookeeper": ("split-leader-zookeeper",),
    "3.3-kraft": ("acks-0-leader-crash", "split-leader"), "3.6-kraft": ("rolling-restart-waiting",),
    "4.0-kraft": ("power-cut-all",), "4.1-kraft": ("leader-without-followers", "retention-overtakes-earliest"),
}  # fmt: skip
"""Version and mode → some of those that are for it, of leaders, groups and transactions."""


def outcome(text: str, name: str, kafka: str, mode: str) -> tuple[str, list[str], str]:
    """The verdict of a run, the expectations that did not hold, and the verdict's reason."""
    playbook = loads(apply_settings(text, {"cluster.kafka": kafka, "cluster.mode": mode}), name)
    assert playbook.spec.profile.name == f"{kafka}-{mode}"
    result = start_session(playbook).finish()
    wrong = [f"{each.text}: {each.detail}" for each in result.expectations if not each.ok]
    return result.verdict, wrong, result.reason


@pytest.mark.slow
@pytest.mark.parametrize("profile", TELLING)
def test_playbooks_pass_under_versions_of_all_ages(profile: str) -> None:
    kafka, _, mode = profile.partition("-")
    for name in TELLING[profile]:
        assert kafka in playbook_of(name).profiles
        assert (name, outcome(thinned(name), name, kafka, mode)) == (name, PASSED)


@pytest.mark.evening
@pytest.mark.parametrize("name", TIMED)
def test_each_passes_under_every_version_that_it_names(name: str) -> None:
    """Those that are stepped by hand do so in test_library.py."""
    playbook = playbook_of(name)
    modes = re.findall(r"\bmode: (kraft|zookeeper)", playbook.source)
    profiles = [(kafka, (modes or modes_of(kafka))[0]) for kafka in playbook.profiles]
    if not modes and playbook.spec.kafka == "3.9" and re.search(FOR_SOME, playbook.source):
        profiles.append(("3.9", "zookeeper"))
    for kafka, mode in profiles:
        assert (kafka, mode, outcome(playbook.source, name, kafka, mode)) == (kafka, mode, PASSED)


def test_a_playbook_is_for_its_own_version_unless_it_names_others() -> None:
    assert read("").profiles == ("2.8",)
    assert read("profiles: 2.1").profiles == ("2.1",)
    assert read("profiles: 3.9+").profiles == ("3.9", "4.0", "4.1", "4.2", "4.3", "4.4")
    assert read("profiles: 0.8.2+").profiles == RELEASE_LINES
    assert read("profiles: [3.9+, 0.8.2-0.10.0, 3.9]").profiles == (
        "0.8.2", "0.9", "0.10.0", "3.9", "4.0", "4.1", "4.2", "4.3", "4.4",
    )  # fmt: skip


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
def test_invalid_profile_ranges_are_reported(given: str, key: str, snapshot: SnapshotAssertion) -> None:
    problems = mistakes_of(lambda: read(given))
    assert keys(problems) == [key]
    assert messages(problems) == snapshot

"""``floodmark library``: what there is, by theme and by what was asked for, and all about one."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.protocol.releases import PATCHES, RELEASE_LINES
from playbooks.library.bundled import FRAGMENTS, fragment_names, names, path_of
from playbooks.library.index import TAGS, THEMES, heading, theme_of
from playbooks.model.step_text import timeline
from playbooks.parser.loader import loads
from playbooks.text import MODELINE, without_modeline
from tests.cli.running import Typed
from tests.support.breadth import EVENING, spread_sample
from tests.support.library import playbook_of
from tests.support.playbooks import CRASH, MANUAL
from tui.cli.reference import library

Type = Callable[..., Typed]
WIDTH = 80


@pytest.fixture(autouse=True)
def each_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library is the same for every command here."""
    monkeypatch.setattr(library, "load", lambda path: playbook_of(path.stem))


def listed(out: str) -> list[str]:
    """The names in a list: the first word of each line that is indented by two."""
    return re.findall(r"^  ([a-z0-9][^ ]*)", out, re.MULTILINE)


@pytest.mark.slow
def test_every_bundled_playbook_is_listed_once_under_its_theme(typed: Type) -> None:
    out, _, fragments = typed("library").out.partition("Fragments")
    assert sorted(listed(out)) == list(names())
    assert listed(fragments) == list(fragment_names())
    places = [out.index(f"{heading(theme)} (--tag {theme})") for theme in THEMES]
    assert places == sorted(places)
    for theme, start, end in zip(THEMES, places, [*places[1:], len(out)], strict=True):
        wanted = [name for name in names() if theme_of(playbook_of(name).tags) == theme]
        assert listed(out[start:end]) == wanted


@pytest.mark.parametrize("tag", spread_sample([*THEMES, "loss", "elr"], 3))
def test_a_tag_chooses(typed: Type, tag: str) -> None:
    wanted = [name for name in names() if tag in playbook_of(name).tags]
    assert wanted
    assert sorted(listed(typed("library", "--tag", tag).out)) == wanted
    assert [each["name"] for each in json.loads(typed("library", "--tag", tag, "--json").out)] == wanted


@pytest.mark.slow
@pytest.mark.parametrize("kafka", ["0.8.2", "2.1", "4.1"])
def test_a_version_chooses_together_with_a_tag(typed: Type, kafka: str) -> None:
    wanted = [name for name in names() if kafka in playbook_of(name).profiles]
    assert 0 < len(wanted) < len(names())
    assert sorted(listed(typed("library", "--kafka", kafka).out)) == wanted
    assert sorted(listed(typed("library", "--kafka", PATCHES[kafka][0]).out)) == wanted
    both = typed("library", "--kafka", kafka, "--tag", "loss").out
    assert sorted(listed(both)) == [name for name in wanted if "loss" in playbook_of(name).tags]


def test_a_filter_without_matches_prints_an_empty_list(typed: Type, snapshot: SnapshotAssertion) -> None:
    done = typed("library", "--tag", "elr", "--kafka", "0.9")
    fitting = [name for name in names() if "elr" in playbook_of(name).tags and "0.9" in playbook_of(name).profiles]
    assert sorted(listed(done.out)) == fitting
    none = typed("library", "--tag", "kraft", "--kafka", "0.8.2")
    assert (none.code, none.out) == (0, "")
    assert none.err == snapshot
    assert json.loads(typed("library", "--tag", "kraft", "--kafka", "0.8.2", "--json").out) == []


def test_the_file_itself_is_printed_as_it_is_but_for_the_line_for_editors(typed: Type) -> None:
    line, _, rest = path_of("leader-crash").read_text().partition("\n")
    assert line.startswith(MODELINE)
    assert typed("library", "leader-crash", "--yaml").out == rest


def test_a_fragment_is_printed_as_it_is(typed: Type) -> None:
    assert typed("library", "az-loss").out == (FRAGMENTS / "az-loss.yaml").read_text()
    assert json.loads(typed("library", "az-loss", "--json").out)["variables"]["outage"] == "60s"


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ["leader-crush"],
        ["leader-crush", "--yaml"],
        ["--tag", "lose"],
        ["--kafka", "0.8"],
        ["leader-crash", "--tag", "loss"],
        ["leader-crash", "--kafka", "3.9"],
        ["--yaml"],
        ["leader-crash", "--yaml", "--json"],
    ],
    ids=" ".join,
)
def test_invalid_library_options_are_rejected_without_output(
    typed: Type, words: list[str], snapshot: SnapshotAssertion
) -> None:
    done = typed("library", *words)
    assert (done.code, done.out) == (2, "")
    assert done.err == snapshot


@pytest.mark.slow
@pytest.mark.parametrize("name", names() if EVENING else spread_sample(names(), 24))
def test_all_about_one_is_reported_within_80_columns(typed: Type, name: str) -> None:
    playbook = playbook_of(name)
    out = typed("library", name).out
    flat = " ".join(out.split())
    assert [line for line in out.splitlines() if len(line) > WIDTH and "/" not in line] == []
    for text in (playbook.title, playbook.story, *playbook.origins, *playbook.tags):
        assert " ".join(text.split()) in flat
    for _when, what in timeline(playbook):
        assert " ".join(what.split()) in flat
    for expectation in playbook.expectations:
        assert " ".join(expectation.text.split()) in flat
    assert f"floodmark run {name}" in flat


def test_the_list_fits_80_columns(typed: Type) -> None:
    assert [line for line in typed("library").out.splitlines() if len(line) > WIDTH] == []


def test_the_document_of_one_is_complete(typed: Type, snapshot: SnapshotAssertion) -> None:
    document: dict[str, Any] = json.loads(typed("library", "power-cut-elr", "--json").out)
    playbook = playbook_of("power-cut-elr")
    assert document["theme"] == "durability"
    assert document["source"] == list(playbook.origins)
    assert document["profiles"] == list(playbook.profiles)
    assert document["yaml"] == without_modeline(playbook.source)
    assert [step["when"] for step in document["steps"]] == ["at 40s", "at 50s", "at 55s", "at 80s"]
    assert [step["what"] for step in document["steps"]] == snapshot
    assert document["expectations"][-1]["kind"] == "eventually"
    assert document["commands"][0].split() == ["floodmark", "run", "power-cut-elr"]
    assert set(document["tags"]) <= {*THEMES, *TAGS}
    assert set(document["profiles"]) <= set(RELEASE_LINES)


def test_steps_are_reported_with_when_they_act(snapshot: SnapshotAssertion) -> None:
    told = timeline(loads(CRASH, "small.yaml"))
    assert told == snapshot
    by_hand = timeline(loads(MANUAL, "hand.yaml"))
    assert [when for when, _what in by_hand if when] == [str(number) for number in range(1, 7)]


def test_a_broken_file_of_ones_own_is_no_matter_of_the_library(typed: Type, here: Path) -> None:
    (here / "leader-crash").write_text("nonsense")
    assert typed("library", "leader-crash").code == 0

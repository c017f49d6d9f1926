"""What an exploration finds is a playbook that comes to the same, and its file is checked as playbooks are."""

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.model_checker.search import StateSpaceSearch
from cluster_model.model_checker.transitions import ACTIONS, ExplorationBounds, Transitions
from playbooks.engine.manual_session import ManualSession
from playbooks.errors import PlaybookError
from playbooks.model_checking.exploration import LIMITS, find, loads, playbook, presets
from playbooks.parser.loader import loads as loads_playbook
from playbooks.results.result import SessionResult
from tests.support.breadth import EVENING


def ran(text: str) -> SessionResult:
    session = ManualSession.start(loads_playbook(text, "found.yaml"))
    while session.advance():
        pass
    return session.finish()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["truncate-to-hw", "kip-279", *(["kip-101", "fast-failovers"] if EVENING else [])])
def test_counterexample_playbooks_reproduce_their_violation(name: str) -> None:
    exploration = find(name)
    moves = Transitions(exploration.profile, exploration.bounds)
    seen = StateSpaceSearch(moves, symmetry=True).run(stop_on_first=True)
    assert seen.violated
    for found, broken in seen.violated.items():
        text = playbook(f"{name}-{found}", "found", moves, found, broken)
        assert ran(text).verdict == "pass", found
        assert ran(_without_the_way(text)).verdict == "fail", found


def _without_the_way(text: str) -> str:
    """Only what shows what comes of it is left."""
    lines = text.splitlines(keepends=True)
    here = next(number for number, line in enumerate(lines) if line.startswith("  # Here "))
    return "".join(lines[: lines.index("steps:\n") + 1] + lines[here:])


def test_presets_are_sound_and_name_themselves() -> None:
    assert len(presets()) == 7
    for name in presets():
        exploration = find(name)
        assert exploration.name == name
        assert exploration.story
        assert all(low <= getattr(exploration.bounds, key) <= high for key, (low, high) in LIMITS.items())


def test_a_file_says_everything() -> None:
    text = (
        'floodmark: 1\nexplore: mine\nkafka: "3.9"\nmode: kraft\nreplicas: 2\nlog_size: 3\nrecords: 3\nepochs: 1\n'
        "restarts: 1\nactions: [elect, lead]\n"
    )
    exploration = loads(text, "mine.yaml")
    assert exploration.title == "mine"
    assert exploration.profile.name == "3.9-kraft"
    assert exploration.bounds == ExplorationBounds(2, 3, 3, 1, 1, frozenset({"elect", "lead"}))
    assert loads("floodmark: 1\nexplore: all\n", "x").bounds.actions == frozenset(ACTIONS)


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("floodmark: 1\n", [""]),
        ("floodmark: 1\nexplore: x\nepoch: 3\n", ["epoch"]),
        ("floodmark: 1\nexplore: x\nepochs: 9\n", ["epochs"]),
        ("floodmark: 1\nexplore: x\nactions: [elect, crash]\n", ["actions[2]"]),
        ('floodmark: 1\nexplore: x\nkafka: "4.1"\nmode: zookeeper\n', ["mode"]),
        ("floodmark: 1\nexplore: x\nas_module: 7\n", ["as_module"]),
        ('floodmark: 1\nexplore: x\nkafka: "2.0"\nas_module: true\n', ["as_module"]),
        ("- a\n", [""]),
        ("floodmark: 1\nname: a\nsteps: []\n", ["explore"]),
    ],
    ids=[
        "no name",
        "unknown key",
        "too many",
        "unknown action",
        "unknown mode",
        "no module",
        "older than it",
        "a list",
        "a playbook",
    ],
)
def test_mistakes_are_reported_with_their_place(text: str, keys: list[str], snapshot: SnapshotAssertion) -> None:
    with pytest.raises(PlaybookError) as refused:
        loads(text, "mine.yaml")
    assert [(each.path, each.key) for each in refused.value.problems] == [("mine.yaml", key) for key in keys]
    assert str(refused.value) == snapshot


def test_an_unknown_name_is_reported_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="kip-101"):
        find("kip-102")
    with pytest.raises(PlaybookError, match="cannot be read"):
        find(str(tmp_path / "none.yaml"))

"""The page's example of fragments is what it says: saved under the names in it, it loads, runs and passes."""

import re
from pathlib import Path

import pytest

from playbooks.engine.session_runner import start_session
from playbooks.parser.loader import load, read_fragment

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "run" / "fragments.md"


FRAGMENTS = ["parts/shop.yaml", "parts/bad-day.yaml", "shop-cluster.yaml"]


@pytest.fixture
def saved(tmp_path: Path) -> dict[str, Path]:
    """The files of the page by name."""
    blocks = re.findall(
        r"^```yaml\n# (\S+\.yaml)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    for name, text in blocks:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return {name: tmp_path / name for name, _text in blocks}


def test_the_fragments_are_sound(saved: dict[str, Path]) -> None:
    assert [read_fragment(saved[name]).name for name in FRAGMENTS] == ["shop", "bad-day", "shop-cluster"]


def test_the_playbook_that_includes_them_passes(saved: dict[str, Path]) -> None:
    playbook = load(saved["shop-has-a-bad-day.yaml"])
    assert list(playbook.fragments) == ["parts/shop.yaml", "parts/bad-day.yaml", "rolling-restart"]
    assert [step.target for step in playbook.steps if step.name == "crash"] == ["broker(1)", "broker(2)", "broker(3)"]
    assert start_session(playbook).finish().verdict == "pass"


def test_the_playbook_with_a_cluster_file_passes(saved: dict[str, Path]) -> None:
    playbook = load(saved["shop-loses-a-broker.yaml"])
    assert list(playbook.fragments) == ["shop-cluster.yaml"]
    assert start_session(playbook).finish().verdict == "pass"

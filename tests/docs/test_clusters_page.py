"""What the page on one's own cluster tells people to type works, in its order, and gives what it shows."""

import re
from pathlib import Path

import pytest

from tests.docs.test_readme import ROOT, SCREEN, blocks, here, type_here

pytestmark = pytest.mark.slow

PAGE = ROOT / "docs" / "operate" / "clusters.md"


def test_every_command_of_the_page_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here(tmp_path, monkeypatch)
    (tmp_path / "topics.txt").write_text(blocks(PAGE, "topics.txt")[0])
    for block in blocks(PAGE, "yaml"):
        name, text = re.fullmatch(r"# (\S+)\n(.*)", block, re.DOTALL).groups()  # type: ignore[union-attr]
        (tmp_path / name).write_text(text)
    typed = [line[2:] for block in blocks(PAGE, "console") for line in block.splitlines()]
    printed = {}
    for command in typed:
        code, printed[command] = type_here(command.replace("floodmark", SCREEN, 1))
        assert code == 0, (command, printed)
    (risks,) = (text for command, text in printed.items() if " risks " in command)
    assert [risks] == blocks(PAGE, "text")
    assert (tmp_path / "shop.yaml").read_text() == blocks(PAGE, r"shop\.yaml")[0]

"""What of a folder is a playbook."""

import os
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from playbooks.parser.document.includes import playbooks_under, walk
from tests.support.mistakes import messages, mistakes_of
from tests.support.playbooks import MANUAL


def put(folder: Path, *names: str, text: str = MANUAL) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def found(folder: Path) -> list[str]:
    return [str(path.relative_to(folder)) for path in playbooks_under(folder)]


def test_files_are_found_all_the_way_down_in_the_order_of_their_paths(tmp_path: Path) -> None:
    put(tmp_path, "b.yaml", "a/z.yml", "a/b/c.YAML", "a.yaml", "README.md", "a/notes.txt", "x.yaml.bak")
    assert found(tmp_path) == ["a/b/c.YAML", "a/z.yml", "a.yaml", "b.yaml"]


def test_hidden_files_and_fragments_are_skipped_but_broken_files_are_not(tmp_path: Path) -> None:
    put(tmp_path, ".hidden.yaml", ".git/x.yaml", "a.yaml")
    put(tmp_path, "zone.yaml", text="floodmark: 1\nfragment: zone\nsteps: []\n")
    put(tmp_path, "flow.yaml", text="{floodmark: 1, 'fragment': x}\n")
    put(tmp_path, "story.yaml", text="story: |\n fragment: of a story\n")
    put(tmp_path, "broken.yaml", text="{")
    assert found(tmp_path) == ["a.yaml", "broken.yaml", "story.yaml"]


def test_links_to_files_are_followed_and_to_folders_not(tmp_path: Path) -> None:
    put(tmp_path, "suite/a.yaml")
    (tmp_path / "suite" / "again").symlink_to(tmp_path / "suite")
    (tmp_path / "suite" / "b.yaml").symlink_to(tmp_path / "suite" / "a.yaml")
    (tmp_path / "suite" / "c.yaml").symlink_to(tmp_path / "nowhere")
    (tmp_path / "suite" / "folder.yaml").mkdir()
    assert found(tmp_path / "suite") == ["a.yaml", "b.yaml", "c.yaml"]


@pytest.mark.parametrize(
    ("names", "text"), [((), ""), (("x.yaml",), "fragment: x\n")], ids=["empty", "only a fragment"]
)
def test_a_folder_without_playbooks_is_refused(
    tmp_path: Path, names: tuple[str, ...], text: str, snapshot: SnapshotAssertion
) -> None:
    put(tmp_path, *names, text=text)
    (problem,) = mistakes_of(lambda: playbooks_under(tmp_path))
    assert problem.path == str(tmp_path)
    assert problem.message == snapshot


def test_every_folder_that_cannot_be_read_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    put(tmp_path, "a.yaml", "b/b.yaml", "c/c.yaml")
    scandir = os.scandir

    def closed(path: str) -> object:
        if Path(path).name in ("b", "c"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", closed)
    files, problems = walk(tmp_path)
    assert files == [tmp_path / "a.yaml"]
    assert [each.path for each in problems] == [str(tmp_path / name) for name in ("b", "c")]
    assert messages(problems) == snapshot
    assert mistakes_of(lambda: playbooks_under(tmp_path)) == tuple(problems)

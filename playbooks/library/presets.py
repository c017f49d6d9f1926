"""The playbooks that come along for storms: a cluster and its load, and what the storms over them draw from."""

from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent / "presets"


def presets() -> tuple[str, ...]:
    """Their names."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))


def found(source: str) -> str:
    """Where a source is to be read: the file of a preset of that name, unless there is a file; else as it is."""
    return str(FOLDER / f"{source}.yaml") if source in presets() and not Path(source).exists() else source

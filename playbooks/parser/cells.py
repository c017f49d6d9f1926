"""From a playbook with a grid to the text of each of its cells: the cell's settings made, and no grid any more.

A cell's text is a playbook of its own. It is recorded with its session, so that each can be replayed alone.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

import yaml

from playbooks.model.grid import SEED, Cell
from playbooks.parser.document.axes import paths_of
from playbooks.parser.document.yaml_source import Mapping as YamlMapping
from playbooks.parser.settings import SettingError, apply_settings

NOTHING: Final = "{}"


def settings_of(cell: Cell, root: YamlMapping, brought: Sequence[str] = ()) -> dict[str, str]:
    """The ``--set`` paths of a cell with their values; the seed is none of them.

    ``root`` is the playbook's tree, ``brought`` are the variables of its fragments.

    Raises:
        AxisError: an axis that leads nowhere.
    """
    return {path: value for name, value in cell for path in paths_of(name, root, brought)}


def seed_of(cell: Cell) -> int | None:
    """The seed that the cell asks for, None for the playbook's own."""
    return next((int(value) for name, value in cell if name == SEED), None)


def cell_text(
    text: str,
    settings: Mapping[str, str],
    fragments: Mapping[str, str] = MappingProxyType({}),
    variables: Sequence[str] = (),
) -> str:
    """The playbook's text with a cell's settings, and with an empty grid; lines stay where they are.

    Raises:
        SettingError: a path that leads nowhere, or a grid whose anchors the rest of the file uses.
    """
    try:
        return apply_settings(without_grid(text), settings, fragments, variables)
    except yaml.YAMLError:
        raise SettingError("vary: an anchor in it is used outside of it, where a cell has none") from None


def without_grid(text: str) -> str:
    """The text with an empty ``vary``; the same where there is none."""
    root = yaml.compose(text, yaml.SafeLoader)
    for key, value in root.value if isinstance(root, yaml.MappingNode) else ():
        if key.value == "vary" and isinstance(value, yaml.MappingNode):
            start, end = value.start_mark.index, value.end_mark.index
            lines = "\n" * text.count("\n", start, end)
            return text[:start] + NOTHING + lines + text[end:]
    return text

"""Print a page of the manual, write all of them, or draw its pictures: ``python -m docs.generate [PAGE]``."""

import re
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from playbooks.errors import BAD_INPUT, OK, nearest, shown

PAGES: Final[Mapping[str, str]] = {
    "anomalies": "docs.generate.reference_pages:anomaly_page",
    "causes": "docs.generate.reference_pages:cause_page",
    "commands": "docs.generate.command_pages:command_page",
    "configs": "docs.generate.command_pages:config_page",
    "defaults": "docs.generate.command_pages:defaults_page",
    "faults": "docs.generate.reference_pages:fault_page",
    "fidelity": "docs.generate.reference_pages:fidelity_page",
    "fleet-tables": "docs.generate.report_pages:fleet_tables_page",
    "gateway-apis": "docs.generate.reference_pages:api_page",
    "glossary": "docs.generate.command_pages:glossary_page",
    "invariants": "docs.generate.reference_pages:invariant_page",
    "keys": "docs.generate.reference_pages:key_page",
    "library": "docs.generate.reference_pages:library_page",
    "liveness": "docs.generate.reference_pages:liveness_page",
    "report-tables": "spark_report.tables.registry:dictionary_page",
}
"""Page to the function that makes its text. A page is the file ``docs/PAGE.md``."""
PICTURES: Final[Mapping[str, tuple[str, str]]] = {
    "pictures": ("docs.generate.screenshots:draw_screens", "DIRECTORY [NAME...]"),
    "report-pictures": ("docs.generate.report_pages:draw_report", "SESSION... DIRECTORY"),
}
"""Pictures to the function that draws them, and what it takes."""
ALL: Final = "all"
"""Writes every generated file: pages, the schema of playbooks, and the tables of keys in ``docs/tui.md``."""

ROOT: Final = Path(__file__).parents[2]
SCHEMA: Final = "playbooks/floodmark.schema.json"
KEY_TABLES: Final = "docs/tui.md"
_HEAD: Final = r"\| key \| what it does \| id \|\n(?:\|.*\n)+"
_BOTH_TABLES: Final = re.compile(rf"^{_HEAD}\n.*\n\n{_HEAD}", re.MULTILINE)


def page_text(page: str) -> str:
    """What a page says now."""
    text: str = _function(PAGES[page])()
    return text


def generated_files(root: Path) -> dict[str, str]:
    """Path below ``root`` to text of every file that is generated whole or in part.

    Raises:
        ValueError: ``docs/tui.md`` does not have its two tables of keys.
    """
    found = {f"docs/{page}.md": page_text(page) for page in PAGES}
    found[SCHEMA] = _function("playbooks.parser.key_reference:text")()
    tables: str = _function("tui.keybindings.scopes:manual")()
    text, count = _BOTH_TABLES.subn(lambda _found: tables, (root / KEY_TABLES).read_text(encoding="utf-8"))
    if count != 1:
        raise ValueError(f"{KEY_TABLES}: found {count} places with two tables of keys, allowed is one")
    found[KEY_TABLES] = text
    return found


def write_all(root: Path) -> list[str]:
    """Write every generated file that is out of date below ``root``; return the paths of those."""
    texts = generated_files(root)
    old = [path for path, text in texts.items() if (root / path).read_text(encoding="utf-8") != text]
    for path in old:
        (root / path).write_text(texts[path], encoding="utf-8")
    return old


def main(arguments: Sequence[str]) -> int:
    """Print the page that is named, write all, draw pictures, or list what there is; return the exit code."""
    if not arguments:
        print(_overview(), end="")
        return OK
    name, *more = arguments
    if name in PICTURES:
        code: int = _function(PICTURES[name][0])(more)
        return code
    if name == ALL and not more:
        print("".join(f"wrote {path}\n" for path in write_all(ROOT)) or "all is up to date\n", end="")
        return OK
    if name not in (*PAGES, ALL):
        found = f"no page {shown(name)}{nearest(name, (*PAGES, *PICTURES, ALL))}"
        print(f"{found}; see: python -m docs.generate", file=sys.stderr)
        return BAD_INPUT
    if more:
        print(f"found {shown(more[0])} after page {name}; usage: python -m docs.generate PAGE", file=sys.stderr)
        return BAD_INPUT
    print(page_text(name), end="")
    return OK


def _overview() -> str:
    """Each page with its file, and each kind of picture with what it takes."""
    width = max(map(len, (*PAGES, *PICTURES)))
    lines = [f"{page:{width}}  docs/{page}.md" for page in PAGES]
    lines += [f"{name:{width}}  {takes}" for name, (_function_name, takes) in PICTURES.items()]
    lines += [f"{ALL:{width}}  writes every page, {SCHEMA} and the tables of keys in {KEY_TABLES}"]
    return "".join(f"{line}\n" for line in lines)


def _function(place: str) -> Any:
    """The function at ``module:name``; its module is loaded only now, for some take seconds."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

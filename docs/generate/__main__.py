"""Print a page of the manual, write all pages, or draw pictures: ``python -m docs.generate [PAGE]``."""

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from playbooks.errors import BAD_INPUT, OK, nearest, shown

PAGES: Final[Mapping[str, str]] = {
    "anomalies": "docs.generate.reference_pages:anomaly_page",
    "causes": "docs.generate.reference_pages:cause_page",
    "commands": "docs.generate.command_pages:command_page",
    "commands-analysis": "docs.generate.command_pages:analysis_command_page",
    "conditions": "docs.generate.playbook_pages:conditions_page",
    "configs": "docs.generate.command_pages:config_page",
    "conformance": "tests.real_kafka.conformance.results:page_text",
    "defaults": "docs.generate.command_pages:defaults_page",
    "faults": "docs.generate.catalogue_pages:fault_page",
    "faults-clients": "docs.generate.catalogue_pages:fault_family_page:clients",
    "faults-control-plane": "docs.generate.catalogue_pages:fault_family_page:control-plane",
    "faults-disks": "docs.generate.catalogue_pages:fault_family_page:disks",
    "faults-links": "docs.generate.catalogue_pages:fault_family_page:links",
    "faults-processes": "docs.generate.catalogue_pages:fault_family_page:processes",
    "fidelity": "docs.generate.reference_pages:fidelity_page",
    "fleet-tables": "docs.generate.report_pages:fleet_tables_page",
    "gateway-apis": "docs.generate.reference_pages:api_page",
    "glossary": "docs.generate.command_pages:glossary_page",
    "invariants": "docs.generate.reference_pages:invariant_page",
    "keys": "docs.generate.catalogue_pages:key_page",
    "keys-clients": "docs.generate.catalogue_pages:key_part_page:clients",
    "keys-manual": "docs.generate.catalogue_pages:key_part_page:manual",
    "keys-steps": "docs.generate.catalogue_pages:key_part_page:steps",
    "known-issues": "docs.generate.reference_pages:known_issues_page",
    "library": "docs.generate.catalogue_pages:library_page",
    "library-consumers": "docs.generate.catalogue_pages:library_theme_page:consumers",
    "library-controller": "docs.generate.catalogue_pages:library_theme_page:controller",
    "library-durability": "docs.generate.catalogue_pages:library_theme_page:durability",
    "library-operations": "docs.generate.catalogue_pages:library_theme_page:operations",
    "library-partitions": "docs.generate.catalogue_pages:library_theme_page:partitions",
    "library-producers": "docs.generate.catalogue_pages:library_theme_page:producers",
    "library-traces": "docs.generate.catalogue_pages:library_theme_page:traces",
    "liveness": "docs.generate.reference_pages:liveness_page",
    "manual-steps": "docs.generate.playbook_pages:manual_steps_page",
    "metrics": "docs.generate.metric_pages:metrics_page",
    "record-contents": "docs.generate.playbook_pages:record_contents_page",
    "report-tables": "docs.generate.report_pages:report_tables_page",
    "report-tables-clients": "docs.generate.report_pages:report_tables_part_page:clients",
    "report-tables-events": "docs.generate.report_pages:report_tables_part_page:events",
    "report-tables-faults": "docs.generate.report_pages:report_tables_part_page:faults",
    "report-tables-series": "docs.generate.report_pages:report_tables_part_page:series",
    "report-tables-sessions": "docs.generate.report_pages:report_tables_part_page:sessions",
    "tui-keys": "docs.generate.command_pages:tui_keys_page",
}
"""Page → the function that returns its text, and its argument. A page is the file ``docs/reference/PAGE.md``."""
PICTURES: Final[Mapping[str, tuple[str, str]]] = {
    "pictures": ("docs.generate.screenshots:draw_screens", "DIRECTORY [NAME...]"),
    "alert-values": ("docs.generate.metric_pages:write_alert_values", "[PLAYBOOK...]"),
    "report-pictures": ("docs.generate.report_pages:draw_report", "SESSION... DIRECTORY"),
}
"""Pictures, and the table of alerts → the function that makes them, and its usage."""
ALL: Final = "all"
"""Argument that writes every generated file: pages, and the schema of playbooks."""

ROOT: Final = Path(__file__).parents[2]
SCHEMA: Final = "playbooks/floodmark.schema.json"


def page_text(page: str) -> str:
    """Return the current text of a page."""
    text: str = _function(PAGES[page])()
    return text


def generated_files() -> dict[str, str]:
    """Return path → text of every generated file."""
    found = {f"docs/reference/{page}.md": page_text(page) for page in PAGES}
    found[SCHEMA] = _function("playbooks.parser.key_reference:text")()
    return found


def write_all(root: Path) -> list[str]:
    """Write every generated file below ``root`` that is out of date or missing; return their paths."""
    texts = generated_files()
    old = [
        path
        for path, text in texts.items()
        if not (root / path).is_file() or (root / path).read_text(encoding="utf-8") != text
    ]
    for path in old:
        (root / path).write_text(texts[path], encoding="utf-8")
    return old


def main(arguments: Sequence[str]) -> int:
    """Print a page, write all pages, draw pictures, or list them; return the exit code."""
    if not arguments:
        print(_overview(), end="")
        return OK
    name, *more = arguments
    if name in PICTURES:
        code: int = _function(PICTURES[name][0])(more)
        return code
    if name == ALL and not more:
        print("".join(f"wrote {path}\n" for path in write_all(ROOT)) or "everything is up to date\n", end="")
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
    """Return each page with its file, and each kind of picture with its usage."""
    width = max(map(len, (*PAGES, *PICTURES)))
    lines = [f"{page:{width}}  docs/reference/{page}.md" for page in PAGES]
    lines += [f"{name:{width}}  {takes}" for name, (_function_name, takes) in PICTURES.items()]
    lines += [f"{ALL:{width}}  writes every page and {SCHEMA}"]
    return "".join(f"{line}\n" for line in lines)


def _function(path: str) -> Any:
    """Return the function at ``module:name[:argument]``; its module is imported only now, since some take seconds."""
    module, name, *argument = path.split(":")
    return partial(getattr(import_module(module), name), *argument)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

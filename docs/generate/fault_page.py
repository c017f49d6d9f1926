"""The manual's page of faults, made from the catalogue: ``python -m docs.generate.fault_page > docs/faults.md``."""

from typing import Final

from faults.catalogue import CATALOGUE, called
from faults.declarations.fault import ACCEPTS, FAMILIES, Family, Fault, Param
from playbooks.model.step_text import allowed_text, default_text, example_step
from playbooks.text import safe
from playbooks.units import duration_text

_INTRODUCTION: Final = """# Faults

What can go wrong, by family. This page is made from the catalogue (`python -m docs.generate.fault_page`), as are the
sheet behind `f`, `floodmark faults` and the schema of playbooks.

A step of a [playbook](playbooks.md) injects a fault on a target; `for` heals it after a time, a step `heal: NAME` or
`heal: all` at any time, and settling heals what is left. On the screen `f` and the fault's key inject it, with its
defaults, on what is under the cursor. Faults overlap: each heals on its own, and what two of them hold is free when
both are over. `floodmark run --dry-run` says what each step is expected to do before it does it.
"""

_FAMILIES: Final[dict[Family, str]] = {
    "processes": "Processes end, start again, or stop for a while.",
    "links": "Messages are late, lost or held, between some nodes and not others.",
    "disks": "Disks are slow, full, broken, or do not hold what they were given.",
    "control plane": "Who decides is gone, late, or not heard.",
    "clients": "Applications that do not do what their client expects of them.",
}
"""A sentence for each family."""


def page() -> str:
    """The whole page, in Markdown."""
    parts = [_INTRODUCTION]
    for family in FAMILIES:
        faults = [fault for fault in CATALOGUE.values() if fault.family == family]
        if faults:
            parts.append(f"## {family.capitalize()}\n\n{_FAMILIES[family]}\n\n{_overview(faults)}")
            parts += [section(fault) for fault in faults]
    return "\n".join(parts)


def section(fault: Fault) -> str:
    """All about one fault."""
    lines = [
        f"### {fault.name}",
        "",
        f"{fault.glyph} {fault.title}, key `f` `{fault.letter}`. {safe(fault.summary)}",
        "",
    ]
    rows = [
        ("For", ACCEPTS[fault.accepts] + (f"; `{fault.target}` unless a target is given" if fault.target else "")),
        ("Only in", f"{fault.mode} mode" if fault.mode else ""),
        ("Also called", ", ".join(f"`{each}`" for each in called(fault.aliases))),
        ("Stands for", fault.cause),
        ("May break", fault.may_break),
        ("Healing", fault.heals or "there is nothing to heal"),
        ("By key", f"lasts {duration_text(fault.usual_for_us)}" if fault.usual_for_us >= 0 else ""),
    ]
    lines += [f"- **{head}:** {safe(text)}." for head, text in rows if text]
    if fault.params:
        lines += ["", "| parameter | type | allowed | default | meaning |", "|---|---|---|---|---|"]
        lines += [_row(param) for param in fault.params]
    return "\n".join([*lines, "", "```yaml", example_step(fault).rstrip(), "```", ""])


def _overview(faults: list[Fault]) -> str:
    lines = ["| fault | key | for | what it does |", "|---|---|---|---|"]
    lines += [
        f"| [{each.name}](#{each.name}) | `f`&nbsp;`{each.letter}` | {each.accepts} | {safe(each.summary)} |"
        for each in faults
    ]
    return "\n".join([*lines, ""])


def _row(param: Param) -> str:
    default = "must be given" if param.default is None else _code(default_text(param))
    allowed = ", ".join(map(_code, param.choices)) if param.choices else allowed_text(param)
    return f"| `{param.name}` | {param.type} | {allowed} | {default} | {safe(param.doc)} |"


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


if __name__ == "__main__":
    print(page(), end="")

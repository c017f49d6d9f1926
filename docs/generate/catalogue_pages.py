# ruff: noqa: E501 - pages of prose and tables
"""Pages of long lists, each an index with a page per part: faults by family, the library by theme, playbook keys."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

from cluster_model.protocol.versions import Profile
from faults.catalogue import CATALOGUE, alias_names
from faults.declarations.fault import ACCEPTS, FAMILIES, Family, Fault, Param
from playbooks.library.bundled import names, path_of
from playbooks.library.index import TAGS, THEMES, heading, theme_of
from playbooks.model.playbook import Playbook
from playbooks.model.step_text import allowed_text, default_text, example_step
from playbooks.parser.document.field_types import FieldSpec, ranges_text
from playbooks.parser.key_reference import BY_HAND, MappingReference, allowed_values_text, key_mappings
from playbooks.parser.loader import load
from playbooks.text import safe, table_text
from playbooks.units import duration_text

# docs/reference/faults.md, and a page for each family


_FAULTS_HEAD: Final = """# Faults

Every fault, by family. This page is generated from the catalogue (`python -m docs.generate faults`), as are the sheet behind `f` in the TUI,
`floodmark faults` and the schema of playbooks.

A step of a [playbook](../run/steps.md) injects a fault on a target. `for` heals it after a time; a step `heal: NAME` or `heal: all` heals it at any
time; settling heals the rest. In the TUI, `f` and the fault's key inject it with its defaults on the node under the cursor. Faults may overlap: each
heals on its own, and a node or link that two faults affect is free when both are healed. `floodmark run --dry-run` prints the impact of each step.
"""

_FAMILIES: Final[dict[Family, str]] = {
    "processes": "Processes crash, restart or pause.",
    "links": "Messages between some nodes are delayed, lost or blocked.",
    "disks": "Disks are slow, full or broken, or lose writes.",
    "control plane": "The controller is missing, late or unreachable.",
    "clients": "Applications misuse their client, or change their load.",
}
"""Family → a sentence about it."""


def fault_page() -> str:
    """Return the index of faults, in Markdown."""
    parts = [_FAULTS_HEAD]
    for family, faults in _by_family().items():
        page = _fault_file(family)
        parts.append(f"## {family.capitalize()}\n\n{_FAMILIES[family]} [Details]({page}).\n")
        parts.append(_fault_overview(page, faults))
    return "\n".join(parts)


def fault_family_page(name: str) -> str:
    """Return the page of a family of faults, given as in its file name, in Markdown."""
    (family,) = (each for each in FAMILIES if each.replace(" ", "-") == name)
    made = f"This page is generated from the catalogue (`python -m docs.generate faults-{name}`); [faults](faults.md) has the list."
    title = f"# Faults: {family}\n\n{_FAMILIES[family]} {made}\n"
    return "\n".join([title, *map(fault_section, _by_family()[family])])


def fault_section(fault: Fault) -> str:
    """Return the section of one fault."""
    lines = [
        f"## {fault.name}",
        "",
        f"{fault.glyph} {fault.title}, key `f` `{fault.letter}`. {safe(fault.summary)}",
        "",
    ]
    rows = [
        ("Targets", ACCEPTS[fault.accepts] + (f"; `{fault.target}` unless a target is given" if fault.target else "")),
        ("Only in", f"{fault.mode} mode" if fault.mode else ""),
        ("Also called", ", ".join(f"`{each}`" for each in alias_names(fault.aliases))),
        ("Represents", fault.cause),
        ("May break", fault.may_break),
        ("Healing", fault.heals or "there is nothing to heal"),
        ("By key", f"lasts {duration_text(fault.default_duration_us)}" if fault.default_duration_us >= 0 else ""),
    ]
    lines += [f"- **{head}:** {safe(text)}." for head, text in rows if text]
    if fault.params:
        lines += ["", "| parameter | type | allowed | default | meaning |", "|---|---|---|---|---|"]
        lines += [_param_row(param) for param in fault.params]
    return "\n".join([*lines, "", "```yaml", example_step(fault).rstrip(), "```", ""])


def _by_family() -> dict[Family, list[Fault]]:
    found = {family: [fault for fault in CATALOGUE.values() if fault.family == family] for family in FAMILIES}
    return {family: faults for family, faults in found.items() if faults}


def _fault_file(family: Family) -> str:
    return f"faults-{family.replace(' ', '-')}.md"


def _fault_overview(page: str, faults: list[Fault]) -> str:
    lines = ["| fault | key | targets | effect |", "|---|---|---|---|"]
    lines += [
        f"| [{each.name}]({page}#{each.name}) | `f`&nbsp;`{each.letter}` | {each.accepts} | {safe(each.summary)} |"
        for each in faults
    ]
    return "\n".join([*lines, ""])


def _param_row(param: Param) -> str:
    default = "required" if param.default is None else _code(default_text(param))
    allowed = ", ".join(map(_code, param.choices)) if param.choices else allowed_text(param)
    return f"| `{param.name}` | {param.type} | {allowed} | {default} | {safe(param.doc)} |"


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


# docs/reference/keys.md, and pages for the keys of clients, of timed steps and of manual steps


_KEYS_HEAD: Final = """# Keys of a playbook

Every key of a [playbook](../run/playbooks.md) and its values, except those of [clients](keys-clients.md), [steps](keys-steps.md) and
[manual steps](keys-manual.md). This page is generated from the tables of the playbook parser (`python -m docs.generate keys`). `floodmark keys SECTION`
prints the same, and `floodmark schema` prints a JSON Schema for editors.
"""
_KEYS_PARTS: Final[Mapping[str, tuple[str, str]]] = {
    "clients": ("Keys of clients", "The keys of `clients` in a [playbook](../run/load.md)"),
    "steps": ("Keys of steps", "The keys of `steps` in a [playbook](../run/steps.md)"),
    "manual": ("Keys of manual steps", "The keys of `steps` with [`stepping: manual`](../run/manual-stepping.md)"),
}
"""Part of the keys, which is the first name of their paths → title and first words."""


def key_page() -> str:
    """Return the page of a playbook's keys, in Markdown, without those of :data:`_KEYS_PARTS`."""
    pages = [each for each in key_mappings().values() if each.path.partition(".")[0] not in _KEYS_PARTS]
    return "\n".join([_KEYS_HEAD, *map(_key_section, pages)])


def key_part_page(part: str) -> str:
    """Return the page of a part of the keys, in Markdown."""
    title, introduction = _KEYS_PARTS[part]
    made = f"This page is generated from the tables of the playbook parser (`python -m docs.generate keys-{part}`)"
    head = f"# {title}\n\n{introduction}. {made}; [keys](keys.md) has the others.\n"
    pages = [each for each in key_mappings().values() if each.path.partition(".")[0] == part]
    if part == BY_HAND:
        verbs = [each for each in pages if each.path != BY_HAND]
        return "\n".join([head, *(_key_section(each) for each in pages if each not in verbs), _verbs_table(verbs)])
    return "\n".join([head, *map(_key_section, pages)])


def _key_section(page: MappingReference) -> str:
    depth = "###" if page.path.startswith("clients.") else "##"
    rows: list[tuple[str, ...]] = [
        (_key_name(name, key), key.doc) if page.bare else (_key_name(name, key), allowed_values_text(key.kind), key.doc)
        for name, key in page.keys.items()
    ]
    heads = ("key", "meaning") if page.bare else ("key", "takes", "meaning")
    return f"{depth} {page.path or 'The file'}\n\n{page.heading.rstrip('.')}.\n\n{table_text(heads, rows)}"


def _verbs_table(verbs: list[MappingReference]) -> str:
    """Return one table with the keys of every verb, since sections would be a page of headings."""
    rows = [
        (
            f"`{verb.path.rpartition('.')[2]}`" if at == 0 else "",
            _key_name(name, key),
            allowed_values_text(key.kind),
            key.doc,
        )
        for verb in verbs
        for at, (name, key) in enumerate(verb.keys.items())
    ]
    return f"## The keys of each step\n\n{table_text(('step', 'key', 'takes', 'meaning'), rows)}"


def _key_name(name: str, key: FieldSpec) -> str:
    return f"`{name}` (needed)" if key.required else f"`{name}`"


# docs/reference/library.md, and a page for each theme


_LIBRARY_HEAD: Final = """# The library

The playbooks that come with floodmark, by theme. This page is generated from their files (`python -m docs.generate library`), as is
`floodmark library`.

`floodmark run NAME` runs one, `floodmark library NAME` shows its steps and expectations, and `floodmark library NAME --yaml > mine.yaml` copies it as a
start for [your own](../run/playbooks.md). Each passes under the Kafka versions that it names (2.1+ is 2.1 and later; `--set cluster.kafka=2.8` chooses
one). `floodmark run playbooks/library` runs all of them.
"""


def library_page() -> str:
    """Return the index of bundled playbooks, in Markdown."""
    parts = [_LIBRARY_HEAD]
    playbooks = _bundled()
    for theme, doc in THEMES.items():
        if found := _of_theme(theme, playbooks):
            page = f"library-{theme}.md"
            rows = [
                (f"[{each.name}]({page}#{_playbook_anchor(each.name)})", ranges_text(each.profiles), each.title)
                for each in found
            ]
            overview = table_text(("playbook", "Kafka", "title"), rows)
            parts.append(f"## {heading(theme)}\n\n{doc} [Details]({page}).\n\n{overview}")
    parts.append(_tags_section(playbooks))
    return "\n".join(parts)


def library_theme_page(theme: str) -> str:
    """Return the page of a theme of the library, in Markdown."""
    made = f"This page is generated from the playbooks (`python -m docs.generate library-{theme}`); [the library](library.md) has the list."
    title = f"# Library: {heading(theme).lower()}\n\n{THEMES[theme]} {made}\n"
    return "\n".join([title, *map(playbook_section, _of_theme(theme, _bundled()))])


def playbook_section(playbook: Playbook) -> str:
    """Return the section of one playbook, without its steps."""
    own = Profile.of(playbook.spec.kafka, playbook.spec.mode).name
    rows = [
        ("Source", "; ".join(playbook.origins)),
        ("Kafka", f"{ranges_text(playbook.profiles)}; default {own}"),
        ("Tags", ", ".join(playbook.tags)),
        ("Grid", "; ".join(playbook.grid.lines()) if playbook.grid is not None else ""),
    ]
    lines = [f"## {playbook.name}", "", f"**{safe(playbook.title)}.**", "", safe(playbook.story), ""]
    lines += [f"- {head}: {safe(text)}" for head, text in rows if text]
    return "\n".join([*lines, ""])


@cache
def _bundled() -> tuple[Playbook, ...]:
    return tuple(load(path_of(name)) for name in names())


def _of_theme(theme: str, playbooks: Sequence[Playbook]) -> list[Playbook]:
    return [each for each in playbooks if theme_of(each.tags) == theme]


def _tags_section(playbooks: Sequence[Playbook]) -> str:
    """Return the meaning of each tag that a bundled playbook has."""
    counts = {tag: sum(tag in each.tags for each in playbooks) for tag in TAGS}
    rows = [(f"`{tag}`", doc, str(counts[tag])) for tag, doc in TAGS.items() if counts[tag]]
    text = "`floodmark library --tag TAG` lists the playbooks with a tag."
    return f"## Tags\n\n{text}\n\n{table_text(('tag', 'meaning', 'playbooks'), rows)}"


def _playbook_anchor(name: str) -> str:
    """Return the anchor that Markdown gives to a heading."""
    return name.replace(".", "")

"""Reference commands: ``faults``, ``profiles``, ``configs``, ``keys``, ``schema`` and the example settings file."""

from collections.abc import Sequence
from textwrap import wrap
from typing import Any

from cluster_model.protocol.config_defs import SCOPES, ConfigKey
from cluster_model.protocol.versions import Profile
from cluster_model.util.quantities import listed
from faults.catalogue import CATALOGUE, FAULT_ALIASES, OPERATION_ALIASES, alias_names, canonical_name
from faults.declarations import ACCEPTS, FAMILIES, OPERATIONS, SELECTORS, Fault, Operation, Param
from playbooks.errors import BAD_INPUT, OK, nearest, shown
from playbooks.model import Playbook, allowed_text, default_text, example_step
from playbooks.parser.key_reference import MappingReference, allowed_values_text, full_path, key_mappings
from playbooks.parser.key_reference import text as schema_text
from playbooks.units import duration_text
from tui.keybindings.keymap import ALLOWED, GROUPS, KEYS, KeyBinding, in_file
from tui.keybindings.scopes import scopes
from tui.output.command_end import to_text
from tui.output.console import print_document, print_error, print_line, stdout_console, table
from tui.settings.schema import KEYS as KEY_TABLE
from tui.settings.schema import OPTIONS, SCREEN, quoted, written
from tui.terminal.format import allowed_values as accepted_values


def profile_of(playbook: Playbook) -> str:
    """Return the Kafka version and mode of a playbook's cluster: ``3.9-kraft``."""
    return Profile.of(playbook.spec.kafka, playbook.spec.mode).name


def faults(name: str | None, *, family: str | None = None, json: bool = False) -> int:
    """List faults, operations and targets, the faults of a family, or details of one; return the exit code."""
    if name is not None and canonical_name(name) not in (*CATALOGUE, *OPERATIONS):
        known = (*CATALOGUE, *OPERATIONS)
        hint = nearest(name, (*known, *FAULT_ALIASES, *OPERATION_ALIASES))
        print_error(f"no fault {shown(name)}{hint}; see: floodmark faults")
        return BAD_INPUT
    name = None if name is None else canonical_name(name)
    if family is not None and family not in FAMILIES:
        print_error(f"--family: found {shown(family)}, expected {listed(FAMILIES)}{nearest(family, FAMILIES)}")
        return BAD_INPUT
    if name is not None and family is not None:
        print_error("found a name and --family together, expected one of them")
        return BAD_INPUT
    chosen = [fault for fault in CATALOGUE.values() if name in (None, fault.name) and family in (None, fault.family)]
    if json:
        entries = [_fault_entry(fault) for fault in chosen]
        operations = [each for each in OPERATIONS.values() if family is None and name in (None, each.name)]
        entries += [_operation_entry(each) for each in operations]
        print_document(to_text(entries if name is None else entries[0]))
    elif name in OPERATIONS:
        _tell_operation(OPERATIONS[name])
    elif name is not None:
        _tell_fault(chosen[0])
    else:
        _list_faults(chosen, detailed=family is None)
    return OK


def _list_faults(chosen: Sequence[Fault], *, detailed: bool) -> None:
    console = stdout_console()
    for family in FAMILIES:
        rows = [(each.name, each.letter, each.accepts, each.summary) for each in chosen if each.family == family]
        if rows:
            table(console, (family, "key", "takes", "effect"), [(row[0], f"f {row[1]}", *row[2:]) for row in rows])
            print_line(console, "")
    if detailed:
        operations = [(each.name, f"a {each.letter}", each.summary) for each in OPERATIONS.values()]
        table(console, ("operation", "key", "effect"), operations)
        print_line(console, "")
        table(console, ("target", "meaning"), [text.split(": ", 1) for text in SELECTORS.values()])


def _tell_fault(fault: Fault) -> None:
    console = stdout_console()
    print_line(console, f"{fault.name}: {fault.title}", "bold")
    print_line(console, fault.summary)
    rows = [
        ("family", fault.family),
        ("takes", ACCEPTS[fault.accepts]),
        ("target", fault.target),
        ("mode", f"{fault.mode} only" if fault.mode else ""),
        ("aliases", ", ".join(alias_names(fault.aliases))),
        ("real cause", fault.cause),
        ("at risk", fault.may_break),
        ("healing", fault.heals or "nothing to heal"),
        ("duration", _lasts(fault)),
        ("key", f"f {fault.letter}"),
    ]
    for head, text in rows:
        if text:
            print_line(console, f"{head:<11}{text}")
    _tell_parameters(fault.params)
    print_line(console, "")
    print_line(console, "as a step of a playbook:")
    for line in example_step(fault).splitlines():
        print_line(console, f"  {line}")


def _lasts(fault: Fault) -> str:
    """Return the text on a fault's duration, from a step and from a TUI key."""
    if not fault.is_lasting:
        return "instantaneous"
    usual = (
        f"; {duration_text(fault.default_duration_us)} when injected by its key"
        if fault.default_duration_us >= 0
        else ""
    )
    return f"until it is healed, or the duration of 'for'{usual}"


def _tell_operation(operation: Operation) -> None:
    console = stdout_console()
    print_line(console, f"{operation.name}: {operation.title}", "bold")
    print_line(console, operation.summary)
    rows = [("at risk", operation.may_break), ("key", f"a {operation.letter}")]
    rows += [("aliases", ", ".join(alias_names(operation.aliases)))] if operation.aliases else []
    rows += [("since", f"Kafka {operation.since}")] if operation.since else []
    for head, text in rows:
        print_line(console, f"{head:<11}{text}")
    _tell_parameters(operation.params)


def _tell_parameters(params: Sequence[Param]) -> None:
    if params:
        rows = [(each.name, each.type, allowed_text(each), _default(each), each.doc) for each in params]
        table(stdout_console(), ("parameter", "type", "allowed", "default", "meaning"), rows)


def _default(param: Param) -> str:
    return "required" if param.default is None else default_text(param)


def _fault_entry(fault: Fault) -> dict[str, Any]:
    return {
        "name": fault.name,
        "aliases": [each.name for each in fault.aliases],
        "key": fault.letter,
        "title": fault.title,
        "summary": fault.summary,
        "family": fault.family,
        "accepts": fault.accepts,
        "target": fault.target,
        "mode": fault.mode,
        "lasting": fault.is_lasting,
        "usual_for_us": fault.default_duration_us,
        "heals": fault.heals,
        "stands_for": fault.cause,
        "may_break": fault.may_break,
        "params": _parameter_entries(fault.params),
        "example": example_step(fault),
    }


def _operation_entry(operation: Operation) -> dict[str, Any]:
    return {
        "name": operation.name,
        "aliases": [each.name for each in operation.aliases],
        "key": operation.letter,
        "title": operation.title,
        "summary": operation.summary,
        "operation": True,
        "may_break": operation.may_break,
        "since": operation.since,
        "params": _parameter_entries(operation.params),
    }


def _parameter_entries(params: Sequence[Param]) -> list[dict[str, Any]]:
    return [
        {
            "name": each.name,
            "type": each.type,
            "allowed": allowed_text(each),
            "default": each.default,
            "default_text": default_text(each),
            "doc": each.doc,
        }
        for each in params
    ]


def configs(scope: str | None) -> int:
    """List the Kafka configurations that the model supports, all or those of one scope; return the exit code."""
    if scope is not None and scope not in SCOPES:
        print_error(f"no scope {shown(scope)}{nearest(scope, SCOPES)}; known scopes: {', '.join(SCOPES)}")
        return BAD_INPUT
    for each, keys in SCOPES.items():
        if scope in (None, each):
            rows = [
                (key.name, f"{key.doc} Takes {accepted_values(key)}.{_told_when(each, key)}") for key in keys.values()
            ]
            table(stdout_console(), (f"{each} configuration", "meaning"), rows)
    return OK


def _told_when(scope: str, key: ConfigKey) -> str:
    """Return the text on whether a broker's or topic's configuration can change at run time."""
    if scope == "topic":
        return " Dynamic."
    return f" {key.dynamic.capitalize()}." if scope == "broker" else ""


# ``keys`` and ``schema``: the keys of a playbook.


def keys(key_path: str | None, *, json: bool) -> int:
    """List the keys of a part of a playbook, by default the top level; with ``json`` alone, of all parts."""
    pages = key_mappings()
    if key_path is not None and full_path(key_path) not in pages:
        parts = [path for path in pages if path]
        hint = nearest(key_path, [*parts, *(path.rpartition(".")[2] for path in parts)])
        print_error(f"no part {shown(key_path)} in a playbook{hint}; known parts: {listed(parts, 'and')}")
        return BAD_INPUT
    chosen = pages[full_path(key_path or "")]
    if json:
        wanted = pages.values() if key_path is None else [chosen]
        print_document(to_text([_entry(page) for page in wanted]))
        return OK
    _print_keys(chosen)
    below = [path for path in pages if path and path.rpartition(".")[0] == chosen.path]
    if below:
        print_line(stdout_console(), f"more: floodmark keys {' | '.join(below)}")
    return OK


def _print_keys(page: MappingReference) -> None:
    console = stdout_console()
    print_line(console, page.heading.rstrip("."), "bold")
    if page.bare:
        table(console, (page.path, "effect"), [(name, key.doc) for name, key in page.keys.items()])
        return
    rows = [
        (name, allowed_values_text(key.kind), f"{key.doc}{' Required.' if key.required else ''}")
        for name, key in page.keys.items()
    ]
    table(console, ("key", "takes", "meaning"), rows)


def _entry(page: MappingReference) -> dict[str, Any]:
    return {
        "place": page.path,
        "what": page.heading,
        "keys": [
            {
                "name": name,
                "takes": "" if page.bare else allowed_values_text(key.kind),
                "needed": key.required,
                "doc": key.doc,
            }
            for name, key in page.keys.items()
        ],
    }


def schema() -> int:
    """Print the JSON Schema of playbooks; return the exit code."""
    print_document(schema_text())
    return OK


# An example settings file: every setting with its default, commented out.


HEAD = """# Settings of floodmark's TUI. Every line shows a default: remove the # and change the value.
# Invalid lines are reported at startup; the others apply.
"""


def example() -> str:
    """Return the text of the example settings file."""
    lines = [HEAD, f"[{SCREEN}]"]
    for each in OPTIONS:
        lines += ["", f"# {each.words} Takes {each.allowed}.", f"# {each.name} = {written(each.default)}"]
    lines += ["", f"[{KEY_TABLE}]", *[f"# {line}" for line in wrap(f"Each takes {ALLOWED}.", 110)]]
    lines.append("# Escape, enter, tab and ctrl+c cannot be assigned; escape always leaves the current view.")
    for group, title in GROUPS.items():
        lines += ["", f"# {title}"]
        lines += [_line(key) for key in KEYS if key.group == group]
    for scope in scopes():
        lines += ["", f"# {scope.title}", *(_line(key) for key in scope.keys)]
    return "\n".join(lines) + "\n"


def _line(key: KeyBinding) -> str:
    return f"# {key.id} = {_keys(key.keys)}  # {key.description}"


def _keys(keys: str) -> str:
    names = [_quoted(in_file(each)) for each in keys.split(",")]
    return names[0] if len(names) == 1 else f"[{', '.join(names)}]"


def _quoted(text: str) -> str:
    return f"'{text}'" if text in ("\\", '"') else quoted(text)

"""``faults``, ``profiles``, ``configs``, ``keys``, ``schema`` and the example settings file: what can be used."""

from collections.abc import Sequence
from textwrap import wrap
from typing import Any, Final

from cluster_model.fidelity import Area
from cluster_model.protocol.config_defs import SCOPES, ConfigKey
from cluster_model.protocol.versions import CLIENT_FLAGS, FLAGS, PROFILE_VERSIONS, Flag, Profile, Version, modes_of
from cluster_model.util.quantities import listed
from faults.catalogue import CATALOGUE, FAULT_ALIASES, OPERATION_ALIASES, called, true_name
from faults.declarations import ACCEPTS, FAMILIES, OPERATIONS, SELECTORS, Fault, Operation, Param
from playbooks.errors import BAD_INPUT, OK, nearest, shown
from playbooks.model import Playbook, allowed_text, default_text, example_step
from playbooks.parser.key_reference import MappingReference, known, taken, told
from playbooks.parser.key_reference import text as schema_text
from playbooks.reference_text import areas_of, changes, document, releases, versions
from playbooks.units import duration_text
from tui.keybindings.keymap import ALLOWED, GROUPS, KEYS, KeyBinding, in_file
from tui.keybindings.scopes import scopes
from tui.output.command_end import to_text
from tui.output.console import answers, complain, print_document, say, table
from tui.settings.schema import KEYS as KEY_TABLE
from tui.settings.schema import OPTIONS, SCREEN, quoted, written
from tui.terminal.format import taken as accepted_values

RULES: Final = {"rule of brokers": FLAGS, "rule of clients": CLIENT_FLAGS}
"""The tables of rules, each by what follows it."""


def profile_of(playbook: Playbook) -> str:
    """The version and the mode of a playbook's cluster: ``3.9-kraft``."""
    return Profile.of(playbook.spec.kafka, playbook.spec.mode).name


def faults(name: str | None, *, family: str | None = None, json: bool = False) -> int:
    """List the faults, the operations and the targets, or tell all about one; ``family``: only its faults."""
    if name is not None and true_name(name) not in (*CATALOGUE, *OPERATIONS):
        known = (*CATALOGUE, *OPERATIONS)
        hint = nearest(name, (*known, *FAULT_ALIASES, *OPERATION_ALIASES))
        complain(f"no fault {shown(name)}{hint}; there are {', '.join(known)}")
        return BAD_INPUT
    name = None if name is None else true_name(name)
    if family is not None and family not in FAMILIES:
        complain(f"--family: found {shown(family)}, allowed is {listed(FAMILIES)}{nearest(family, FAMILIES)}")
        return BAD_INPUT
    if name is not None and family is not None:
        complain("found a name and --family together, allowed is one of them")
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
        _list_faults(chosen, whole=family is None)
    return OK


def _list_faults(chosen: Sequence[Fault], *, whole: bool) -> None:
    console = answers()
    for family in FAMILIES:
        rows = [(each.name, each.letter, each.accepts, each.summary) for each in chosen if each.family == family]
        if rows:
            table(console, (family, "key", "for", "what it does"), [(row[0], f"f {row[1]}", *row[2:]) for row in rows])
            say(console, "")
    if whole:
        operations = [(each.name, f"a {each.letter}", each.summary) for each in OPERATIONS.values()]
        table(console, ("operation", "key", "what it does"), operations)
        say(console, "")
        table(console, ("target", "who that is"), [text.split(": ", 1) for text in SELECTORS.values()])


def _tell_fault(fault: Fault) -> None:
    console = answers()
    say(console, f"{fault.name}: {fault.title}", "bold")
    say(console, fault.summary)
    rows = [
        ("family", fault.family),
        ("for", ACCEPTS[fault.accepts]),
        ("target", fault.target),
        ("mode", f"{fault.mode} only" if fault.mode else ""),
        ("also", ", ".join(called(fault.aliases))),
        ("stands for", fault.cause),
        ("may break", fault.may_break),
        ("healing", fault.heals or "there is nothing to heal"),
        ("lasts", _lasts(fault)),
        ("key", f"f {fault.letter}"),
    ]
    for head, text in rows:
        if text:
            say(console, f"{head:<11}{text}")
    _tell_parameters(fault.params)
    say(console, "")
    say(console, "as a step of a playbook:")
    for line in example_step(fault).splitlines():
        say(console, f"  {line}")


def _lasts(fault: Fault) -> str:
    """How long, as a step or a key has it."""
    if not fault.lasting:
        return "happens at once"
    usual = f"; {duration_text(fault.usual_for_us)} when a key injects it" if fault.usual_for_us >= 0 else ""
    return f"until it is healed, or as long as 'for' says{usual}"


def _tell_operation(operation: Operation) -> None:
    console = answers()
    say(console, f"{operation.name}: {operation.title}", "bold")
    say(console, operation.summary)
    rows = [("may break", operation.may_break), ("key", f"a {operation.letter}")]
    rows += [("also", ", ".join(called(operation.aliases)))] if operation.aliases else []
    rows += [("since", f"Kafka {operation.since}")] if operation.since else []
    for head, text in rows:
        say(console, f"{head:<11}{text}")
    _tell_parameters(operation.params)


def _tell_parameters(params: Sequence[Param]) -> None:
    if params:
        rows = [(each.name, each.type, allowed_text(each), _default(each), each.doc) for each in params]
        table(answers(), ("parameter", "type", "allowed", "default", "meaning"), rows)


def _default(param: Param) -> str:
    return "must be given" if param.default is None else default_text(param)


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
        "lasting": fault.lasting,
        "usual_for_us": fault.usual_for_us,
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


def is_modelled(version: str | None) -> bool:
    """Whether a Kafka version that was asked for is one that can be modelled; complains if it is not."""
    if version is None or version in PROFILE_VERSIONS:
        return True
    complain(
        f"no Kafka version {shown(version)}{nearest(version, PROFILE_VERSIONS)}; "
        f"there are {', '.join(PROFILE_VERSIONS)}"
    )
    return False


def profiles(version: str | None) -> int:
    """List the Kafka versions that can be modelled, or the rules of one."""
    if not is_modelled(version):
        return BAD_INPUT
    console = answers()
    if version is None:
        rows = [(each, " or ".join(modes_of(each)), ", ".join(_new_in(each))) for each in PROFILE_VERSIONS]
        table(console, ("kafka", "mode", "rules that are new"), rows)
        for heading, flags in RULES.items():
            rules = [(flag.name, releases(flag), flag.meaning) for flag in _by_age(flags)]
            table(console, (heading, "kafka", "what it says"), rules)
        return OK
    number = Profile.of(version).number
    say(console, f"{version} with {' or '.join(modes_of(version))}", "bold")
    for heading, flags in RULES.items():
        table(console, (heading, "what it says"), [(flag.name, flag.meaning) for flag in _by_age(flags, number)])
    return OK


def _by_age(flags: Sequence[Flag], number: Version | None = None) -> list[Flag]:
    """Rules in the order of the releases that brought them, all or those that one release follows."""
    return sorted([flag for flag in flags if number is None or flag.holds(number)], key=lambda flag: flag.since)


def _new_in(version: str) -> list[str]:
    position = PROFILE_VERSIONS.index(version)
    now = Profile.of(version).number
    before = Profile.of(PROFILE_VERSIONS[position - 1]).number if position else None
    flags = (*FLAGS, *CLIENT_FLAGS)
    return [flag.name for flag in flags if flag.holds(now) and (before is None or not flag.holds(before))]


def configs(scope: str | None) -> int:
    """List Kafka's configurations that the model honours, all or those of one scope."""
    if scope is not None and scope not in SCOPES:
        complain(f"no scope {shown(scope)}{nearest(scope, SCOPES)}; there are {', '.join(SCOPES)}")
        return BAD_INPUT
    for each, keys in SCOPES.items():
        if scope in (None, each):
            rows = [
                (key.name, f"{key.doc} Takes {accepted_values(key)}.{_told_when(each, key)}") for key in keys.values()
            ]
            table(answers(), (f"configuration of a {each}", "what it is"), rows)
    return OK


def _told_when(scope: str, key: ConfigKey) -> str:
    """Whether a broker's or a topic's configuration may change while the cluster runs."""
    if scope == "topic":
        return " Dynamic."
    return f" {key.dynamic.capitalize()}." if scope == "broker" else ""


# ``floodmark profiles --card``: what is modelled after what, and what is not.


def print_card(version: str | None, *, json: bool = False) -> int:
    """Every area, or those of a release line."""
    if not is_modelled(version):
        return BAD_INPUT
    areas = areas_of(version)
    if json:
        from tui.output.command_end import to_text  # noqa: PLC0415 - it reads what runs playbooks

        print_document(to_text([document(area) for area in areas]))
        return OK
    for area in areas:
        _print_area(area)
    return OK


def _print_area(area: Area) -> None:
    console = answers()
    say(console, f"{area.name} ({versions(area)})", "bold")
    say(console, f"  {area.what}")
    say(console, f"  after {area.sources}")
    say(console, f"  pinned by {', '.join(area.test_ids)}")
    for each in area.left_out:
        say(console, f"  not modelled: {each}")
    if area.flags:
        table(console, ("rule", "kafka", "what it says"), changes(area))
    say(console, "")


# ``keys`` and ``schema``: the keys of a playbook.


def keys(place: str | None, *, json: bool) -> int:
    """Tell the keys of a mapping of a playbook, by default those of the file itself; every place with ``json``."""
    pages = told()
    if place is not None and known(place) not in pages:
        places = [path for path in pages if path]
        hint = nearest(place, [*places, *(path.rpartition(".")[2] for path in places)])
        complain(f"no place {shown(place)} in a playbook{hint}; there are {listed(places, 'and')}")
        return BAD_INPUT
    chosen = pages[known(place or "")]
    if json:
        wanted = pages.values() if place is None else [chosen]
        print_document(to_text([_entry(page) for page in wanted]))
        return OK
    _print_keys(chosen)
    below = [path for path in pages if path and path.rpartition(".")[0] == chosen.path]
    if below:
        say(answers(), f"more: floodmark keys {' | '.join(below)}")
    return OK


def _print_keys(page: MappingReference) -> None:
    console = answers()
    say(console, page.heading.rstrip("."), "bold")
    if page.bare:
        table(console, (page.path, "what it does"), [(name, key.doc) for name, key in page.keys.items()])
        return
    rows = [
        (name, taken(key.kind), f"{key.doc}{' Needed.' if key.required else ''}") for name, key in page.keys.items()
    ]
    table(console, ("key", "takes", "meaning"), rows)


def _entry(page: MappingReference) -> dict[str, Any]:
    return {
        "place": page.path,
        "what": page.heading,
        "keys": [
            {"name": name, "takes": "" if page.bare else taken(key.kind), "needed": key.required, "doc": key.doc}
            for name, key in page.keys.items()
        ],
    }


def schema() -> int:
    """Print the JSON Schema of playbooks."""
    print_document(schema_text())
    return OK


# An example file of settings: everything is as it is without the file, commented out.


HEAD = """# Settings of floodmark's screen. Every line is as it is without this file: take the # off to change one.
# A line that is wrong is told at the start, and the rest is in force.
"""


def example() -> str:
    """The whole file."""
    lines = [HEAD, f"[{SCREEN}]"]
    for each in OPTIONS:
        lines += ["", f"# {each.words} Takes {each.allowed}.", f"# {each.name} = {written(each.default)}"]
    lines += ["", f"[{KEY_TABLE}]", *[f"# {line}" for line in wrap(f"Each takes {ALLOWED}.", 110)]]
    lines.append(
        "# Escape, enter, tab and ctrl+c can be given to nothing else; escape stays the way out whatever is set."
    )
    for group, title in GROUPS.items():
        lines += ["", f"# {title}"]
        lines += [_line(key) for key in KEYS if key.group == group]
    for scope in scopes():
        lines += ["", f"# {scope.title}", *(_line(key) for key in scope.keys)]
    return "\n".join(lines) + "\n"


def _line(key: KeyBinding) -> str:
    return f"# {key.id} = {_keys(key.keys)}  # {key.words}"


def _keys(keys: str) -> str:
    names = [_quoted(in_file(each)) for each in keys.split(",")]
    return names[0] if len(names) == 1 else f"[{', '.join(names)}]"


def _quoted(text: str) -> str:
    return f"'{text}'" if text in ("\\", '"') else quoted(text)

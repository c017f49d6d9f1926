"""The catalogue says everything about each fault, and nothing that contradicts itself."""

import dataclasses
import re
import string
from typing import Any

import pytest
from rich.cells import cell_len
from syrupy.assertion import SnapshotAssertion

from cluster_model.protocol.releases import Version
from faults.catalogue import CATALOGUE, FAULT_LETTERS, check_declarations, fault_hint
from faults.declarations.fault import (
    ACCEPTS,
    FAMILIES,
    NUMERIC,
    Alias,
    Behaviour,
    DeclarationError,
    Fault,
    Param,
    table,
)
from faults.declarations.operation import OPERATIONS, Operation, nearest_operation
from faults.declarations.targets import SelectorError, parse
from faults.operations.runner import PROCEDURES
from tui.terminal.glyphs import ASCII
from tui.terminal.theme import ROLES

FAULTS = [pytest.param(fault, id=name) for name, fault in CATALOGUE.items()]
PARAMS = [
    pytest.param(param, id=f"{name}-{param.name}") for name, fault in CATALOGUE.items() for param in fault.params
] + [pytest.param(param, id=f"{name}-{param.name}") for name, op in OPERATIONS.items() for param in op.params]


def test_the_first_faults_are_there() -> None:
    assert {fault.name: fault.letter for fault in CATALOGUE.values()}.items() >= {
        "crash": "c",
        "restart": "r",
        "gc_pause": "g",
        "lag": "l",
        "power_loss": "p",
        "partition": "n",
    }.items()


def test_names_lead_to_their_own_fault() -> None:
    assert all(fault.name == name for name, fault in CATALOGUE.items())
    assert all(op.name == name for name, op in OPERATIONS.items())


def test_letters_and_titles_are_used_once() -> None:
    assert len({fault.letter for fault in CATALOGUE.values()}) == len(CATALOGUE)
    assert len({fault.title for fault in CATALOGUE.values()}) == len(CATALOGUE)
    assert len({each.letter for each in OPERATIONS.values()}) == len(OPERATIONS)
    assert len({each.title for each in OPERATIONS.values()}) == len(OPERATIONS)


FREE = next(letter for letter in reversed(FAULT_LETTERS) if letter not in {each.letter for each in CATALOGUE.values()})
NEW = dataclasses.replace(CATALOGUE["loss"], name="new_fault", letter=FREE, title="new fault", aliases=())
"""A fault that somebody adds to the catalogue."""
MISTAKES: list[tuple[dict[str, Any], list[str]]] = [
    ({"letter": "c"}, ["new_fault", "crash", "'c'", FREE]),
    ({"letter": ""}, ["new_fault", "''", FREE]),
    ({"letter": "cc"}, ["new_fault", "'cc'", FREE]),
    ({"letter": "é"}, ["new_fault", "'é'", FREE]),
    ({"name": "crash"}, ["crash", "new fault"]),
    ({"name": "elect_leaders"}, ["elect_leaders", "new fault"]),
    ({"title": "crash"}, ["new_fault", "crash"]),
    ({"aliases": (Alias("packet_loss"),)}, ["packet_loss", "loss", "new_fault"]),
    ({"aliases": (Alias("crash"),)}, ["crash", "new_fault"]),
    ({"aliases": (Alias("netem_duplicate", "links"),)}, ["new_fault", "'links'", "brokers"]),
    ({"family": "network"}, ["new_fault", "'network'", "links"]),
    ({"accepts": "links"}, ["new_fault", "'links'", "brokers"]),
    ({"params": (Param("percent", "percentage", "Packets."),)}, ["new_fault", "percent", "'percentage'", "size"]),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("change", "named"), MISTAKES)
def test_a_declaration_that_contradicts_the_others_is_refused_in_one_line(
    change: dict[str, Any], named: list[str]
) -> None:
    """Where the catalogue is imported: what is found, the two that are in each other's way, and what is allowed."""
    added = dataclasses.replace(NEW, **change)
    with pytest.raises(DeclarationError) as caught:
        check_declarations([*CATALOGUE.values(), added], [*OPERATIONS.values()])
    (line,) = str(caught.value).splitlines()
    assert [each for each in named if each not in line] == []


def test_letters_that_are_taken_are_not_among_the_free_ones(snapshot: SnapshotAssertion) -> None:
    faults = [CATALOGUE["crash"], CATALOGUE["loss"], dataclasses.replace(NEW, letter="k")]
    with pytest.raises(DeclarationError) as caught:
        check_declarations(faults, [])
    assert str(caught.value) == snapshot
    free = str(caught.value).partition("free are ")[2].split(", ")
    assert free == [letter for letter in FAULT_LETTERS if letter not in "ck"]


def test_a_new_declaration_is_taken_and_several_mistakes_have_a_line_each() -> None:
    check_declarations([*CATALOGUE.values(), NEW], [*OPERATIONS.values()])
    twice = dataclasses.replace(OPERATIONS["create_topic"], name="make_topic", aliases=())
    with pytest.raises(DeclarationError) as caught:
        check_declarations([dataclasses.replace(NEW, family="network")], [OPERATIONS["create_topic"], twice])
    assert len(str(caught.value).splitlines()) == 3  # the family, and the title and the letter of the operation


def test_one_table_has_no_name_twice() -> None:
    assert table(NEW) == {"new_fault": NEW}
    with pytest.raises(DeclarationError, match=r"new_fault.*new fault"):
        table(NEW, dataclasses.replace(NEW, letter="Z"))


WANTED = {
    "name": "a name in lower case, as in Python",
    "letter": "one letter or digit of ASCII",
    "title": "words",
    "family": "one of FAMILIES",
    "summary": "a sentence with a full stop",
    "params": "no parameter twice",
    "accepts": "one of ACCEPTS",
    "heals": "what healing does, without a full stop; nothing where 'is_lasting' is False",
    "glyph": "one character, one cell wide: ASCII, or with a stand-in in ASCII of tui/terminal/glyphs.py",
    "colour": "a role of tui/terminal/theme.py",
    "cause": "words without a full stop",
    "may_break": "words without a full stop",
    "behaviour": "a Behaviour that has its own heal() where 'is_lasting' is True, and none where it is False",
    "default_duration_us": "-1, or a time where 'is_lasting' is True",
    "target": "a selector, or nothing",
    "example": "a selector, or nothing",
    "mode": "kraft, zookeeper or nothing",
    "aliases": "names in lower case, with one of ACCEPTS or nothing",
    "at_least": "1, or more with a 'target'",
}
"""What each field of a fault has to be, for the message of a red test."""


def wanting(fault: Fault) -> list[str]:
    """Names of the fields of a declaration that are empty, or say what cannot be."""
    right = {
        "name": fault.name.isidentifier() and fault.name == fault.name.lower(),
        "letter": len(fault.letter) == 1 and fault.letter in string.ascii_letters + string.digits,
        "title": said(fault.title),
        "family": fault.family in FAMILIES,
        "summary": said(fault.summary) and fault.summary.endswith("."),
        "params": len({param.name for param in fault.params}) == len(fault.params),
        "accepts": fault.accepts in ACCEPTS,
        "heals": said(fault.heals) if fault.is_lasting else fault.heals == "",
        "glyph": len(fault.glyph) == 1
        and cell_len(fault.glyph) == 1
        and (fault.glyph.isascii() or fault.glyph in ASCII),
        "colour": fault.colour in ROLES,
        "cause": said(fault.cause) and not fault.cause.endswith("."),
        "may_break": said(fault.may_break) and not fault.may_break.endswith("."),
        "behaviour": isinstance(fault.behaviour, Behaviour)
        and (type(fault.behaviour).heal is not Behaviour.heal) == fault.is_lasting,
        "default_duration_us": fault.default_duration_us == -1 or (fault.is_lasting and fault.default_duration_us > 0),
        "target": fault.target == "" or is_target(fault.target),
        "example": fault.example == "" or is_target(fault.example),
        "mode": fault.mode in ("", "kraft", "zookeeper"),
        "aliases": all(
            each.name.isidentifier() and each.name == each.name.lower() and each.accepts in ("", *ACCEPTS)
            for each in fault.aliases
        ),
        "at_least": fault.at_least == 1 or (fault.at_least > 1 and fault.target != ""),
    }
    return [name for name, good in right.items() if not good]


def said(text: str) -> bool:
    return text == text.strip() != ""


def is_target(text: str) -> bool:
    try:
        parse(text)
    except SelectorError:
        return False
    return True


@pytest.mark.parametrize("fault", FAULTS)
def test_every_field_of_a_fault_is_filled(fault: Fault) -> None:
    mistakes = [f"{name}: found {getattr(fault, name)!r}, expected {WANTED[name]}" for name in wanting(fault)]
    assert mistakes == []


def test_every_field_there_is_is_looked_at() -> None:
    fields = {each.name for each in dataclasses.fields(Fault)}
    assert fields - {"is_lasting"} == {name for name, _wrong in WRONG} == set(WANTED)


class NothingToHeal(Behaviour):
    """A behaviour that does not say how it is undone."""

    apply = predict = None  # type: ignore[assignment]


WRONG: list[tuple[str, Any]] = [
    ("name", "Crash it"),
    ("letter", ""),
    ("letter", "cc"),
    ("letter", "é"),
    ("title", ""),
    ("family", ""),
    ("summary", ""),
    ("summary", "It dies"),
    ("params", (Param("a", "int", "One."), Param("a", "int", "Two."))),
    ("accepts", "everybody"),
    ("heals", ""),
    ("glyph", ""),
    ("glyph", "日"),
    ("glyph", "☂"),
    ("colour", "pink"),
    ("cause", ""),
    ("may_break", " "),
    ("behaviour", None),
    ("behaviour", NothingToHeal()),
    ("default_duration_us", 0),
    ("target", "somebody"),
    ("example", "leader("),
    ("mode", "raft"),
    ("aliases", (Alias("Kill it"),)),
    ("aliases", (Alias("kill_it", "everybody"),)),
    ("at_least", 0),
    ("at_least", 2),
]


@pytest.mark.parametrize(("field", "value"), WRONG)
def test_a_field_that_is_missing_or_wrong_is_found(field: str, value: Any) -> None:
    assert wanting(dataclasses.replace(CATALOGUE["crash"], **{field: value})) == [field]


def test_one_time_faults_declare_no_heal() -> None:
    assert wanting(dataclasses.replace(CATALOGUE["restart"], heals="it stops")) == ["heals"]
    assert wanting(dataclasses.replace(CATALOGUE["crash"], is_lasting=False, heals="")) == ["behaviour"]


@pytest.mark.parametrize(
    "field", [each.name for each in dataclasses.fields(Fault) if each.default is dataclasses.MISSING]
)
def test_a_declaration_without_a_field_cannot_be_made(field: str) -> None:
    given = {each.name: getattr(CATALOGUE["crash"], each.name) for each in dataclasses.fields(Fault)}
    del given[field]
    with pytest.raises(TypeError, match=field):
        Fault(**given)


@pytest.mark.parametrize("fault", FAULTS)
def test_parameters_are_found_by_name(fault: Fault) -> None:
    assert [fault.param(param.name) for param in fault.params] == list(fault.params)
    assert len({param.name for param in fault.params}) == len(fault.params)
    assert fault.param("no such thing") is None


@pytest.mark.slow
@pytest.mark.parametrize("param", PARAMS)
def test_a_parameter_is_described_and_its_default_is_allowed(param: Param) -> None:
    assert param.doc.endswith(".")
    assert param.low <= param.high
    assert (param.type == "choice") == bool(param.choices)
    if param.default is None or (param.type, param.default) == ("int", ""):
        return  # It must be given; or nothing is what no number could say.
    if param.type in (*NUMERIC, "broker"):
        assert isinstance(param.default, int)
        assert param.default == -1 or param.low <= param.default <= param.high
    elif param.type == "choice":
        assert param.default in param.choices
    elif param.type in ("brokers", "placement", "scopes", "offset lines") or param.type.endswith((" config", " keys")):
        assert param.default == ()
    else:
        assert isinstance(param.default, bool if param.type == "bool" else str)


@pytest.mark.parametrize(("typed", "meant"), [("crsh", "crash"), ("powerloss", "power_loss"), ("gc", ""), ("qqq", "")])
def test_a_misspelt_fault_gets_a_hint(typed: str, meant: str, snapshot: SnapshotAssertion) -> None:
    hint = fault_hint(typed)
    assert bool(hint) == bool(meant)
    assert meant in re.findall(r"\w+", hint) or not meant
    assert hint == snapshot


def test_each_operation_has_a_procedure() -> None:
    assert {*PROCEDURES, "cancel"} == {*OPERATIONS}


@pytest.mark.parametrize("operation", [pytest.param(each, id=name) for name, each in OPERATIONS.items()])
def test_every_field_of_an_operation_is_filled(operation: Operation) -> None:
    assert len(operation.letter) == 1
    assert operation.letter.islower()
    assert operation.summary.endswith(".")
    assert operation.title.strip() == operation.title != ""
    assert operation.may_break.strip() == operation.may_break != ""
    assert [operation.param(param.name) for param in operation.params] == list(operation.params)
    assert all(operation.param(name) for name in operation.one_of)


def test_a_misspelt_operation_gets_a_hint(snapshot: SnapshotAssertion) -> None:
    assert nearest_operation("elect_leader") == snapshot
    assert nearest_operation("qqq") == ""


@pytest.mark.parametrize(
    ("name", "kafka", "lacks"),
    [
        ("delete_records", (0, 10, 2), True),
        ("delete_records", (0, 11, 0), False),
        ("alter_broker_config", (1, 0, 0), True),
        ("create_topic", (0, 8, 2), False),
    ],
)
def test_versions_lack_what_came_later(name: str, kafka: Version, lacks: bool, snapshot: SnapshotAssertion) -> None:
    lacking = OPERATIONS[name].unsupported_reason(kafka, "zookeeper")
    assert bool(lacking) == lacks
    assert lacking == snapshot

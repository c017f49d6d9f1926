"""The catalogue says everything about each fault, and nothing that contradicts itself."""

import pytest

from faults.catalogue import CATALOGUE, nearest
from faults.fault import ACCEPTS, Fault, Param
from faults.operations import OPERATIONS, Operation, nearest_operation

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


@pytest.mark.parametrize("fault", FAULTS)
def test_every_field_of_a_fault_is_filled(fault: Fault) -> None:
    assert len(fault.letter) == 1
    assert fault.letter.isascii()
    assert fault.letter.isalnum()
    assert len(fault.glyph) == 1
    assert fault.summary.endswith(".")
    for text in (fault.title, fault.colour, fault.cause, fault.may_break):
        assert text == text.strip() != ""


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_says_whom_it_can_be_done_to(fault: Fault) -> None:
    assert fault.accepts in ACCEPTS


@pytest.mark.parametrize("fault", FAULTS)
def test_what_lasts_can_be_healed_and_nothing_else(fault: Fault) -> None:
    assert fault.lasting == bool(fault.heals)


@pytest.mark.parametrize("fault", FAULTS)
def test_parameters_are_found_by_name(fault: Fault) -> None:
    assert [fault.param(param.name) for param in fault.params] == list(fault.params)
    assert len({param.name for param in fault.params}) == len(fault.params)
    assert fault.param("no such thing") is None


@pytest.mark.parametrize("param", PARAMS)
def test_a_parameter_is_described_and_its_default_is_allowed(param: Param) -> None:
    assert param.doc.endswith(".")
    assert param.low <= param.high
    assert (param.type == "choice") == bool(param.choices)
    if param.default is None or (param.type, param.default) == ("int", ""):
        return  # It must be given; or nothing is what no number could say.
    if param.type in ("int", "duration", "broker"):
        assert isinstance(param.default, int)
        assert param.default == -1 or param.low <= param.default <= param.high
    elif param.type == "choice":
        assert param.default in param.choices
    elif param.type in ("brokers", "placement", "scopes", "offset lines") or param.type.endswith((" config", " keys")):
        assert param.default == ()
    else:
        assert isinstance(param.default, bool if param.type == "bool" else str)


@pytest.mark.parametrize(
    ("typed", "hint"),
    [("crsh", "; did you mean crash?"), ("powerloss", "; did you mean power_loss?"), ("gc", ""), ("qqq", "")],
)
def test_a_misspelt_fault_gets_a_hint(typed: str, hint: str) -> None:
    assert nearest(typed) == hint


@pytest.mark.parametrize("operation", [pytest.param(each, id=name) for name, each in OPERATIONS.items()])
def test_every_field_of_an_operation_is_filled(operation: Operation) -> None:
    assert len(operation.letter) == 1
    assert operation.letter.islower()
    assert operation.summary.endswith(".")
    assert operation.title.strip() == operation.title != ""
    assert operation.may_break.strip() == operation.may_break != ""
    assert [operation.param(param.name) for param in operation.params] == list(operation.params)
    assert all(operation.param(name) for name in operation.one_of)


def test_a_misspelt_operation_gets_a_hint() -> None:
    assert nearest_operation("elect_leader") == "; did you mean elect_leaders?"
    assert nearest_operation("qqq") == ""


@pytest.mark.parametrize(
    ("name", "kafka", "lacking"),
    [
        ("delete_records", (0, 10, 2), "delete records came with Kafka 0.11"),
        ("delete_records", (0, 11, 0), ""),
        ("alter_broker_config", (1, 0, 0), "broker configuration came with Kafka 1.1"),
        ("create_topic", (0, 8, 2), ""),
    ],
)
def test_versions_lack_what_came_later(name: str, kafka: tuple[int, ...], lacking: str) -> None:
    assert OPERATIONS[name].lacking(kafka, "zookeeper") == lacking

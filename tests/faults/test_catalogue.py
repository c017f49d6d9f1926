"""The catalogue says everything about each fault, and nothing that contradicts itself."""

import pytest

from faults.catalogue import ADMIN, CATALOGUE, Fault, Param, nearest

FAULTS = [pytest.param(fault, id=name) for name, fault in CATALOGUE.items()]
PARAMS = [
    pytest.param(param, id=f"{name}-{param.name}") for name, fault in CATALOGUE.items() for param in fault.params
] + [pytest.param(param, id=f"{name}-{param.name}") for name, op in ADMIN.items() for param in op.params]


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
    assert all(op.name == name for name, op in ADMIN.items())


def test_letters_and_titles_are_used_once() -> None:
    assert len({fault.letter for fault in CATALOGUE.values()}) == len(CATALOGUE)
    assert len({fault.title for fault in CATALOGUE.values()}) == len(CATALOGUE)


@pytest.mark.parametrize("fault", FAULTS)
def test_every_field_of_a_fault_is_filled(fault: Fault) -> None:
    assert len(fault.letter) == 1
    assert fault.letter.islower()
    assert len(fault.glyph) == 1
    assert fault.summary.endswith(".")
    for text in (fault.title, fault.colour, fault.cause, fault.may_break):
        assert text == text.strip() != ""


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_says_whom_it_can_be_done_to(fault: Fault) -> None:
    assert fault.accepts in ("brokers", "brokers and controllers", "nodes")


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
    if param.default is None:
        return
    if param.type in ("int", "duration"):
        assert isinstance(param.default, int)
        assert param.low <= param.default <= param.high
    elif param.type == "choice":
        assert param.default in param.choices
    else:
        assert isinstance(param.default, bool if param.type == "bool" else str)


@pytest.mark.parametrize(
    ("typed", "hint"),
    [("crsh", "; did you mean crash?"), ("powerloss", "; did you mean power_loss?"), ("gc", ""), ("qqq", "")],
)
def test_a_misspelt_fault_gets_a_hint(typed: str, hint: str) -> None:
    assert nearest(typed) == hint

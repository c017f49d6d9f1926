"""What is generated from the declarations of faults: the manual's page, examples that load, values with their units."""

import re
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from docs.generate.__main__ import PAGES, page_text
from docs.generate.catalogue_pages import fault_page, fault_section
from faults.catalogue import CATALOGUE
from faults.declarations.fault import FAMILIES, HOUR, MS, PERCENT, Fault, Param
from playbooks.model.playbook import Step
from playbooks.model.step_text import allowed_text, default_text, described, example_step, value_text
from playbooks.parser.key_reference import schema
from playbooks.parser.loader import loads
from playbooks.units import throughput_bps, throughput_text

PUBLISHED = Path(__file__).parents[2] / "docs" / "reference"
FAULTS = [pytest.param(fault, id=name) for name, fault in CATALOGUE.items()]

AROUND = """floodmark: 1
name: example
cluster:
  mode: {mode}
  kafka: "{kafka}"
  brokers: [{{id: 1, rack: a}}, {{id: 2, rack: b}}, {{id: 3, rack: c}}]
topics:
  - {{name: orders, partitions: 3, replication: 3}}
clients:
  producers:
    - {{name: checkout, topic: orders, rate: 100/s, config: {{acks: all}}}}
    - {{name: till, topic: orders, rate: 10/s, config: {{transactional.id: till-1}}}}
  groups:
    - {{name: billing, topics: [orders], members: 2}}
steps:
"""


def loaded(fault: Fault) -> Step:
    mode = fault.mode or "kraft"
    text = AROUND.format(mode=mode, kafka="3.9" if mode == "kraft" else "2.8")
    text += "".join(f"  {line}\n" for line in example_step(fault).splitlines())
    (step,) = loads(text, "example.yaml").steps
    return step


@pytest.mark.parametrize("page", [page for page in PAGES if page.partition("-")[0] == "faults"])
def test_the_page_is_what_the_catalogue_says(page: str) -> None:
    """Write it anew: ``make pages``."""
    assert (PUBLISHED / f"{page}.md").read_text(encoding="utf-8") == page_text(page)


def test_the_pages_have_every_family_and_every_fault_in_order() -> None:
    families = {family: [name for name, fault in CATALOGUE.items() if fault.family == family] for family in FAMILIES}
    index = fault_page()
    assert re.findall(r"^## (.+)$", index, re.MULTILINE) == [family.capitalize() for family in families]
    for family, faults in families.items():
        page = f"faults-{family.replace(' ', '-')}"
        assert re.findall(rf"\({page}\.md#([a-z_]+)\)", index) == faults
        assert re.findall(r"^## (.+)$", page_text(page), re.MULTILINE) == faults


@pytest.mark.parametrize("fault", FAULTS)
def test_the_page_says_everything_about_a_fault(fault: Fault) -> None:
    told = fault_section(fault).replace("\\|", "|").replace("\\*", "*").replace("&lt;", "<")
    for text in (fault.summary, fault.cause, fault.may_break, fault.heals or "nothing to heal", example_step(fault)):
        assert text in told
    for param in fault.params:
        row = next(line for line in told.splitlines() if line.startswith(f"| `{param.name}` |"))
        assert param.doc in row
        assert param.type in row
        assert default_text(param) in row


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_the_example_is_a_step_that_loads(fault: Fault) -> None:
    step = loaded(fault)
    assert (step.verb, step.name) == ("inject", fault.name)
    assert (step.for_us > 0) == fault.is_lasting
    assert set(step.params) >= {param.name for param in fault.params if param.default is None}
    for param in fault.params:
        if param.default is not None and param.name in step.params:
            assert step.params[param.name] == param.default


@pytest.mark.parametrize(
    ("type_", "value", "text"),
    [
        ("duration", 200 * MS, "200ms"),
        ("duration", 0, "0s"),
        ("percent", 5 * PERCENT, "5%"),
        ("percent", 12_500, "1.25%"),
        ("size", 64 * 1024, "64KiB"),
        ("throughput", 375_000, "3Mbit/s"),
        ("throughput", 384_000, "375KiB/s"),
        ("throughput", 1 << 20, "1MiB/s"),
        ("throughput", 1, "1B/s"),
        ("int", 7, "7"),
        ("bool", True, "true"),
        ("int", -1, "-1"),
        ("target", "leader(orders-0)", "leader(orders-0)"),
    ],
)
def test_values_are_written_as_a_playbook_has_them(type_: str, value: Any, text: str) -> None:
    assert value_text(type_, value) == text


@pytest.mark.parametrize("count", [1, 7, 125, 999, 1000, 1024, 125_000, 375_000, 384_000, 1_000_000, 1 << 30, 10**9])
def test_a_throughput_is_read_back_as_it_was_written(count: int) -> None:
    assert throughput_bps(throughput_text(count)) == count


def test_a_parameter_describes_itself_with_range_and_default(snapshot: SnapshotAssertion) -> None:
    params = (
        Param("loss", "percent", "Packets lost.", default=5 * PERCENT, low=PERCENT, high=100 * PERCENT),
        Param("rate", "throughput", "What passes.", high=125_000_000),
        Param("keep", "int", "Left.", default=-1, low=-1, high=1 << 40),
        Param("tail", "choice", "Which.", default="b", choices=("a", "b")),
    )
    assert {param.name: described(param) for param in params} == snapshot
    assert allowed_text(Param("tail", "choice", "Which.", choices=("a", "b"))) == "a, b"
    assert allowed_text(Param("to", "target", "Whom.")) == ""
    assert allowed_text(Param("t", "duration", "How long.", high=HOUR)) == "0s to 1h"


def test_the_schema_reports_an_editor_ranges_and_defaults() -> None:
    steps = schema()["$defs"]["step"]["anyOf"]
    for name, fault in CATALOGUE.items():
        verbs = [each.get("properties", {}).get("inject", {}) for each in steps]
        ways = [way for verb in verbs for way in verb.get("anyOf", [verb])]
        assert any(name in (way.get("const"), *way.get("enum", ())) for way in ways)
        step = next(each for each, verb in zip(steps, verbs, strict=True) if f"'{name}'" in str(verb))
        assert step["properties"]["inject"]["description"] == fault.summary
        for param in fault.params:
            assert step["properties"][param.name]["description"] == described(param)

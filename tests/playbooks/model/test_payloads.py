"""Contents of records: the same for the same record, made of checked fields only, and never when nobody looks."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from faker.providers import date_time
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from cluster_model.spec.cluster_spec import ProducerSpec
from docs.generate.playbook_pages import record_contents_page
from playbooks.model.record_contents import (
    FAKED,
    OWN,
    PROVIDERS,
    TEMPLATES,
    Parameter,
    RecordFieldError,
    RecordName,
    contents,
    fields_of,
    parse,
    written,
)
from playbooks.parser.loader import loads
from tests.support.mistakes import mistakes_of, places

ROOT = Path(__file__).parents[3]
RECORD = RecordName("checkout", "orders-0", 17, 12_345_678, "key-3")


def argument(parameter: Parameter) -> st.SearchStrategy[int | str]:
    if parameter.text:
        letters = st.characters(codec="ascii", exclude_characters="'\n", categories=("L", "N", "P"))
        return st.text(letters, min_size=parameter.low, max_size=parameter.high)
    return st.integers(parameter.low, parameter.high)


@st.composite
def calls(draw: st.DrawFn) -> str:
    """A provider with arguments that it should take."""
    name = draw(st.sampled_from(sorted(PROVIDERS)))
    provider = PROVIDERS[name]
    if not provider.parameters:
        return name
    parameters = provider.parameters * draw(st.integers(1, 4)) if provider.parameters[0].many else provider.parameters
    values = [draw(argument(each)) for each in parameters]
    if provider.ordered:
        values[:2] = sorted(values[:2], key=int)
    kept = draw(st.integers(provider.needed, len(values)))
    kept = 2 if provider.ordered and kept == 1 else kept
    words = [f"'{each}'" if isinstance(each, str) else str(each) for each in values[:kept]]
    return f"{name}({', '.join(words)})"


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(calls(), st.integers(0, 10**6))
def test_every_field_that_is_taken_can_be_made(text: str, number: int) -> None:
    parse(text)
    made = contents({"field": text}, 7, RecordName("p", "t-0", number))
    assert json.loads(written(made)) == made


@pytest.mark.parametrize("name", sorted(TEMPLATES))
def test_templates_are_the_same_for_the_same_record_and_no_other(name: str) -> None:
    fields = TEMPLATES[name]
    made = contents(fields, 7, RECORD)
    assert list(made) == list(fields)
    assert contents(fields, 7, RECORD) == made
    others = [
        contents(fields, 8, RECORD),
        contents(fields, 7, RecordName("other", "orders-0", 17, 12_345_678, "key-3")),
        contents(fields, 7, RecordName("checkout", "orders-1", 17, 12_345_678, "key-3")),
        contents(fields, 7, RecordName("checkout", "orders-0", 18, 12_345_678, "key-3")),
    ]
    assert made not in others
    assert contents(fields, 7, RECORD) == made  # whoever looked in between


def test_a_field_added_behind_the_others_changes_none_of_them() -> None:
    made = contents(TEMPLATES["user"], 7, RECORD)
    assert contents({**TEMPLATES["user"], "more": "ipv4"}, 7, RECORD) == {**made, "more": made_of("user", "ipv4")}


def made_of(template: str, field: str) -> Any:
    return contents({**TEMPLATES[template], "more": field}, 7, RECORD)["more"]


@pytest.mark.slow
def test_contents_do_not_depend_on_the_process_or_its_hashes() -> None:
    program = (
        "from playbooks.model.record_contents import *; from playbooks.model.record_contents import TEMPLATES\n"
        "print([contents(TEMPLATES[t], 7, RecordName('checkout', 'orders-0', 17)) for t in sorted(TEMPLATES)])"
    )
    printed = [
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=ROOT, env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("0", "12345")
    ]  # fmt: skip
    assert printed[0] == printed[1]
    here = [contents(TEMPLATES[name], 7, RecordName("checkout", "orders-0", 17)) for name in sorted(TEMPLATES)]
    assert printed[0].strip() == str(here)


def test_contents_of_a_records_own_fields() -> None:
    made = contents({name: name for name in OWN}, 7, RECORD)
    assert made == {
        "sequence": 17, "timestamp": 12_345, "partition": "orders-0", "producer": "checkout", "key": "key-3",
    }  # fmt: skip


def test_numbers_keep_to_their_range_and_fill_it() -> None:
    names = [RecordName("p", "t-0", number) for number in range(2_000)]
    whole = {contents({"x": "pyint(3, 6)"}, 7, name)["x"] for name in names}
    tenths = {contents({"x": "pyfloat(-1, 1, 1)"}, 7, name)["x"] for name in names}
    assert whole == {3, 4, 5, 6}
    assert tenths == {tenth / 10 for tenth in range(-10, 11)}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "pyint(",
        "pyin",
        "date_time",
        "seed_instance(1)",
        "__class__",
        "uuid4().hex",
        "pyint(__import__('os'))",
        "pyint(1,)",
        "pyint(1.5)",
        "pyint(1 2)",
        "pyint(1, 2, 3)",
        "pyint(least=1)",
        "pyint(1, min_value=2)",
        "pyint('a')",
        "pyint(0, 9999999999999)",
        "pyint(5, 1)",
        "pyint(20000)",
        "pyfloat(1)",
        "text(1001)",
        "bothify('')",
        "random_element()",
        "random_element(elements='a')",
        "uuid4(1)",
    ],
)
def test_unknown_record_fields_are_rejected(text: str, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(RecordFieldError) as caught:
        parse(text)
    assert str(caught.value) == snapshot


def test_arguments_by_name_are_those_in_order() -> None:
    assert parse("pyint(max_value=9, min_value=3)").arguments == (("max_value", 9), ("min_value", 3))
    assert contents({"x": "pyint(3, max_value=9)"}, 7, RECORD) == contents({"x": "pyint(3, 9)"}, 7, RECORD)
    assert parse("""random_element('a', "b'c")""").arguments == (("0", "a"), ("1", "b'c"))


def producer(records: str) -> ProducerSpec:
    maker = f"{{name: p, topic: t, rate: 1/s, records: {records}}}"
    text = f"floodmark: 1\ntopics: [{{name: t, replication: 1}}]\nclients: {{producers: [{maker}]}}"
    return loads(text, "records.yaml").spec.producers[0]


def test_playbooks_name_a_template_or_fields() -> None:
    assert fields_of(producer("faker:sensor")) == TEMPLATES["sensor"]
    assert fields_of(producer('{id: uuid4, amount: "pyint(1,500)"}')) == {"id": "uuid4", "amount": "pyint(1,500)"}
    assert fields_of(ProducerSpec("p", "t", 1)) == {}


@pytest.mark.parametrize(
    ("records", "column", "field"),
    [
        ("faker:ordr", 63, ""),
        ("order", 63, ""),
        ("{}", 63, ""),
        ("[uuid4]", 63, ""),
        ("{a: uid4}", 67, ".a"),
        ("{a b: uuid4}", 64, ".a b"),
        ("{a: }", 66, ".a"),
        ("{a: {b: word}}", 67, ".a"),
    ],
)
def test_a_playbook_with_other_records_is_refused_with_the_place(
    records: str, column: int, field: str, snapshot: SnapshotAssertion
) -> None:
    problem = mistakes_of(lambda: producer(records))[0]
    assert places([problem]) == [f"records.yaml:3:{column} clients.producers[1].records{field}"]
    assert problem.message == snapshot


def test_the_page_lists_every_provider_and_template_as_it_is() -> None:
    """Made by ``python -m docs.generate record-contents > docs/reference/record-contents.md``."""
    page = (ROOT / "docs" / "reference" / "record-contents.md").read_text()
    assert page == record_contents_page()
    rows = re.findall(r"^\| `([a-z0-9_]+)`(?:: ([^|]+))? \| (.+) \|$", page, re.MULTILINE)
    told = [(f"{name}({takes})" if takes else name, doc) for name, takes, doc in rows]
    assert told == [(provider.signature(name), provider.doc) for name, provider in PROVIDERS.items()]
    assert re.findall(r"`faker:([a-z_]+)`", page) == list(TEMPLATES)
    example = re.findall(r"```yaml\nrecords:\n(.*?)```", page, re.DOTALL)[0]
    assert len(fields_of(producer(json.dumps(yaml.safe_load(example))))) == 5


@pytest.mark.slow
def test_faker_is_imported_only_when_contents_are_viewed() -> None:
    program = (
        "import sys; from playbooks.parser.loader import load; from playbooks.engine.session import Session\n"
        "from playbooks.library.bundled import path_of; import playbooks.model.record_contents\n"
        "session = Session.start(load(path_of('leader-crash'))); session.advance(1_000_000)\n"
        "print('faker' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_no_provider_asks_for_todays_date(monkeypatch: pytest.MonkeyPatch) -> None:
    def today(*_words: object, **_named: object) -> None:
        raise AssertionError("asked for the date")

    contents({"x": "word"}, 7, RECORD)  # what is made once may ask
    for name in [name for name in dir(date_time.Provider) if not name.startswith("_")]:
        if callable(getattr(date_time.Provider, name)):
            monkeypatch.setattr(date_time.Provider, name, today)
    assert set(contents({name: name for name in FAKED if not FAKED[name].needed}, 7, RECORD)) < set(FAKED)

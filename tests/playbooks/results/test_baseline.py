"""Stored results: what differs from them, which of it is a regression, and files that are none."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from cluster_model.util.quantities import exact_seconds
from playbooks.engine.session_runner import start_session
from playbooks.parser.loader import loads
from playbooks.results.baseline import (
    COUNTED,
    VERDICTS,
    Baseline,
    BaselineChange,
    BaselineEntry,
    BaselineError,
    compare,
    differences,
    entry_of,
    named,
    read_baseline,
    saved,
)
from tests.support.playbooks import MANUAL
from tests.support.wording import masked_text

AMOUNT = st.integers(0, 5)
ENTRIES = st.builds(
    BaselineEntry,
    playbook=st.sampled_from(["a", "b", "a (2)"]),
    profile=st.sampled_from(["3.9-kraft", "2.8-zookeeper"]),
    seed=AMOUNT,
    verdict=st.sampled_from(VERDICTS),
    digest=st.sampled_from(["00", "ff"]),
    ledger=st.fixed_dictionaries(dict.fromkeys(COUNTED, AMOUNT)),
    expectations=st.dictionaries(st.sampled_from(["x == 0", "y", "z"]), st.booleans()),
    unavailable_us=st.none() | AMOUNT,
)
SOUND = BaselineEntry("a", "3.9-kraft", 1, "pass", "00", dict.fromkeys(COUNTED, 0), {"x == 0": True}, 0)


def with_(**changes: Any) -> BaselineEntry:
    ledger = {key: changes.pop(key) for key in COUNTED if key in changes}
    return replace(SOUND, ledger={**SOUND.ledger, **ledger}, **changes)


@given(ENTRIES)
def test_nothing_differs_from_itself(entry: BaselineEntry) -> None:
    assert differences(entry, entry) == []


@pytest.mark.slow
@given(ENTRIES, ENTRIES)
def test_baseline_comparison_is_antisymmetric(one: BaselineEntry, other: BaselineEntry) -> None:
    there, back = differences(one, other), differences(other, one)
    assert sorted((each.what, each.before, each.now) for each in there) == sorted(
        (each.what, each.now, each.before) for each in back
    )
    trends = {each.what: each.trend for each in back}
    both = [each for each in there if "missing" not in (each.before, each.now)]
    assert all(each.trend == -trends[each.what] for each in both)
    assert not any(each.regression for each in there if each.trend <= 0)
    worse = VERDICTS.index(other.verdict) > VERDICTS.index(one.verdict)
    lost = any(other.ledger[key] > one.ledger[key] for key in ("acked_lost", "committed_lost"))
    spans = (one.unavailable_us, other.unavailable_us)
    longer = None not in spans and (spans[1] or 0) > (spans[0] or 0)
    assert any(each.regression for each in there) == (worse or lost or longer)


@pytest.mark.slow
@given(st.lists(ENTRIES))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_baselines_round_trip(tmp_path: Path, entries: list[BaselineEntry]) -> None:
    path = tmp_path / "base.json"
    path.write_text(json.dumps(saved(entries)))
    assert read_baseline(path) == Baseline(str(path), named(entries))


@pytest.mark.parametrize(
    ("now", "told"),
    [
        (with_(verdict="inconclusive"), [BaselineChange("verdict", "pass", "inconclusive", 1, regression=True)]),
        (with_(acked_lost=2), [BaselineChange("acked lost", "0", "2", 1, regression=True)]),
        (with_(committed_lost=1), [BaselineChange("committed lost", "0", "1", 1, regression=True)]),
        (with_(duplicates=3), [BaselineChange("duplicates", "0", "3", 1)]),
        (with_(reordered=3), [BaselineChange("reordered", "0", "3", 1)]),
        (with_(unavailable_us=1_500_000), [BaselineChange("unavailable", "0s", "1.5s", 1, regression=True)]),
        (with_(unavailable_us=None), []),
        (with_(expectations={"x == 0": False}), [BaselineChange("expectation x == 0", "held", "failed", 1)]),
        (
            with_(expectations={"y": True}),
            [
                BaselineChange("expectation y", "missing", "held"),
                BaselineChange("expectation x == 0", "held", "missing"),
            ],
        ),
        (with_(digest="ff", seed=2), [BaselineChange("seed", "1", "2"), BaselineChange("digest", "00", "ff")]),
    ],
)
def test_each_difference_is_reported(now: BaselineEntry, told: list[BaselineChange]) -> None:
    assert differences(SOUND, now) == told


def test_playbooks_are_matched_by_name_in_order(snapshot: SnapshotAssertion) -> None:
    before = Baseline("base", named([SOUND, with_(acked_lost=5), replace(SOUND, playbook="gone")]))
    told = compare(before, [("a", SOUND), ("new", SOUND), ("a", with_(acked_lost=4)), ("gone too", None)])
    assert [(each.playbook, each.regression, [change.what for change in each.changes]) for each in told] == [
        ("a", False, []),
        ("new", False, ["playbook"]),
        ("a (2)", False, ["acked lost"]),
        ("gone too", False, ["playbook"]),
        ("gone", False, ["playbook"]),
    ]
    assert {each.playbook: list(map(str, each.changes)) for each in told} == snapshot
    (worse, *_) = compare(before, [("a", None)])
    assert worse.regression


def test_the_documents_of_a_run_are_baselines(tmp_path: Path) -> None:
    document = start_session(loads(MANUAL, "m.yaml")).finish().to_json()
    (tmp_path / "one.json").write_text(json.dumps(document))
    (tmp_path / "list.json").write_text(json.dumps([document, document]))
    entry = entry_of(document)
    assert entry.unavailable_us == 0
    assert read_baseline(tmp_path / "one.json").entries == {"by-hand": entry}
    assert read_baseline(tmp_path / "list.json").entries == {"by-hand": entry, "by-hand (2)": entry}


GOOD = SOUND.to_json()
FOREIGN = {
    "empty": "",
    "byte order mark": "\ufeff{}",
    "a number": "3",
    "no result": '{"a": 1}',
    "a list in a list": "[[]]",
    "unknown verdict": json.dumps([GOOD, {**GOOD, "verdict": "perfect"}]),
    "seed that is no number": json.dumps({**GOOD, "seed": True}),
    "negative amount": json.dumps({**GOOD, "ledger": {**GOOD["ledger"], "acked_lost": -1}}),
    "no ledger": json.dumps({**GOOD, "ledger": {}}),
    "expectation without an outcome": json.dumps({**GOOD, "expectations": [{"text": "x"}]}),
    "half a microsecond": json.dumps({**GOOD, "unavailable": {"us": 1.5}}),
    "later format": '{"floodmark_baseline": 2, "playbooks": []}',
    "no playbooks": '{"floodmark_baseline": 1}',
    "deep": "[" * 100_000,
    "large number": '{"a": ' + "9" * 5000 + "}",
    "half a character": '["\\ud800"]',
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_file_that_is_none_is_one_error(tmp_path: Path, name: str, snapshot: SnapshotAssertion) -> None:
    path = tmp_path / "base.json"
    path.write_text(FOREIGN[name])
    with pytest.raises(BaselineError) as refused:
        read_baseline(path)
    assert masked_text(refused.value, path=path) == snapshot
    assert str(path) in str(refused.value)
    assert "\n" not in str(refused.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*GOOD, "us", "x"]), inner, max_size=9),
    max_leaves=8,
)


@pytest.mark.slow
@given(st.sampled_from(sorted(GOOD)), JSON)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_file_makes_a_traceback(tmp_path: Path, key: str, value: object) -> None:
    path = tmp_path / "base.json"
    for document in (value, {**GOOD, key: value}, {"floodmark_baseline": value, "playbooks": value}):
        path.write_text(json.dumps(document))
        try:
            read_baseline(path)
        except BaselineError as error:
            assert str(path) in str(error)  # noqa: PT017 - either way is right


def test_seconds_are_exact() -> None:
    assert [exact_seconds(us) for us in (0, 1, 1_500_000, 60_000_000)] == ["0s", "0.000001s", "1.5s", "60s"]

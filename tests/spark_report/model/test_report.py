"""What the report says in words."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from spark_report.model.comparison import _row
from spark_report.model.report import SessionModel, headline, overall, sentences, severity
from spark_report.render import sections, tables
from tests.spark_report.stories import SPAN, story

LOST = {"at_us": 9, "seq": 9, "status": "lost", "partition": "orders-0", "client": "c", "sequence": 0, "log_offset": 0}


def loss(count: int, *, committed: bool) -> dict[str, Any]:
    return {**LOST, "count": count, "committed": committed, "leader_epoch": 0, "acks": 1, "cause": "it died"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "losses",
    [
        [],
        [loss(1, committed=False)],
        [loss(1, committed=True)],
        [loss(3, committed=True)],
        [loss(3, committed=True), loss(2, committed=False)],
    ],
    ids=["none", "one", "a committed one", "three committed", "three of five committed"],
)
def test_the_headline_says_what_was_lost(
    tmp_path: Path, losses: list[dict[str, Any]], snapshot: SnapshotAssertion
) -> None:
    assert headline(story(tmp_path, losses=losses).sessions[0]) == snapshot


def test_a_failure_says_which_part_failed(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    checked = [{"at_us": 1, "seq": 1, "rule": "r", "ok": ok, "detail": ""} for ok in (True, False, True)]
    assert headline(story(tmp_path, expectations=checked).sessions[0]) == snapshot


def test_events_that_disagree_with_the_result_alarm(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    term = {"source": "result.json", "name": "acked_lost", "partition": "", "found": 2, "reported": 0}
    row = {"source": "ledger.parquet", "name": "sent", "partition": "orders-0", "found": 7, "reported": 1_200}
    one = story(tmp_path, disagreements=[term, row]).sessions[0]
    assert severity(one) == "alarm"
    assert [each for each in sentences(one) if each.startswith("Its ")] == snapshot
    many = story(tmp_path / "many", disagreements=[{**row, "partition": f"orders-{n}"} for n in range(7)]).sessions[0]
    assert sum("ledger.parquet" in each for each in sentences(many)) == 5
    assert [each for each in sentences(many) if each.startswith("2 more")] == snapshot


def test_holes_in_the_events_make_a_session_incomplete(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    one = story(tmp_path, counts=[{"events": 1980, "last_seq": 1982, "gapless": False}]).sessions[0]
    assert one.status == "incomplete"
    assert one.problems == snapshot


def damaged(tmp_path: Path, **changed: Any) -> SessionModel:
    one = story(tmp_path).sessions[0]
    return replace(one, recorded=replace(one.recorded, **changed), problems=("its table is damaged",))


def test_a_damaged_session_of_which_nothing_is_missing_is_not_incomplete(tmp_path: Path) -> None:
    one = damaged(tmp_path, source="jsonl")
    assert (one.status, one.complaint) == ("damaged", "Damaged")


def test_a_damaged_session_of_which_the_end_is_missing_is_incomplete(tmp_path: Path) -> None:
    one = damaged(tmp_path, source="jsonl", last_seq=1900)
    assert (one.status, one.complaint) == ("incomplete", "Incomplete")


@pytest.mark.slow
def test_a_session_sealed_afterwards_has_a_note(tmp_path: Path) -> None:
    manifest = story(tmp_path / "other").sessions[0].recorded.manifest
    assert manifest is not None
    one = damaged(tmp_path, manifest=replace(manifest, status="recovered"))
    assert (one.status, one.complaint) == ("recovered", "Note")


def test_an_expectation_was_decided_when_the_result_says_so(tmp_path: Path) -> None:
    checked = [
        {"at_us": 9, "seq": seq, "rule": "r", "ok": ok, "detail": ""} for seq, ok in enumerate((True, True, False))
    ]
    one = story(tmp_path, expectations=checked).sessions[0]
    told = [{"text": "r", "ok": ok, "at_us": at_us} for ok, at_us in ((False, 1), (True, 2), (True, 3))]
    one = replace(one, recorded=replace(one.recorded, result={"expectations": told}))
    assert list(map(one.decided_us(), one.tables["expectations"])) == [2, 3, 1]
    for result in ({}, {"expectations": 7}, {"expectations": [7, {"text": "r", "ok": True, "at_us": "x"}]}):
        one = replace(one, recorded=replace(one.recorded, result=result))
        assert one.decided_us()(one.tables["expectations"][0]) == 9


def test_a_lost_record_went_missing_the_last_time_that_it_did(tmp_path: Path) -> None:
    spans = [(0, 10), (4, 6), (2, 5), (8, 12), (4, 5), (20, 21)]
    missing = [
        {**loss(high - low, committed=False), "status": "missing", "log_offset": low, "at_us": place}
        for place, (low, high) in enumerate(spans)
    ]
    elsewhere = {**missing[0], "client": "other"}
    since = story(tmp_path, losses=[*missing, elsewhere]).sessions[0].since()
    for offset in range(-1, 23):
        lost = {**loss(1, committed=False), "log_offset": offset, "at_us": 99}
        last = max((place for place, (low, high) in enumerate(spans) if low <= offset < high), default=99)
        assert since(lost)["at_us"] == last
    assert since({**loss(1, committed=False), "partition": "p-9"})["at_us"] == LOST["at_us"]


def test_causes_come_first_and_once(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    one = story(tmp_path, losses=[loss(1, committed=False), loss(2, committed=False)]).sessions[0]
    assert sentences(one)[:2] == snapshot


def test_the_worst_outage_is_reported_with_its_beginning_and_end(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    spans = [
        {**SPAN, "scope": "partition", "partition": name, "client": "", "acks": None, "duration_us": length}
        for name, length in (("orders-0", 1_000), ("orders-1", 700), ("orders-1", 800))
    ]
    told = sentences(story(tmp_path, unavailability=spans).sessions[0])
    assert [each for each in told if each.startswith("orders-")] == snapshot


@pytest.mark.slow
def test_several_sessions_are_counted_by_verdict(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    mood, told = overall(story(tmp_path, sessions=2))
    assert mood == "alarm"
    assert told == snapshot


@pytest.mark.slow
def test_the_story_reports_who_took_over_as_controller(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    row = {"seq": 3, "broker": -1, "leader_epoch": 2}
    changes = [{**row, "at_us": at, "node": f"controller {1000 + at}"} for at in range(1, 6)]
    rows = {"one": changes[:1], "many": changes, "none": []}
    told = {name: sentences(story(tmp_path / name, controllers=each).sessions[0]) for name, each in rows.items()}
    found = {name: [each for each in said if "controller changed" in each] for name, said in told.items()}
    assert {name: len(each) for name, each in found.items()} == {"one": 1, "many": 1, "none": 0}
    assert found == snapshot


def passed(tmp_path: Path, *rules: str, losses: list[dict[str, Any]]) -> SessionModel:
    """A session that passed by these expectations."""
    checked = [{"at_us": 1, "seq": 1, "rule": rule, "ok": True, "detail": ""} for rule in rules]
    one = story(tmp_path, expectations=checked, losses=losses).sessions[0]
    assert one.recorded.manifest is not None
    return replace(one, recorded=replace(one.recorded, manifest=replace(one.recorded.manifest, verdict="pass")))


@pytest.mark.parametrize(
    ("rules", "losses", "expected"),
    [
        (("acked_lost() > 0", "violations() == 0"), [loss(3, committed=True)], True),
        (("committed_lost(shop) == 3",), [loss(3, committed=True)], True),
        (("violations() == 0",), [loss(3, committed=True)], False),
        (("committed_lost() == 0",), [loss(3, committed=False)], False),
        ((), [loss(3, committed=True)], False),
        (("acked_lost() == 0",), [], False),
    ],
    ids=["expected", "expected committed", "not about losses", "not these losses", "nothing expected", "nothing lost"],
)
def test_a_loss_that_its_playbook_expects_is_marked_everywhere(
    tmp_path: Path, rules: tuple[str, ...], losses: list[dict[str, Any]], expected: bool, snapshot: SnapshotAssertion
) -> None:
    one = passed(tmp_path, *rules, losses=losses)
    whole = replace(story(tmp_path), sessions=(one, one))
    assert one.loss_expected is expected
    row = _row(one)
    assert (row["expectations_held"], row["loss_expected"]) == (len(rules), expected if losses else None)
    figure = sections.key_figures(one)[0]
    assert figure.tone == ("warning" if expected else "alarm" if losses else "calm")
    assert (tables.verdict(one), tables.verdict(one, short=True)) == snapshot
    assert [headline(one), overall(whole)[1], figure.note] == snapshot
    assert [each for each in sentences(one) if each.startswith("As expected: ")] == snapshot


def test_explanations_of_why_appear_beside_the_loss(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    one = story(tmp_path).sessions[0]
    beside = next(section for section in sections.sections(one) if section.name == "losses")
    assert [view.name for view in beside.views] == ["losses", "points_of_no_return", "remedies"]
    assert beside.views[2].rows == snapshot
    assert sentences(one)[1:3] == snapshot
    nothing = replace(one, tables={**one.tables, "points_of_no_return": [], "remedies": one.tables["remedies"][1:]})
    assert sentences(nothing)[1] == snapshot


@pytest.mark.parametrize(
    ("effect", "remaining", "saves"),
    [("saves", 0, True), ("helps", 0, True), ("helps", 2, False), ("refused", None, False), ("inconclusive", 0, False)],
)
def test_remedies_for_the_same_seed_are_listed_even_if_another_seed_loses(
    tmp_path: Path, effect: str, remaining: int | None, saves: bool
) -> None:
    one = story(tmp_path).sessions[0]
    remedies = [{**one.tables["remedies"][0], "effect": effect, "remaining": remaining, "summary": "acks=all"}]
    told = sentences(replace(one, tables={**one.tables, "remedies": remedies}))
    assert any("acks=all" in each for each in told) is saves

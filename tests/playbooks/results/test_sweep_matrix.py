"""Rows of a grid made by hand: which are marked, what the table says, and what the advice may say."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from playbooks.model.playbook import Cell
from playbooks.results.sweep_matrix import (
    COSTS,
    MEASURES,
    CellGroup,
    CellResult,
    SweepMatrix,
    Verdict,
    advice,
    axes_of,
    beats,
    cost_text,
    costs,
    cross_table,
    matrix_markdown,
    matrix_table,
    named,
    pareto,
    seed_table,
    to_json,
)

SECOND = 1_000_000
KEYS = dict.fromkeys(MEASURES, 0)


def row(cell: str, verdict: Verdict = "pass", **measures: int) -> CellResult:
    pairs: Cell = tuple((name, value) for name, _, value in (each.partition("=") for each in cell.split()))
    code = {"pass": 0, "fail": 1, "inconclusive": 3, "error": 2}[verdict]
    return CellResult(pairs, verdict, {} if verdict == "error" else {**KEYS, **measures}, code)


def matrix(*rows: CellResult) -> SweepMatrix:
    return SweepMatrix("made-up", axes_of(each.cell for each in rows), rows, 7)


SAFE = row("acks=all", acked=900, rejected=1240, unavailable_us=9_100_000, longest_us=9_100_000)
FAST = row("acks=1", acked=2140, acked_lost=310)


def test_the_sentence_names_the_safest_and_the_most_available(snapshot: SnapshotAssertion) -> None:
    assert advice(matrix(SAFE, FAST)) == snapshot


def test_one_row_that_beats_all_others(snapshot: SnapshotAssertion) -> None:
    worse = row("acks=0", acked_lost=400, rejected=3)
    best = row("acks=all")
    found = matrix(worse, best)
    assert found.pareto == (False, True)
    assert advice(found) == snapshot


def test_rows_that_come_out_the_same(snapshot: SnapshotAssertion) -> None:
    same = matrix(row("acks=1", duplicates=2), row("acks=all", duplicates=2, reordered=5))
    assert same.significant_axes == ()
    assert [advice(same), advice(matrix(row("acks=1")))] == snapshot


def test_rows_without_a_verdict_take_no_part(snapshot: SnapshotAssertion) -> None:
    found = matrix(row("acks=0", "inconclusive"), SAFE, FAST, row("acks=2", "error"))
    assert found.pareto == (False, True, True, False)
    assert advice(found) == snapshot
    assert advice(matrix(row("acks=0", "inconclusive"), row("acks=1", "error"))) == ""
    assert found.code == 2


def test_a_row_that_gives_up_nothing_but_duplicates(snapshot: SnapshotAssertion) -> None:
    """One row is the safest and the most available: the other that is named duplicates least."""
    twice = row("idempotence=false", duplicates=5)
    slow = row("idempotence=true", rejected=2)
    assert advice(matrix(twice, slow)) == snapshot


def test_axes_that_make_no_difference_are_not_named(snapshot: SnapshotAssertion) -> None:
    found = matrix(*[
        row(f"acks={acks} min.insync.replicas={least} kafka=3.9", acked_lost=3 * (acks == "1"), rejected=acks == "all")
        for acks in ("1", "all") for least in ("1", "2")
    ])  # fmt: skip
    assert found.varied == ("acks", "min.insync.replicas")
    assert found.significant_axes == ("acks",)
    assert "min.insync" not in advice(found)
    assert matrix_table(found).notes == snapshot


@pytest.mark.parametrize(
    ("measure", "less", "more"),
    [("skipped", 0, 1), ("reread", 3, 4), ("read_stall_us", 400_000, 2_000_000)],
)
def test_reader_measures_distinguish_sweep_cells(measure: str, less: int, more: int) -> None:
    found = matrix(
        row("auto.offset.reset=latest", **{measure: more}), row("auto.offset.reset=earliest", **{measure: less})
    )
    assert found.significant_axes == ("auto.offset.reset",)
    assert found.pareto == (False, True)
    assert len(matrix_table(found).heads) == 5
    assert to_json(found, "")["cells"][0][measure] == more


def test_a_short_stall_of_reading_is_chance() -> None:
    found = matrix(row("acks=1", read_stall_us=700_000), row("acks=all", read_stall_us=100_000))
    assert (found.significant_axes, found.pareto) == ((), (True, True))
    group = found.groups[0]
    assert replace(group, rows=group.rows * 2).total("read_stall_us") == 700_000


def test_the_words_of_a_row(snapshot: SnapshotAssertion) -> None:
    both = CellGroup((), (row("", acked_lost=9, committed_lost=4),))
    seeds = CellGroup((), (row("seed=1", acked_lost=9, unavailable_us=SECOND), row("seed=2", unavailable_us=SECOND)))
    settings = (("acks", "all"), ("kafka", "3.9"), ("mode", "kraft"))
    assert [cost_text(both), cost_text(seeds), named(settings)] == snapshot
    # Producers and readers are told apart where only one of them stalls.
    stalled = [
        row("", read_stall_us=63 * SECOND, unavailable_us=out, rejected=rejected)
        for out, rejected in ((0, 0), (SECOND, 0), (0, 7))
    ]
    assert [cost_text(CellGroup((), (each,))) for each in stalled] == snapshot


numbers = st.integers(0, 3)
tables = st.lists(st.one_of(st.none(), st.tuples(*[numbers] * len(COSTS))), max_size=8)


@pytest.mark.slow
@given(tables)
def test_a_marked_row_is_never_beaten_and_an_unmarked_one_always_is(found: Sequence[tuple[int, ...] | None]) -> None:
    marks = pareto(found)
    for mine, marked in zip(found, marks, strict=True):
        beaten = mine is not None and any(
            other is not None and all(o <= m for o, m in zip(other, mine, strict=True)) and other != mine
            for other in found
        )
        assert marked == (mine is not None and not beaten)
    assert any(marks) == any(each is not None for each in found)


@pytest.mark.slow
@given(st.tuples(*[numbers] * 5), st.tuples(*[numbers] * 5))
def test_no_two_rows_beat_each_other(one: tuple[int, ...], other: tuple[int, ...]) -> None:
    assert not (beats(one, other) and beats(other, one))
    assert not beats(one, one)


@pytest.mark.slow
@given(st.lists(st.tuples(*[numbers] * len(COSTS)), min_size=1, max_size=6))
def test_the_sentence_only_says_what_rows_say(found: list[tuple[int, ...]]) -> None:
    rows = [row(f"n={n}", **dict(zip(COSTS, each, strict=True))) for n, each in enumerate(found)]
    made = matrix(*rows)
    said = advice(made).removeprefix("With seed 7: ")
    marked = [group for group, mark in zip(made.groups, made.pareto, strict=True) if mark]
    told = [group for group in made.groups if cost_text(group) in said]
    assert told
    if "loses nothing" in said:
        assert any(each[0] == each[1] == 0 for each in found)
    for group in made.groups:
        if f"{named(group.settings)} " in f"{said} ".replace(":", " "):
            assert group in marked
    if "nowhere" in said or "every other row" in said:
        assert len({costs(group) for group in marked}) == 1


def test_seeds_are_put_together(snapshot: SnapshotAssertion) -> None:
    found = matrix(*[
        row(f"acks={acks} seed={seed}", "fail" if acks == "1" and seed > 1 else "pass", acked=100 + seed,
            acked_lost=(seed - 1) * (acks == "1"), rejected=acks == "all")
        for acks in ("1", "all") for seed in (1, 2, 3)
    ])  # fmt: skip
    one, everyone = found.groups
    assert (one.spread("acked_lost"), one.lossy, one.passed, one.verdict) == ((0, 1, 2), 2, 1, "fail")
    assert (everyone.total("rejected"), everyone.lossy) == (3, 0)
    assert costs(one) == (3, *[0] * (len(COSTS) - 1))
    table = matrix_table(found)
    assert table.heads == ("", "acks", "verdict", "seeds ok", "lossy", "acked", "lost", "rejected")
    assert table.rows[0] == ("*", "1", "fail", "1/3", "2", "102 (101-103)", "1 (0-2)", "0")
    assert advice(found) == snapshot
    document = to_json(found, "said")
    assert document["groups"][0]["acked_lost"] == {"min": 0, "median": 1, "max": 2}
    assert document["groups"][0]["lossy"] == 2
    assert document["pareto"] == [{"acks": "1"}, {"acks": "all"}]
    assert (document["advice"], document["exit_code"], len(document["cells"])) == ("said", 1, 6)
    assert document["axes"] == {"acks": ["1", "all"], "seed": ["1", "2", "3"]}


def test_seeds_alone_have_a_row_each() -> None:
    found = matrix(row("seed=1", acked=5), row("seed=2", "fail", acked=6, acked_lost=2, committed_lost=1))
    each = seed_table(found)
    assert each is not None
    assert [line[:4] for line in each.rows] == [("1", "pass", "5", "0"), ("2", "fail", "6", "2 / 1")]
    assert seed_table(matrix(SAFE, FAST)) is None


def test_the_table_leaves_out_what_is_nought_everywhere(snapshot: SnapshotAssertion) -> None:
    table = matrix_table(matrix(SAFE, FAST))
    assert table.heads == ("", "acks", "verdict", "acked", "lost", "rejected", "unavailable")
    assert table.rows[0] == ("*", "all", "pass", "900", "0", "1,240", "9.1 s")
    assert table.notes == snapshot


def test_two_axes_are_shown_across_each_other() -> None:
    found = matrix(*[
        row(f"acks={acks} kafka={kafka}", acked_lost=10 * (acks == "1") + (kafka == "0.10.2"))
        for acks in ("1", "all") for kafka in ("0.10.2", "1.1", "3.9")
    ])  # fmt: skip
    table = cross_table(found)
    assert table is not None
    assert table.heads == ("lost", "kafka=0.10.2", "kafka=1.1", "kafka=3.9")
    assert table.rows == (("acks=1", "11", "10", "10"), ("acks=all", "1", "0", "0"))
    assert cross_table(matrix(SAFE, FAST)) is None


def test_markdown_has_the_table_its_notes_and_the_advice(snapshot: SnapshotAssertion) -> None:
    text = matrix_markdown(matrix(SAFE, FAST))
    assert text == snapshot


def test_markdown_takes_names_and_values_as_they_are() -> None:
    hostile = "see_@octocat_#12_![x](https://a.b/c)"
    found = SweepMatrix(
        "a*b", axes_of([((hostile, hostile),)]), (CellResult(((hostile, hostile),), "pass", dict(KEYS)),), 7
    )
    other = replace(found.rows[0], cell=((hostile, "1"),), measures={**KEYS, "acked_lost": 3})
    found = SweepMatrix("a*b", axes_of([found.rows[0].cell, other.cell]), (*found.rows, other), 7)
    text = matrix_markdown(found)
    bare = text.replace("@octocat", "")
    assert "octocat" in text
    assert bare == text
    assert "#12" not in text.replace("&#12", "")
    assert "![" not in text
    assert text.startswith("### a&#42;b\n")

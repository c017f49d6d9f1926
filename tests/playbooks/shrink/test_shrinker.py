"""From a playbook that goes wrong to one without a step too many."""

from functools import cache
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from playbooks.engine.session_runner import start_session
from playbooks.library.bundled import path_of
from playbooks.parser.loader import load, loads
from playbooks.results.failure_keys import failures_of
from playbooks.shrink.candidate import Draft
from playbooks.shrink.oracle import Journal, JournalError, KeyUnknownError, NoFailureError, assertion_of, judge
from playbooks.shrink.search import CandidateRunner, DraftSearch
from playbooks.shrink.shrinker import (
    BUDGET_USED,
    STOPPED,
    WHOLE,
    ShrinkResult,
    ShrinkSource,
    ShrinkTarget,
    examine,
    shrink,
    written,
)
from tests.playbooks.shrink.inputs import LOST, LOST_TAIL, found, shrunk
from tests.support.wording import masked_text

pytestmark = pytest.mark.slow

DIVERGED = "violation:log-matching"


def by_hand(*keys: str) -> ShrinkTarget:
    playbook = load(path_of("kip-279-fast-failovers"))
    return examine(ShrinkSource(playbook, playbook.seed, playbook.name), keys or (DIVERGED,))


@cache
def shrunk_by_hand(key: str) -> ShrinkResult:
    """What one process makes of it; looked at only."""
    return shrunk(by_hand(key))


def keys_of(draft: Draft) -> set[str]:
    """What goes wrong in it, run by the engine alone."""
    session = start_session(draft.playbook())
    while session.advance(session.cluster.now_us + 1_000_000):
        pass
    return {each.key for each in failures_of(session.finish())}


def test_noise_goes_and_nothing_that_is_left_can() -> None:
    begun = found()
    assert begun.keys == (LOST,)
    done = shrunk(begun)
    assert done.ended == WHOLE
    assert len(done.draft.steps) == 2
    assert "noise" not in done.draft.text()
    assert LOST in keys_of(done.draft)
    assert [wrong for _number, wrong in done.needed] == [(), ()]
    for step in done.draft.steps:
        assert LOST not in keys_of(done.draft.without([step.number]))
    first, last = done.rows[0].before, done.rows[-1].after
    assert last.records < first.records
    assert last.virtual_us < first.virtual_us
    playbook = loads(written(done, "short"), "short.yaml")
    result = start_session(playbook).finish()
    assert (result.verdict, [each.text for each in result.expectations]) == (
        "pass",
        ["findings(unreplicated-tail) >= 1"],
    )


@pytest.mark.parametrize("key", [DIVERGED, LOST])
def test_steps_by_hand_are_shrunk_to_those_that_are_needed(key: str) -> None:
    done = shrunk_by_hand(key)
    assert key in keys_of(done.draft)
    for step in done.draft.steps:
        without = judge(done.draft.without([step.number]).text(), (key,), to_the_end=True)
        assert not without.held or without.refused
    assert len(done.draft.steps) <= 10


def test_it_is_the_same_with_more_processes() -> None:
    alone, together = shrunk_by_hand(LOST), shrunk(by_hand(LOST), workers=2)
    assert written(together, "x") == written(alone, "x")
    assert together.runs == alone.runs


def test_a_resumed_shrink_has_the_same_result(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    begun, path = by_hand(LOST), tmp_path / "x.journal"
    unbroken = shrunk_by_hand(LOST)
    journal = Journal(path, {"key": LOST})
    first = shrunk(begun, journal=journal, runs=9)
    journal.close()
    assert (first.ended, first.needed) == (BUDGET_USED, ())
    assert [line for line in written(first, "x").splitlines() if "budget" in line] == snapshot
    assert LOST in keys_of(first.draft)
    with path.open("a") as file:
        file.write('{"of": "torn')
    journal = Journal(path, {"key": LOST}, resume=True)
    second = shrunk(begun, journal=journal)
    assert written(second, "x") == written(unbroken, "x")
    assert first.runs + second.runs == unbroken.runs
    journal.remove()
    assert not path.exists()


def test_somebody_stops_it_and_the_best_so_far_is_a_playbook() -> None:
    begun = by_hand()

    def tell(search: DraftSearch, kept: str) -> None:
        if kept and search.bench.runs > 10:
            raise KeyboardInterrupt

    with CandidateRunner(begun.keys, Journal()) as bench:
        done = shrink(begun, bench, None, tell)
    assert done.ended == STOPPED
    assert 1 < len(done.draft.steps) < 19
    result = start_session(loads(written(done, "x"), "x.yaml")).finish()
    assert result.verdict == "pass"


def test_a_journal_of_something_else_is_refused(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    path = tmp_path / "x.journal"
    with pytest.raises(JournalError) as absent:
        Journal(path, {"key": "a"}, resume=True)
    Journal(path, {"key": "a", "input": "b"}).close()
    with pytest.raises(JournalError) as another:
        Journal(path, {"key": "c", "input": "b"}, resume=True)
    path.write_text("garbage\n")
    with pytest.raises(JournalError) as foreign:
        Journal(path, {"key": "a"}, resume=True)
    assert [masked_text(each.value, journal=path) for each in (absent, another, foreign)] == snapshot


def test_a_failed_expectation_can_be_preserved() -> None:
    begun = found(LOST_TAIL, "expectation:acked_lost() == 0")
    assert [each.known for each in begun.failures] == [False]
    with CandidateRunner(begun.keys, Journal()) as bench:
        verdict = bench.answer(bench.submit("x", begun.draft.text()))
    assert verdict.held
    assert "acked_lost() == 0" in begun.draft.text()


def test_a_key_that_is_not_there_is_answered_with_those_that_are(snapshot: SnapshotAssertion) -> None:
    with pytest.raises(KeyUnknownError) as caught:
        by_hand("violation:log-match")
    assert str(caught.value) == snapshot
    text = "floodmark: 1\nname: calm\ntopics: [{name: t, replication: 1}]\nsettle: 1s\n"
    playbook = loads(text, "calm.yaml")
    with pytest.raises(NoFailureError):
        examine(ShrinkSource(playbook, 0, "calm"), ())


def test_a_finding_is_asserted_where_the_language_can() -> None:
    assert assertion_of("violation:log-matching") == "violations(log-matching) >= 1"
    assert assertion_of("finding:lost/hw-truncation") == "findings(hw-truncation) >= 1"
    assert assertion_of("anomaly:lost-write") == "anomalies(lost-write) >= 1"
    assert assertion_of("liveness:election") == "liveness_violations(election) >= 1"
    assert assertion_of("expectation:acked_lost() == 0") == ""

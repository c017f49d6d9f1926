"""Drafts and their edits: every one of them is a playbook, or is refused as one; nothing in between."""

import pytest
from syrupy.assertion import SnapshotAssertion

from playbooks.errors import PlaybookError
from playbooks.library.bundled import path_of
from playbooks.parser.loader import load, loads
from playbooks.shrink.candidate import Draft, Word, at, drafted, element, entry, flow, put, read, without
from playbooks.shrink.oracle import INVALID, judge, judged
from playbooks.shrink.search import BestDraft, Sweep
from playbooks.shrink.shrinker import at_once, fewer_of, reduce_cost, rounder_times, shorten_times, smaller
from tests.playbooks.shrink.inputs import DIVERGING, LOST, found

NAMES = ("kip-279-fast-failovers", "full-disk", "zone-loss")


def untimed(name: str) -> Draft:
    """A bundled playbook, as if its steps had acted a second and some after each other."""
    playbook = load(path_of(name))
    times = None if playbook.spec.manual else [(1_100_001 * place, 7) for place in range(1, len(playbook.steps) + 1)]
    return drafted(playbook, playbook.seed, times, exact=True, expect=False)


def edits(draft: Draft) -> dict[str, list[Draft]]:
    best = BestDraft(draft, judge("no playbook", ()))
    sweeps: tuple[Sweep, ...] = (smaller, reduce_cost, shorten_times, at_once)
    return {site.name: list(site.tries) for sweep in sweeps for site in sweep(best)}


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_edit_is_a_playbook_or_is_left_out(name: str) -> None:
    draft = untimed(name)
    assert len(draft.playbook().steps) == len(draft.steps)
    good = 0
    for tries in edits(draft).values():
        for each in tries:
            try:
                good += each.playbook().seed == draft.seed
            except PlaybookError:
                continue
    assert good > 5


@pytest.mark.slow
def test_a_draft_runs_as_its_playbook_did() -> None:
    begun = found()
    assert begun.keys == (LOST,)
    verdict, _result = judged(begun.origin.playbook, ())
    again, _result = judged(begun.draft.playbook(), ())
    assert again.digest == verdict.digest
    assert [step.keys["at"] for step in begun.draft.steps][:3] == [Word("812ms"), Word("1.2s"), Word("2.034567s")]


@pytest.mark.slow
def test_a_run_ends_early_only_where_nothing_can_change_the_answer() -> None:
    violated = "violation:log-matching"
    whole = judge(DIVERGING, (), to_the_end=True)
    assert violated in whole.failing
    cut = judge(DIVERGING, (violated,))
    assert cut.held
    assert 0 <= cut.occurred_us <= cut.virtual_us < whole.virtual_us
    assert judge(DIVERGING, (violated, "finding:lost/no-such")).virtual_us == whole.virtual_us
    by_epoch = judge(DIVERGING.replace('"0.10.2"', '"0.11"'), (violated,))
    assert not by_epoch.held


def test_invalid_candidates_are_not_run() -> None:
    assert judge("floodmark: 1\ntopics: []\n", ()).state == INVALID


def test_times_are_tried_the_earliest_first_and_then_the_rounder() -> None:
    assert rounder_times(2_413_877) == [
        0, 200_000, 600_000, 1_000_000, 2_000_000, 2_400_000, 2_410_000, 2_413_000, 2_500_000, 2_420_000, 2_414_000,
    ]  # fmt: skip
    assert all(1_500_000 <= each < 7_000_000 for each in rounder_times(7_000_000, 1_500_000))
    assert rounder_times(1_000, 1_000) == []


def test_numbers_and_rates_get_smaller() -> None:
    assert [each.text for each in fewer_of(Word("12"))] == ["1", "3", "6"]
    assert [each.text for each in fewer_of(Word("200/s"))] == ["1/s", "20/s", "50/s", "100/s"]
    assert fewer_of(Word("1")) == fewer_of(Word("12", plain=False)) == fewer_of(Word("all")) == []


def test_a_tree_is_edited_and_read_back(snapshot: SnapshotAssertion) -> None:
    tree = read('a: {b: [1, "2", x y], "c d": ""}\ne: null\nf: "${x}, {"\n')
    assert read("\n".join(line for key, value in tree.items() for line in entry(key, value))) == tree
    assert at(tree, ("a", "b", 1)) == Word("2", plain=False)
    assert at(put(tree, ("a", "b", 1), Word("3")), ("a", "b", 1)) == Word("3")
    assert flow(without(tree, ("a", "b", 0))) == snapshot
    long = {"inject": Word("lag"), "note": Word("many words " * 12, plain=False), "more": {"x": Word("1")}}
    assert read("steps:\n" + "\n".join(element(long, 2)))["steps"] == (long,)


def test_a_milder_fault_has_only_its_own_parameters(snapshot: SnapshotAssertion) -> None:
    step = "{at: 1s, inject: power_loss, target: broker(1), keep: 3, for: 2s}"
    text = f"floodmark: 1\ntopics: [{{name: t, replication: 1}}]\nsteps:\n  - {step}\n"
    draft = drafted(loads(text, "x.yaml"), 0, [(1_000_000, 5)], exact=False, expect=False)
    assert [flow(each.steps[0].keys) for each in edits(draft)["milder 1"]] == snapshot

"""Expectations that allow losses, and a verdict that says so beside them."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from syrupy.assertion import SnapshotAssertion

from playbooks.engine.session_runner import start_session
from playbooks.library.bundled import path_of
from playbooks.parser.loader import load
from playbooks.results.expected_losses import allowing_losses
from playbooks.results.result import ExpectationResult, SessionResult
from tui.output.result import loss_expected, verdict_text


@pytest.mark.parametrize(
    ("rule", "allows"),
    [
        ("committed_lost() == 0", False),
        ("acked_lost(shop) <= 0", False),
        ("acked_lost() < 1", False),
        ("0 == missing()", False),
        ("acked_lost() + failed() + unknown() == 0", False),
        ("(leader(orders-0) == 2 and acked_lost() == 0)", False),
        ("failed() == 3", False),
        ("acked_lost() == 10", True),
        ("acked_lost(clicks) < 400", True),
        ("acked_lost() == 10 and committed_lost() == 0", True),
        ("committed_lost() == acked_lost()", True),
        ("missing() > 0", True),
        ("not acked_lost() == 0", True),
        ("eventually: missing() == 0 within 30s since heal", False),
        ("eventually: acked_lost() > 3 within 30s", True),
        ("always: committed_lost() <= 0", False),
    ],
)
def test_an_expectation_allows_losses_unless_it_only_holds_without(rule: str, allows: bool) -> None:
    assert allowing_losses([rule]) == [rule] * allows


@pytest.fixture(scope="module")
def lossy() -> SessionResult:
    """One that passes, and lost a record."""
    return start_session(load(path_of("kip-101-loss"))).finish()


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (("acked_lost() == 1", "violations() == 0"), True),
        (("violations() == 0",), False),
        (("committed_lost() == 0", "violations() == 0"), False),
        ((), False),
    ],
    ids=["expected", "not about losses", "not these losses", "nothing expected"],
)
def test_a_verdict_beside_a_loss_says_whether_it_was_expected(
    lossy: SessionResult, rules: Sequence[str], expected: bool, snapshot: SnapshotAssertion
) -> None:
    assert (lossy.verdict, lossy.ledger.acked_lost) == ("pass", 1)
    told = replace(lossy, expectations=tuple(ExpectationResult(rule, True, 0, "") for rule in rules))
    assert loss_expected(told) is expected
    assert verdict_text(told) == snapshot


def test_a_verdict_without_a_loss_is_a_word(lossy: SessionResult) -> None:
    whole = replace(lossy, ledger=replace(lossy.ledger, acked_lost=0))
    assert not loss_expected(whole)
    assert verdict_text(whole) == "PASS"
    assert verdict_text(replace(lossy, verdict="fail")) == "FAIL"
    assert verdict_text(replace(lossy, verdict="inconclusive", reason="late")) == "INCONCLUSIVE: late"

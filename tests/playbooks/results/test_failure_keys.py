"""What was wrong in a session, by name."""

import pytest

from playbooks.engine.session_runner import start_session
from playbooks.library.bundled import path_of
from playbooks.parser.loader import changed, load
from playbooks.results.failure_keys import KINDS, Failure, failures_of
from tests.support.playbooks import timed


def _failure_keys(name: str, **settings: str) -> tuple[Failure, ...]:
    return failures_of(start_session(changed(load(path_of(name)), settings)).finish())


@pytest.mark.slow
def test_a_loss_is_named_by_its_kind_and_cause() -> None:
    around = {"producers.clicks.start": "8s", "producers.clicks.stop": "12s"}
    assert Failure("finding", "lost/unreplicated-tail") in _failure_keys("acks-1-lost-tail", **around)


@pytest.mark.slow
def test_nothing_is_wrong_where_nothing_was_lost() -> None:
    assert _failure_keys("leader-crash") == ()


def test_violations_known_for_the_version_are_expected() -> None:
    told = [each for each in _failure_keys("kip-101-loss") if each.kind == "violation"]
    assert told
    assert all(each.known for each in told)


def test_each_key_is_reported_once_and_in_order() -> None:
    told = _failure_keys("unclean-election")
    assert [each.key for each in told] == list(dict.fromkeys(each.key for each in told))
    assert [KINDS.index(each.kind) for each in told] == sorted(KINDS.index(each.kind) for each in told)


@pytest.mark.parametrize("expected", ["acked_lost() == 0", "acked_lost() == 1"])
def test_an_expectation_that_failed_is_named_by_its_text(expected: str) -> None:
    playbook = timed("- {at: 1s, inject: crash, target: leader(orders-0), for: 1s}", f"- {expected}")
    failed = [each.key for each in failures_of(start_session(playbook).finish())]
    assert failed == ([] if expected.endswith("0") else ["expectation:acked_lost() == 1"])

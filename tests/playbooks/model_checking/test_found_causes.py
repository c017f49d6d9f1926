"""What explorations find has its cause and the release that fixed it, and does not happen under that release."""

import pytest

from cluster_model.checker.root_cause.findings import (
    EARLY_JOIN,
    HW_TRUNCATION,
    UNEXPLAINED,
    UNFENCED_FOLLOWER,
    UNKNOWN_EPOCH,
)
from cluster_model.model_checker import (
    STRONG_ISR,
    WEAK_ISR,
    Counterexample,
    ExplorationBounds,
    SearchResult,
    StateSpaceSearch,
    Transitions,
)
from cluster_model.protocol.releases import RELEASE_LINES
from cluster_model.protocol.versions import FLAG_BY_NAME, Profile
from playbooks.diagnosis.remedies import FIXES, changes
from playbooks.model_checking.exploration import playbook as playbook_of
from playbooks.parser.loader import loads
from playbooks.results.failure_keys import FIXED_BY
from tests.playbooks.model_checking.test_exploring import ran

EARLY = """
floodmark: 1
name: early-join
stepping: manual
cluster: {{kafka: "{kafka}", brokers: 3}}
topics:
  - {{name: orders, placement: [[1, 2, 3]]}}
steps:
  - elect: {{partition: orders-0, leader: 1}}
  - deliver: {{broker: 1, partition: orders-0, epoch: 1}}
  - deliver: {{broker: 2, partition: orders-0, epoch: 1}}
  - append: {{broker: 1, partition: orders-0, records: 1, acks: all}}
  - fetch: {{follower: 2, partition: orders-0, records: 1}}
  - shrink_isr: {{partition: orders-0, broker: 1, out: [3]}}
  - elect: {{partition: orders-0, leader: 2}}
  - deliver: {{broker: 3, partition: orders-0, epoch: 2}}
  - fetch_send: {{follower: 2, partition: orders-0}}
  - fetch_serve: {{follower: 2, partition: orders-0}}
  - fetch_lose: {{follower: 2, partition: orders-0}}
  - deliver: {{broker: 2, partition: orders-0, epoch: 2}}
  - fetch_send: {{follower: 3, partition: orders-0}}
  - fetch_serve: {{follower: 3, partition: orders-0}}
  - fetch_lose: {{follower: 3, partition: orders-0}}
  - expand_isr: {{partition: orders-0, broker: 2, in: 3}}
    refused: {refused}
  - elect: {{partition: orders-0, leader: 3}}
  - deliver: {{broker: 3, partition: orders-0}}
  - deliver: {{broker: 2, partition: orders-0}}
  - fetch: {{follower: 2, partition: orders-0}}
  - fetch: {{follower: 2, partition: orders-0}}
"""
"""The leader of epoch 2 has the committed record and does not know yet that it is committed."""
UNFENCED = """
floodmark: 1
name: unfenced
stepping: manual
cluster: {{kafka: "{kafka}", brokers: 3}}
topics:
  - {{name: orders, placement: [[1, 2, 3]]}}
steps:
  - elect: {{partition: orders-0, leader: 1}}
  - elect: {{partition: orders-0, leader: 2}}
  - elect: {{partition: orders-0, leader: 1}}
  - deliver: {{broker: 1, partition: orders-0, epoch: 3}}
  - deliver: {{broker: 2, partition: orders-0, epoch: 2}}
  - deliver: {{broker: 3, partition: orders-0, epoch: 1}}
  - append: {{broker: 1, partition: orders-0, records: 1, acks: all}}
  - fetch: {{follower: 3, partition: orders-0, records: 1}}
  - shrink_isr: {{partition: orders-0, broker: 1, out: [2]}}
  - fetch_send: {{follower: 3, partition: orders-0}}
  - fetch_serve: {{follower: 3, partition: orders-0}}
    refused: {refused}
  - fetch_lose: {{follower: 3, partition: orders-0}}
    refused: {refused}
  - deliver: {{broker: 3, partition: orders-0, epoch: 2}}
  - elect: {{partition: orders-0, leader: 3}}
  - deliver: {{broker: 3, partition: orders-0}}
  - deliver: {{broker: 1, partition: orders-0}}
  - fetch: {{follower: 1, partition: orders-0}}
"""
"""Broker 3 fetches in epoch 1 from the leader of epoch 3, and cuts its log for that of epoch 2."""


@pytest.mark.parametrize("kafka", ["0.11", "1.1", "2.0.0"])
def test_a_join_that_came_too_early_is_reported_with_what_fixed_it(kafka: str) -> None:
    result = ran(EARLY.format(kafka=kafka, refused="never"))
    (found,) = result.findings
    assert (found.cause, result.ledger.acked_lost, result.ledger.committed_lost) == (EARLY_JOIN, 1, 1)
    joins = [link for link in found.chain if link.event_kind == "isr_changed"]
    assert [link.broker for link in joins][-1] == 3
    assert {each.invariant for each in result.violations} >= {"acks-all-durability", "leader-completeness"}
    assert all("KAFKA-7128" in each.known and "KIP" not in each.known for each in result.violations)


@pytest.mark.parametrize("kafka", ["2.0.1", "2.1"])
def test_since_then_the_join_is_refused_and_nothing_is_lost(kafka: str) -> None:
    result = ran(EARLY.format(kafka=kafka, refused="INELIGIBLE_REPLICA"))
    assert result.verdict == "pass"
    assert (result.findings, result.ledger.acked_lost) == ((), 0)
    assert not result.violations


def test_losses_without_fencing_name_kip_320() -> None:
    result = ran(UNFENCED.format(kafka="2.0", refused="never"))
    (found,) = result.findings
    assert (found.cause, result.ledger.committed_lost) == (UNFENCED_FOLLOWER, 1)
    assert all("KIP-320" in each.known for each in result.violations)


@pytest.mark.parametrize("kafka", ["2.1", "3.9"])
def test_where_a_fetch_is_fenced_its_later_steps_are_refused_too(kafka: str) -> None:
    result = ran(UNFENCED.format(kafka=kafka, refused="FENCED_LEADER_EPOCH"))
    assert result.verdict == "pass"
    assert (result.findings, result.ledger.acked_lost) == ((), 0)


def test_the_release_that_fixed_it_is_tried() -> None:
    playbook = loads(EARLY.format(kafka="0.11", refused="any"), "early.yaml")
    tried = {each.name.removeprefix("kafka "): each.note for each in changes(playbook, "lost")}
    assert tried["2.0"] == FIXES["2.0"]
    assert "KAFKA-7128" in tried["2.0"]


ACTIONS = frozenset({"elect", "lead", "follow", "write", "fetch", "hw", "shrink", "expand"})
"""What explorations take here: nobody is given up, and no process dies."""
OWN_EPOCH = """
floodmark: 1
name: own-epoch
stepping: manual
cluster: {{kafka: "{kafka}", brokers: 3}}
topics:
  - {{name: orders, placement: [[1, 2, 3]]}}
steps:
  - elect: {{partition: orders-0, leader: 1}}
  - elect: {{partition: orders-0, leader: 2}}
  - deliver: {{broker: 1, partition: orders-0, epoch: 1}}
  - deliver: {{broker: 2, partition: orders-0, epoch: 1}}
  - append: {{broker: 1, partition: orders-0, records: 1, acks: all}}
  - fetch: {{follower: 2, partition: orders-0, records: 1}}
  - deliver: {{broker: 3, partition: orders-0, epoch: 1}}
  - fetch: {{follower: 3, partition: orders-0, records: 1}}
  - fetch_send: {{follower: 2, partition: orders-0}}
  - fetch_serve: {{follower: 2, partition: orders-0}}
  - fetch_lose: {{follower: 2, partition: orders-0}}
  - fetch_send: {{follower: 3, partition: orders-0}}
  - fetch_serve: {{follower: 3, partition: orders-0}}
  - fetch_lose: {{follower: 3, partition: orders-0}}
  - deliver: {{broker: 2, partition: orders-0, epoch: 2}}
  - append: {{broker: 2, partition: orders-0, records: 1, acks: all}}
  - elect: {{partition: orders-0, leader: 1}}
  - deliver: {{broker: 1, partition: orders-0, epoch: 3}}
  - deliver: {{broker: 2, partition: orders-0, epoch: 3}}
  - elect: {{partition: orders-0, leader: 2}}
  - deliver: {{broker: 2, partition: orders-0}}
  - deliver: {{broker: 1, partition: orders-0}}
  - deliver: {{broker: 3, partition: orders-0}}
  - fetch: {{follower: 1, partition: orders-0}}
  - fetch: {{follower: 3, partition: orders-0}}
"""
"""Broker 1 leads epoch 3 and has written nothing in it as broker 2, which led epoch 2, asks where that epoch ended."""


@pytest.mark.parametrize("kafka", ["0.11", "1.1", "2.0.0"])
def test_a_leader_that_does_not_know_its_own_epoch_is_reported_with_what_fixed_it(kafka: str) -> None:
    result = ran(OWN_EPOCH.format(kafka=kafka))
    (found,) = result.findings
    assert (found.cause, result.ledger.acked_lost, result.ledger.committed_lost) == (UNKNOWN_EPOCH, 1, 1)
    assert {each.invariant for each in result.violations} >= {"acks-all-durability", "leader-completeness"}
    assert all("KAFKA-7415" in each.known and "KIP" not in each.known for each in result.violations)


@pytest.mark.parametrize("kafka", ["2.0.1", "2.1"])
def test_a_leader_that_enters_its_epoch_as_it_is_elected_loses_nothing(kafka: str) -> None:
    result = ran(OWN_EPOCH.format(kafka=kafka))
    assert (result.findings, result.ledger.acked_lost, result.violations) == ((), 0, ())


NOT_SEEN = """
floodmark: 1
name: not-seen
stepping: manual
cluster: {{kafka: "{kafka}", brokers: 2}}
topics:
  - {{name: orders, placement: [[1, 2]]}}
steps:
  - elect: {{partition: orders-0, leader: 1}}
  - deliver: {{broker: 1, partition: orders-0}}
  - deliver: {{broker: 2, partition: orders-0}}
  - fetch: {{follower: 2, partition: orders-0}}
  - shrink_isr: {{partition: orders-0, broker: 1, out: [2]}}
  - elect: {{partition: orders-0, leader: 1}}
  - deliver: {{broker: 1, partition: orders-0}}
  - expand_isr: {{partition: orders-0, broker: 1, in: 2}}
    refused: INELIGIBLE_REPLICA
  - deliver: {{broker: 2, partition: orders-0}}
  - fetch: {{follower: 2, partition: orders-0}}
  - expand_isr: {{partition: orders-0, broker: 1, in: 2}}
    refused: never
"""
"""The leader remembers from its former epoch where the follower was."""


@pytest.mark.parametrize("kafka", ["0.11", "2.0", "2.1", "3.9", "4.1"])
def test_only_a_fetch_of_this_epoch_lets_a_follower_join(kafka: str) -> None:
    assert ran(NOT_SEEN.format(kafka=kafka)).verdict == "pass"


def losses(kafka: str, bounds: ExplorationBounds, how_many: int) -> list[str]:
    """Playbooks of losses that an exploration of a release finds, spread over all that it finds."""
    moves = Transitions(Profile.of(kafka), bounds)
    search = _Every(moves)
    search.run(max_states=100_000)
    step = max(1, len(search.states) // how_many)
    texts = []
    for name, state in search.states[::step]:
        way, at = search._way_to(state)
        texts.append(playbook_of("found", "found", moves, name, Counterexample(1, way, at)))
    return texts


AFTER_ITS_LEADER = """
floodmark: 1
name: after-its-leader
stepping: manual
cluster: {{kafka: "{kafka}", brokers: 3}}
topics:
  - {{name: orders, placement: [[1, 2, 3]]}}
steps:
  - elect: {{partition: orders-0, leader: 1}}
  - elect: {{partition: orders-0, leader: 2}}
  - elect: {{partition: orders-0, leader: 3}}
  - deliver: {{broker: 2, partition: orders-0, epoch: 1}}
  - deliver: {{broker: 1, partition: orders-0, epoch: 1}}
  - deliver: {{broker: 3, partition: orders-0, epoch: 1}}
  - append: {{broker: 1, partition: orders-0, records: 1, acks: all}}
  - fetch: {{follower: 2, partition: orders-0, records: 1}}
  - fetch: {{follower: 3, partition: orders-0, records: 1}}
  - append: {{broker: 1, partition: orders-0, records: 1, acks: all}}
  - fetch: {{follower: 2, partition: orders-0, records: 1}}
  - fetch_send: {{follower: 2, partition: orders-0}}
  - fetch_serve: {{follower: 2, partition: orders-0}}
  - fetch_lose: {{follower: 2, partition: orders-0}}
  - fetch_send: {{follower: 3, partition: orders-0}}
  - fetch_serve: {{follower: 3, partition: orders-0}}
  - fetch_lose: {{follower: 3, partition: orders-0}}
  - deliver: {{broker: 3, partition: orders-0, epoch: 2}}
  - deliver: {{broker: 2, partition: orders-0, epoch: 2}}
  - fetch: {{follower: 3, partition: orders-0, records: 1}}
  - fetch: {{follower: 3, partition: orders-0, records: 1}}
  - deliver: {{broker: 2, partition: orders-0, epoch: 3}}
  - elect: {{partition: orders-0, leader: 2}}
  - deliver: {{broker: 2, partition: orders-0}}
  - deliver: {{broker: 1, partition: orders-0}}
  - deliver: {{broker: 3, partition: orders-0}}
  - fetch: {{follower: 1, partition: orders-0}}
  - fetch: {{follower: 3, partition: orders-0}}
  - fetch: {{follower: 1, partition: orders-0}}
  - fetch: {{follower: 3, partition: orders-0}}
  - fetch: {{follower: 1, partition: orders-0}}
  - fetch: {{follower: 3, partition: orders-0}}
"""
"""Broker 3 gets back what it cut off, from a leader that cuts it off as well, and follows that one in losing it."""


@pytest.mark.parametrize(("kafka", "causes"), [("0.8.2", [HW_TRUNCATION]), ("0.10.2", [HW_TRUNCATION]), ("0.11", [])])
def test_a_truncation_after_the_leaders_loss_is_not_the_cause(kafka: str, causes: list[str]) -> None:
    assert [each.cause for each in ran(AFTER_ITS_LEADER.format(kafka=kafka)).findings] == causes


class _Every(StateSpaceSearch):
    """Keeps every state in which records may be lost."""

    def __init__(self, moves: Transitions) -> None:
        super().__init__(moves, symmetry=True)
        self.states: list[tuple[str, tuple[int, ...]]] = []

    def _note(self, name: str, state: tuple[int, ...], explored: SearchResult) -> None:
        if name in (STRONG_ISR, WEAK_ISR):
            self.states.append((name, state))
        super()._note(name, state, explored)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kafka", "bounds", "causes"),
    [
        ("0.10.2", ExplorationBounds(epochs=2, log_size=1, records=1), {HW_TRUNCATION, EARLY_JOIN}),
        ("0.11", ExplorationBounds(epochs=3, log_size=1, records=1, actions=ACTIONS - {"expand"}), {UNFENCED_FOLLOWER}),
        (
            "1.1",
            ExplorationBounds(epochs=3, log_size=2, actions=ACTIONS - {"expand", "shrink"}),
            {UNFENCED_FOLLOWER, UNKNOWN_EPOCH},
        ),
        pytest.param(
            *("2.0", ExplorationBounds(epochs=3, log_size=1, records=1, actions=ACTIONS - {"expand"})),
            *({UNFENCED_FOLLOWER},),
            marks=pytest.mark.evening,
        ),
    ],
    ids=["0.10.2", "0.11", "1.1", "2.0"],
)
def test_every_loss_that_is_found_has_its_cause_and_a_release_that_fixed_it(
    kafka: str, bounds: ExplorationBounds, causes: set[str]
) -> None:
    found = _explained(losses(kafka, bounds, 15))
    assert found == causes


@pytest.mark.evening
@pytest.mark.parametrize("kafka", [version for version in RELEASE_LINES if version < "2.1" or version > "4"])
def test_every_loss_of_every_release_has_its_cause(kafka: str) -> None:
    found = _explained(losses(kafka, ExplorationBounds(epochs=3), 120))
    assert bool(found) == (Profile.of(kafka).number < (2, 1, 0))


def _explained(texts: list[str]) -> set[str]:
    """The causes of losses, each of which is gone with the release that fixed it; another cause may then show."""
    causes: set[str] = set()
    for text in texts:
        own = {each.cause for each in ran(text).findings}
        assert UNEXPLAINED not in own, text
        for cause in own:
            fixed = ".".join(map(str, FLAG_BY_NAME[FIXED_BY[cause]].since[:2]))
            again = ran(_under(text, fixed))
            assert cause not in {each.cause for each in again.findings}, text
            assert all(each.known for each in again.violations), text
        causes |= own
    return causes


def _under(text: str, kafka: str) -> str:
    lines = text.splitlines(keepends=True)
    return "".join(f"  kafka: '{kafka}'\n" if line.startswith("  kafka: ") else line for line in lines)

"""What the bundled incidents of groups come to, in numbers, under other seeds and versions than their own."""

from typing import Any

import pytest

from tests.playbooks.test_incidents import SECOND, Incident, Thin
from tests.support.breadth import spread_sample

pytestmark = pytest.mark.slow

BOUNCES = ("consumer-bounce-eager", "consumer-bounce-static", "consumer-bounce-cooperative")


def revoked(incident: Incident) -> list[Any]:
    return [event for event in incident.of("partitions_revoked") if event.at_us > 20 * SECOND]


@pytest.mark.parametrize(
    ("name", "rebalances", "gone"),
    [
        ("consumer-bounce-eager", 7, 3 * 6 + 3 * 4),
        ("consumer-bounce-static", 1, 0),
        ("consumer-bounce-cooperative", 10, 6),
    ],
)
@pytest.mark.parametrize("seed", [101])
def test_the_cost_of_a_bounce_depends_on_the_membership(name: str, rebalances: int, gone: int, seed: int) -> None:
    incident = Thin(name, seed)
    incident.finish()
    assert incident.query.generation("billing") == rebalances
    assert len(incident.of("group_rebalanced")) == rebalances
    # Of what the others have: all four partitions when a member goes and all six when it comes, or the two that move.
    assert sum(event.count for event in revoked(incident)) == gone
    assert [event.detail for event in incident.of("node_down")] == ["close"] * 3


@pytest.mark.parametrize("kafka", spread_sample(["2.5", "4.1"], 1))
@pytest.mark.parametrize("name", spread_sample(BOUNCES[1:], 1))
def test_bounces_are_the_same_in_other_versions(name: str, kafka: str) -> None:
    mode = "kraft" if kafka == "4.1" else "zookeeper"
    Thin(name, 102, **{"cluster.kafka": kafka, "cluster.mode": mode}).finish()


@pytest.mark.parametrize("seed", spread_sample([101, 7], 1))
def test_one_of_two_members_with_an_instance_id_is_fenced(seed: int) -> None:
    incident = Thin("instance-id-claimed-twice", seed)
    incident.finish()
    fenced = incident.of("consumer_failed")
    assert [(event.client, event.error) for event in fenced] == [
        ("billing/0", "FencedInstanceIdException"),
        ("billing/2", "FencedInstanceIdException"),
    ]
    # It learns it with the next heartbeat, of which there is one every three seconds, or with a commit.
    assert 30 < fenced[0].at_us / SECOND < 33.1
    assert 50 < fenced[1].at_us / SECOND < 53.1
    assert [(event.node, event.detail) for event in incident.of("node_down")[1:]] == [
        (event.client, event.error) for event in fenced
    ]


@pytest.mark.parametrize("kafka", spread_sample(["3.9", "1.1"], 1))
@pytest.mark.parametrize(("policy", "gap"), [("latest", 630), ("earliest", 423)])
def test_the_reset_policy_decides_what_is_skipped_after_retention(policy: str, gap: int, kafka: str) -> None:
    mode = "kraft" if kafka == "3.9" else "zookeeper"
    incident = Thin(f"retention-overtakes-{policy}", 101, **{"cluster.kafka": kafka, "cluster.mode": mode})
    incident.finish()
    assert abs(incident.query.skipped("billing") - gap) < 30
    back = [event for event in incident.of("consumer_reset", group_id="billing") if event.at_us > 80 * SECOND]
    assert len(back) == 1
    assert incident.of("consumer_failed") == []


@pytest.mark.parametrize("kafka", spread_sample(["3.9", "2.0"], 1))
def test_a_killed_member_is_followed_by_at_least_once(kafka: str) -> None:
    mode = "kraft" if kafka == "3.9" else "zookeeper"
    incident = Thin("consumer-crash-auto-commit", 101, **{"cluster.kafka": kafka, "cluster.mode": mode})
    incident.until(69)
    once = incident.query.reread("billing")
    assert 0 < once <= 120
    incident.finish()
    assert once < incident.query.reread("billing") <= 340
    assert [event.detail for event in incident.of("node_down")] == ["crash"] * 3


def test_with_commits_after_processing_only_what_was_in_hand_is_read_again() -> None:
    incident = Thin("consumer-crash-auto-commit", 103, **{"clients.groups.billing.commit": "sync"})
    while incident.session.advance(incident.session.cluster.now_us + SECOND):
        pass
    assert incident.query.reread("billing") < 6
    assert incident.query.skipped("billing") == 0


@pytest.mark.parametrize(("seed", "kafka"), spread_sample([(101, "3.9"), (102, "1.1")], 1))
def test_records_that_other_threads_had_die_with_the_process_though_they_are_committed(seed: int, kafka: str) -> None:
    mode = "kraft" if kafka == "3.9" else "zookeeper"
    incident = Thin("consumer-crash-handed-off", seed, **{"cluster.kafka": kafka, "cluster.mode": mode})
    incident.finish()
    left = incident.of("records_abandoned")
    assert {(event.client, event.at_us) for event in left} == {("billing/0", 40 * SECOND)}
    # What was handed out after the newest commit, one a second, is handed to the next owner.
    again = incident.query.reread("billing")
    assert 0 < again < 100
    assert incident.query.abandoned("billing") == sum(event.count for event in left) - again > 50


def test_in_the_poll_loop_nothing_is_left_behind_by_the_same_crash() -> None:
    settings = {"clients.groups.billing.commit": "auto", "clients.groups.billing.processing": "80ms"}
    incident = Thin("consumer-crash-handed-off", 101, **settings)
    while incident.session.advance(incident.session.cluster.now_us + SECOND):
        pass
    assert incident.query.reread("billing") > 0
    assert incident.query.abandoned("billing") == 0

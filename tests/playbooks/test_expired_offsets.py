"""Committed offsets that expire: what a reset then skips or reads again, and since when the offset was gone."""

from typing import Any

import pytest

from playbooks.results.result import SessionResult
from tests.support.playbooks import finished

pytestmark = pytest.mark.slow

IDLE = """
floodmark: 1
name: offsets-expire
cluster:
  kafka: "{kafka}"
  brokers: 3
  config: {{offsets.retention.minutes: 1, offsets.retention.check.interval.ms: 10000}}
topics:
  - {{name: orders, partitions: 1, replication: 3}}
clients:
  producers:
    - {{name: checkout, topic: orders, rate: 10/s, stop: 20s, config: {{acks: all}}}}
    - {{name: later, topic: orders, rate: 10/s, start: 110s, stop: 140s, config: {{acks: all}}}}
  groups:
    - {{name: billing, topics: [orders], commit: {commit}, config: {{auto.offset.reset: {reset}{more}}}}}
steps:
  - {{at: {down}, inject: clean_shutdown, target: client(billing/0), for: {until}}}
settle: 30s
"""


def played(kafka: str, reset: str, *, commit: str = "sync", down: str = "105s", until: str = "20s") -> SessionResult:
    more = ", enable.auto.commit: false" if commit == "none" else ""
    text = IDLE.format(
        kafka=kafka, reset=reset, commit="auto" if commit == "none" else commit, more=more, down=down, until=until
    )
    return finished(text)


def group_of(result: SessionResult) -> dict[str, Any]:
    (group,) = result.to_json()["clients"]["groups"].values()
    found: dict[str, Any] = group
    return found


@pytest.mark.parametrize("kafka", ["1.1", "2.0"])
def test_before_kip_211_a_reset_to_the_end_is_reported_with_what_it_skipped(kafka: str) -> None:
    result = played(kafka, "latest")
    (found,) = result.findings
    assert (found.kind, found.cause, found.group_id) == ("skipped", "offsets-expired", "billing")
    assert [(place.log_offset, place.count) for place in found.blocks] == [(199, found.count)]
    expired, reset = found.chain
    assert (expired.event_kind, reset.event_kind) == ("offsets_expired", "consumer_reset")
    assert 60_000_000 < expired.at_us < 105_000_000 < reset.at_us
    assert (group_of(result)["resets"], group_of(result)["skipped"]) == (1, found.count)
    assert found.count > 100


def test_a_reset_to_the_beginning_reads_everything_again() -> None:
    result = played("2.0", "earliest")
    assert (result.findings, group_of(result)["reread"], group_of(result)["resets"]) == ((), 199, 1)


@pytest.mark.parametrize("kafka", ["2.1", "3.9"])
def test_since_kip_211_nothing_expires_under_a_group_that_has_members(kafka: str) -> None:
    result = played(kafka, "latest")
    assert (result.findings, group_of(result)["reread"], group_of(result)["resets"]) == ((), 0, 0)


def test_a_group_that_never_commits_is_moved_for_want_of_any_offset() -> None:
    result = played("3.9", "latest", commit="none")
    (found,) = result.findings
    assert (found.kind, found.cause, found.chain[0].event_kind) == ("skipped", "reset-latest", "consumer_reset")
    assert found.blocks[0].log_offset == 199


def test_a_group_that_was_empty_for_the_retention_has_lost_its_offsets_too() -> None:
    result = played("3.9", "latest", down="21s", until="110s")
    assert [found.cause for found in result.findings] == ["offsets-expired"]

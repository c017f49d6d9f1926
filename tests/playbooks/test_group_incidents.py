"""What a reset of a group's offsets comes to, under other seeds and versions than the playbook's own."""

import pytest

from tests.playbooks.test_client_incidents import VERSIONS, Heard, ends_as_expected, group
from tests.playbooks.test_incidents import SECOND

seeds = pytest.mark.parametrize("seed", [101, 102])


@seeds
def test_a_reset_by_duration_is_read_again_once_and_nothing_else_is(seed: int) -> None:
    incident = Heard("offsets-reset", seed)
    result = incident.finish()
    describe, refused, dry, done, after, deleted = incident.of("admin_answered")
    assert [each.error for each in (describe, dry, done, after)] == ["", "", "", ""]
    assert (refused.error, deleted.error) == ("NON_EMPTY_GROUP", "NON_EMPTY_GROUP")
    assert "the current state is Stable" in refused.detail
    rows = [each.detail.split() for each in incident.of("admin_progress", operation_id=done.operation_id)]
    assert rows[0] == ["GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"]
    new = {f"{topic}-{number}": int(offset) for _group, topic, number, offset in rows[1:]}
    # What was committed last before, and where each partition goes on after: exactly what lies between is read again.
    committed = {
        event.partition: event.log_offset
        for event in incident.of("offsets_committed", group_id="billing")
        if event.at_us < done.at_us
    }
    assert sorted(committed) == sorted(new) == ["orders-0", "orders-1", "orders-2"]
    first: dict[str, int] = {}
    for event in incident.of("records_read", group_id="billing"):
        if event.at_us > done.at_us:
            first.setdefault(event.partition, event.log_offset)
    assert first == new
    billing, auditing = group(result, "billing"), group(result, "auditing")
    assert billing.reread == sum(committed[name] - new[name] for name in new)
    assert 150 * 14 < billing.reread < 150 * 16
    assert billing.read - billing.reread == auditing.read == result.ledger.sent
    assert (auditing.reread, auditing.rebalances, billing.lag, auditing.lag) == (0, 1, 0, 0)
    assert after.at_us < 40 * SECOND


@pytest.mark.parametrize("version", [VERSIONS[1], VERSIONS[3]], ids=lambda version: version["cluster.kafka"])
def test_it_is_the_same_in_every_version(version: dict[str, str]) -> None:
    result = ends_as_expected("offsets-reset", 103, **version)
    assert 150 * 14 < group(result, "billing").reread < 150 * 16
    assert (group(result, "billing").lag, group(result, "auditing").reread) == (0, 0)

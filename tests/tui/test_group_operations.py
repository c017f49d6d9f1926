"""The administrator's sheet for consumer groups: a letter asks, and the feed tells the table and the refusals."""

import pytest

from playbooks.engine.session import Session
from playbooks.parser.loader import loads
from tests.tui.driving import driving, in_feed

pytestmark = pytest.mark.slow

ORDERS = """
floodmark: 1
topics: [{name: orders, placement: [[1, 2, 3]]}]
clients:
  producers: [{name: checkout, topic: orders, rate: 50/s, config: {acks: all}}]
  groups: [{name: billing, topics: [orders], members: 1, coordinated: true}]
"""


def answer(driver, painted):
    """What was answered last, of which so many words are painted in the feed."""
    answered = driver.happened("admin_answered")[-1]
    said = in_feed(answered)
    assert " ".join(said.split()[:painted]) in " ".join(driver.text().split())
    return answered.operation, answered.error, said


async def test_a_groups_table_is_read_in_the_feed_and_a_reset_with_members_is_refused(snapshot):
    async with driving(session=Session.start(loads(ORDERS, "orders"), open_ended=True)) as driver:
        await driver.seconds(8)
        await driver.press("a")
        text = driver.text()
        assert " g  describe group" in text
        assert " r  reset offsets" in text
        await driver.press("g")
        await driver.seconds(1)
        heading = in_feed(driver.happened("admin_progress")[0])
        said = [answer(driver, 5)]
        assert said[0][:2] == ("describe_group", "")
        await driver.press("a", "r")
        await driver.seconds(1)
        said.append(answer(driver, 5))
        assert said[1][:2] == ("reset_offsets", "NON_EMPTY_GROUP")
        await driver.press("a", "k")
        await driver.seconds(1)
        said.append(answer(driver, 5))
        assert said[2][:2] == ("delete_group", "NON_EMPTY_GROUP")
        assert [heading, *(words for _operation, _error, words in said)] == snapshot

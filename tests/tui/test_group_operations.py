"""The administrator's sheet for consumer groups: a letter asks, and the feed tells the table and the refusals."""

from playbooks.engine.session import Session
from playbooks.parser.loader import loads
from tests.tui.driving import driving

ORDERS = """
floodmark: 1
topics: [{name: orders, placement: [[1, 2, 3]]}]
clients:
  producers: [{name: checkout, topic: orders, rate: 50/s, config: {acks: all}}]
  groups: [{name: billing, topics: [orders], members: 1, coordinated: true}]
"""


async def test_a_groups_table_is_read_in_the_feed_and_a_reset_with_members_is_refused():
    async with driving(session=Session.start(loads(ORDERS, "orders"), open_ended=True)) as driver:
        await driver.seconds(8)
        await driver.press("a")
        text = driver.text()
        assert " g  describe group" in text
        assert " r  reset offsets" in text
        await driver.press("g")
        await driver.seconds(1)
        assert "CURRENT-OFFSET LOG-END-OFFSET LAG" in " ".join(driver.text().split())
        assert "done, Stable, 1 member" in " ".join(driver.text().split())
        await driver.press("a", "r")
        await driver.seconds(1)
        assert "refused: NON_EMPTY_GROUP" in " ".join(driver.text().split())
        await driver.press("a", "k")
        await driver.seconds(1)
        assert "operation #3 delete group refused" in " ".join(driver.text().split())

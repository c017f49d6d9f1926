"""What the feed says of damaged batches."""

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.protocol.events import BatchCorrupted, CorruptBatchFound, Event
from tui.viewmodel.timeline.event_text import FeedEntry, describe_event


@pytest.mark.parametrize(
    ("event", "role"),
    [
        (BatchCorrupted(1, "t-0", 2, 40, 45, "value"), "alarm"),
        (CorruptBatchFound(1, "t-0", 3, 40, "follower", "it asks again"), "warning"),
        (CorruptBatchFound(1, "t-0", 2, 40, "recovery", ""), "alarm"),
        (CorruptBatchFound(1, "t-0", 2, 40, "cleaner", "it has ended"), "warning"),
    ],
    ids=["damaged", "follower", "recovery", "cleaner"],
)
def test_damage_is_reported(event: Event, role: str, snapshot: SnapshotAssertion) -> None:
    glyph, found, key, say = describe_event(event)
    assert (glyph, found) == ("╳", role)
    assert say(FeedEntry(key, 1, glyph, found, say, event)) == snapshot

"""What the feed says of damaged batches."""

import pytest

from cluster_model.protocol.events import BatchDamaged, CorruptBatchFound, Event
from tui.viewmodel.timeline.event_text import Entry, describe_event


@pytest.mark.parametrize(
    ("event", "role", "line"),
    [
        (
            BatchDamaged(1, "t-0", 2, 40, 45, "value"),
            "alarm",
            "b2's copy of t-0 at offset 40 is damaged; nobody has noticed",
        ),
        (
            CorruptBatchFound(1, "t-0", 3, 40, "follower", "it will ask for it again"),
            "warning",
            "b3 fetches t-0 at offset 40, which is corrupt: it will ask for it again",
        ),
        (
            CorruptBatchFound(1, "t-0", 2, 40, "recovery", ""),
            "alarm",
            "b2 recovers, finds t-0 at offset 40 corrupt and ends the log there",
        ),
        (
            CorruptBatchFound(1, "t-0", 2, 40, "cleaner", "the cleaner has ended"),
            "warning",
            "b2 cleans t-0 at offset 40, which is corrupt: the cleaner has ended",
        ),
    ],
)
def test_damage_is_told(event: Event, role: str, line: str) -> None:
    glyph, found, key, say = describe_event(event)
    assert (glyph, found, say(Entry(key, 1, glyph, found, say, event))) == ("╳", role, line)

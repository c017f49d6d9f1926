"""What the welcome page offers: the tour, eight disasters with a promise each, an empty stage, what was recorded."""

from dataclasses import dataclass
from typing import Final

from tui.terminal import glyphs
from tui.viewmodel.row import Row

TOUR: Final = "tour"
SANDBOX: Final = "sandbox"
SESSIONS: Final = "sessions"
"""Stands for the list of recorded sessions where others have a playbook's name."""

GALLERY: Final = (
    ("acks-1-lost-tail", "Lose an acknowledged record"),
    ("both-followers-paused", "Why min.insync.replicas=2 saved you"),
    ("zombie-leader", "A zombie leader, and who believes it"),
    ("zone-loss", "An availability zone goes dark"),
    ("rolling-restart-blind", "A rolling restart that nobody watched"),
    ("quorum-lost", "Nobody left to elect a leader"),
    ("consumer-bounce-eager", "A deployment that stops all consumers"),
    ("exactly-once", "Bill each order once, whatever dies"),
)
"""Bundled playbook → its promise."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A line that can be chosen, or a heading or blank line without a key."""

    key: str
    text: str
    more: str = ""


OFFERS: Final = (
    Offer(TOUR, "Tour", "four minutes: lose a record, see why"),
    Offer("", ""),
    Offer("", "See what goes wrong"),
    *(Offer(name, promise, name) for name, promise in GALLERY),
    Offer("", ""),
    Offer("", "Or go your own way"),
    Offer(SANDBOX, "Sandbox", "healthy, under load, yours to break"),
    Offer(SESSIONS, "Recorded sessions", "look at what was"),
)
CHOICES: Final = tuple(number for number, offer in enumerate(OFFERS) if offer.key)
"""The lines that can be chosen."""
COLUMN: Final = 39
HEADER: Final = (
    (f"{glyphs.LOGO} floodmark", "strong"),
    ("a whole Kafka cluster in this terminal, there to be broken", "quiet"),
)


def header() -> tuple[Row, ...]:
    """What it is."""
    return (Row(), *(Row(((f"  {text}", role),)) for text, role in HEADER), Row())


def rows(at: int) -> tuple[Row, ...]:
    """The offers, the one at ``at`` of the choices marked."""
    chosen = CHOICES[at]
    return tuple(_row(offer, number == chosen) for number, offer in enumerate(OFFERS))


def _row(offer: Offer, chosen: bool) -> Row:
    if not offer.key:
        return Row(((f"  {offer.text}", "calm"),) if offer.text else ())
    marker = f"{glyphs.MARKER} " if chosen else "  "
    return Row(
        ((f"  {marker}", "key"), (f"{offer.text:<{COLUMN}}", "strong" if chosen else "text"), (offer.more, "quiet")),
        chosen=chosen,
    )

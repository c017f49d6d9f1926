"""Tables of a producer's load: rates that change, closed loops, sizes and keys that are drawn."""

from typing import Final

from playbooks.parser.document.field_types import (
    DURATION,
    RATE,
    ByShape,
    Choice,
    Integer,
    Key,
    ListOf,
    Quantity,
    Record,
)
from playbooks.units import (
    EXPONENT_ALLOWED,
    EXPONENT_PATTERN,
    RATE_ALLOWED,
    RATE_PATTERN,
    SHARE_ALLOWED,
    SHARE_PATTERN,
    SIZE_ALLOWED,
    SIZE_PATTERN,
    rate_units,
    share_ppm,
    size_bytes,
    size_text,
    thousandths,
)

MOST_KEYS: Final = 1_000_000
MOST_OUTSTANDING: Final = 100_000
MOST_STEPS: Final = 1_000
LARGEST_RECORD: Final = 1024**2

ANY_RATE: Final = Quantity(rate_units, RATE_PATTERN, RATE_ALLOWED)
"""A rate in the model's units; none at all is one, too."""
SHARE: Final = Quantity(share_ppm, SHARE_PATTERN, SHARE_ALLOWED)
SIZE: Final = Quantity(size_bytes, SIZE_PATTERN, SIZE_ALLOWED, high=LARGEST_RECORD, numbers=True, write=size_text)
DRAWN_SIZE: Final = Quantity(
    size_bytes, SIZE_PATTERN, SIZE_ALLOWED, low=1, high=LARGEST_RECORD, numbers=True, write=size_text
)

RAMP: Final = Record(
    {
        "from": Key(ANY_RATE, "The rate at its beginning.", required=True),
        "to": Key(ANY_RATE, "The rate at its end, and from then on.", required=True),
        "over": Key(DURATION, "How long it takes.", required=True),
    }
)

STEP: Final = Record(
    {
        "rate": Key(ANY_RATE, "The rate.", required=True),
        "for": Key(DURATION, "How long; only the last step may go on for ever."),
    }
)

BURST: Final = Record(
    {
        "rate": Key(ANY_RATE, "The rate of the burst.", required=True),
        "for": Key(DURATION, "How long it lasts.", required=True),
        "after": Key(DURATION, "When it begins, from the start or in each period; at once unless given."),
        "base": Key(ANY_RATE, "The rate otherwise; 0/s unless given."),
    }
)

CHANGING_RATE: Final = Record(
    {
        "ramp": Key(RAMP, "A rate that goes evenly from one to another."),
        "step": Key(ListOf(STEP, 1, MOST_STEPS), "Rates that follow each other."),
        "burst": Key(BURST, "A rate that is higher for a while."),
        "every": Key(DURATION, "A period: all of it comes again after so long; once unless given."),
    }
)

RATE_OF_RECORDS: Final = ByShape("a rate such as 200/s, or a mapping", scalar=RATE, mapping=CHANGING_RATE)

LOOP: Final = ByShape(
    "open, or a mapping with the keys outstanding and think",
    scalar=Choice(("open",), "open, or a mapping with the keys outstanding and think"),
    mapping=Record(
        {
            "outstanding": Key(
                Integer(1, MOST_OUTSTANDING), "Records handed over and not settled, at most; one batch unless given."
            ),
            "think": Key(DURATION, "Time between an outcome and the batch that follows it; none unless given."),
        }
    ),
)

SIZES: Final = ByShape(
    f"{SIZE_ALLOWED}, or a mapping",
    scalar=SIZE,
    mapping=Record(
        {
            "from": Key(DRAWN_SIZE, "The smallest size, all up to `to` being alike often."),
            "to": Key(DRAWN_SIZE, "The largest size."),
            "small": Key(DRAWN_SIZE, "The usual one of two sizes."),
            "large": Key(DRAWN_SIZE, "The other one."),
            "share": Key(SHARE, "The part of all records that are large: 5%."),
            "median": Key(DRAWN_SIZE, "Half of all records are smaller; the sizes' logarithm is normal."),
            "p99": Key(DRAWN_SIZE, "One record in a hundred is larger."),
        }
    ),
)

KEYS: Final = ByShape(
    "a number of keys, or a mapping with distinct and either zipf or hot",
    scalar=Integer(1, MOST_KEYS),
    mapping=Record(
        {
            "distinct": Key(Integer(1, MOST_KEYS), "How many keys there are: key-0, key-1 and so on.", required=True),
            "zipf": Key(
                Quantity(thousandths, EXPONENT_PATTERN, EXPONENT_ALLOWED, numbers=True),
                "Exponent s: the n-th key has n^s times fewer records than the first: 1.1.",
            ),
            "hot": Key(SHARE, "The part of all records that have the first key: 80%."),
        }
    ),
)

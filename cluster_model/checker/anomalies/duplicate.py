"""duplicate: one value stands at two offsets of a key's log."""

from typing import Final

from cluster_model.checker.anomalies.anomaly_case import Example, Tally
from cluster_model.checker.anomalies.index import KeyFacts

NAME: Final = "duplicate"


def offsets_of_doubles(facts: KeyFacts) -> dict[tuple[str, int], list[int]]:
    """(client, sequence) → its offsets, ascending, of every value that stands at more than one."""
    found: dict[tuple[str, int], dict[int, None]] = {}
    for place in facts.places(facts.doubles):
        for index in range(place.size):
            found.setdefault((place.client, place.sequence + index), {})[place.offset + index] = None
    return {value: sorted(offsets) for value, offsets in found.items() if len(offsets) > 1}


def find(facts: KeyFacts, tally: Tally, now: int) -> None:
    """Count values, by the client that sent them."""
    for (client, sequence), offsets in offsets_of_doubles(facts).items():
        words = f"record {sequence} of {client} stands at offsets {', '.join(map(str, offsets))}"
        tally.note(NAME, client, facts.key, Example(now, offsets[0], offsets[-1] + 1, words))

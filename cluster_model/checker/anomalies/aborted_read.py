"""G1a, an aborted read: a poll returned a value whose send certainly failed."""

from typing import Final

from cluster_model.checker.anomalies.anomaly_case import Example, Tally
from cluster_model.checker.anomalies.index import KeyFacts
from cluster_model.checker.anomalies.operations import COMMITTED, FAIL
from cluster_model.util.spans import Spans, put

NAME: Final = "G1a"


def find(facts: KeyFacts, tally: Tally, now: int) -> None:
    """Count values, by the client that sent them; those that a reader of committed data was handed apart."""
    found: dict[str, Spans] = {}
    for client, failed in facts.ended[FAIL].items():
        again = facts.again.get(client)
        for start, end in failed.common(facts.values.get(client)):
            for low, high in again.without(start, end) if again else [(start, end)]:
                put(found, client, low, high)
    committed: dict[str, Spans] = {}
    if facts.read_committed:
        for place in facts.places(found, facts.read_committed):
            put(committed, place.client, place.sequence, place.sequence + place.size)
    for client, spans in found.items():
        known = committed.get(client)
        for manner, parts in ((COMMITTED, known.ranges() if known else []), ("", spans.minus(known))):
            for start, end in parts:
                words = f"records {start} to {end - 1} of {client} were read, and their send failed or was aborted"
                tally.note(NAME, client, facts.key, Example(now, -1, -1, words), end - start, manner)

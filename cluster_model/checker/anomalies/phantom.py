"""phantom: a poll returned a value that nobody has ever sent."""

from typing import Final

from cluster_model.checker.anomalies.anomaly_case import Example, Tally
from cluster_model.checker.anomalies.index import KeyFacts

NAME: Final = "phantom"


def find(facts: KeyFacts, tally: Tally, now: int) -> None:
    """Count values, by the client whose they claim to be."""
    for client, read in facts.log_values.items():
        for start, end in read.minus(facts.sent.get(client)):
            words = f"records {start} to {end - 1} of {client} were read, and it has sent none of these"
            tally.note(NAME, client, facts.key, Example(now, -1, -1, words), end - start)

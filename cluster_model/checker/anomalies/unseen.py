"""unseen: a value whose send was ok, and that no poll that was ok has ever returned."""

from typing import Final

from cluster_model.checker.anomalies.anomaly_case import Example, Tally
from cluster_model.checker.anomalies.index import KeyFacts
from cluster_model.checker.anomalies.operations import OK
from cluster_model.util.spans import Spans

NAME: Final = "unseen"


def unread(facts: KeyFacts) -> dict[str, Spans]:
    """Client → values whose send was ok and that nobody read; not those that were deleted on purpose."""
    found: dict[str, Spans] = {}
    for client, sent in facts.ended[OK].items():
        for start, end in sent.minus(facts.values.get(client)):
            found.setdefault(client, Spans()).add(start, end)
    if facts.start and found:
        for place in list(facts.places(found)):
            gone = min(place.size, facts.start - place.offset)
            if gone > 0:
                found[place.client] = _less(found[place.client], place.sequence, place.sequence + gone)
    return found


def _less(spans: Spans, start: int, end: int) -> Spans:
    left, out = Spans(), Spans()
    out.add(start, end)
    for part in spans.minus(out):
        left.add(*part)
    return left


def find(facts: KeyFacts, tally: Tally, now: int) -> None:
    """Count values, by the client that sent them."""
    for client, spans in unread(facts).items():
        for start, end in spans.ranges():
            words = f"records {start} to {end - 1} of {client} were acknowledged, and no poll returned them"
            tally.note(NAME, client, facts.key, Example(now, -1, -1, words), end - start)

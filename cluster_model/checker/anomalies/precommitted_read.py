"""precommitted-read: one operation both sends a value and reads it, before its send can have been committed."""

from typing import Final

from cluster_model.checker.anomalies.anomaly_case import Example, Tally
from cluster_model.checker.anomalies.operations import Op, Payload
from cluster_model.checker.anomalies.poll_order import client_of
from cluster_model.util.spans import Spans

NAME: Final = "precommitted-read"


def find(op: Op, payload: Payload, manner: str, tally: Tally) -> None:
    """Count values of one operation, by its client."""
    for key in dict.fromkeys(send.key for send in op.sends):
        found: dict[str, Spans] = {}
        for read in op.reads:
            if read.key != key:
                continue
            for _offset, client, sequence, count in payload(*read):
                for send in op.sends:
                    low = max(sequence, send.sequence)
                    high = min(sequence + count, send.sequence + send.size)
                    if (send.key, send.client) == (key, client) and low < high:
                        found.setdefault(client, Spans()).add(low, high)
        for spans in found.values():
            words = f"{client_of(op.process)} sent {spans.size} records to {key} and read them in one operation"
            example = Example(op.time_us, -1, -1, words)
            tally.note(NAME, client_of(op.process), key, example, spans.size, manner)

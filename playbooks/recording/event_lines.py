"""Trace events as lines of JSON: how they stand in ``events.jsonl``.

A line is ``{"seq": 0, "kind": ..., <the event's fields by name>}``. Fields at their default are written like all
others, so a line says everything about its event.
"""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import msgspec

from cluster_model.protocol.events import COLUMNS, FIELDS, Event

_PYTHON_TYPE: dict[str, Any] = {"int": int, "str": str, "bool": bool, "ints": tuple[int, ...]}

_Maker = tuple[Callable[..., Any], Callable[[Event], tuple[Any, ...]]]


def _maker(kind: str, fields: tuple[str, ...]) -> _Maker:
    columns = [("seq", int), ("kind", str), *((name, _PYTHON_TYPE[COLUMNS[name]]) for name in fields)]
    return msgspec.defstruct(f"line_{kind}", columns, gc=False), attrgetter(*fields)


_MAKERS: dict[str, _Maker] = {kind: _maker(kind, fields) for kind, fields in FIELDS.items()}
_ENCODER = msgspec.json.Encoder()

Line: Any = msgspec.defstruct(
    "Line",
    [
        ("seq", int),
        ("kind", str),
        *((name, _PYTHON_TYPE[type_] | None, None) for name, type_ in COLUMNS.items() if name != "kind"),
    ],
    gc=False,
)
"""A line read back: every column of the schema, None where the event has no such field. Unknown keys are ignored."""

_DECODER = msgspec.json.Decoder(Line)


def encode(first_seq: int, events: Sequence[Event]) -> bytes:
    """The events as whole lines, numbered from ``first_seq`` without gaps."""
    rows = []
    for seq, event in enumerate(events, first_seq):
        make, values = _MAKERS[event.kind]
        rows.append(make(seq, event.kind, *values(event)))
    return _ENCODER.encode_lines(rows)


def decode(text: bytes) -> list[Any]:
    """Whole lines as :data:`Line` values; raises ``msgspec.DecodeError`` for text that is none."""
    lines: list[Any] = _DECODER.decode_lines(text)
    return lines

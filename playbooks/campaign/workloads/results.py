"""A result as a text that is read back to the same result; the published document leaves out what a rerun tells."""

from dataclasses import fields, make_dataclass
from functools import cache
from typing import Any, Final, get_type_hints

import msgspec

from cluster_model.protocol.events import AdminAnswered, StepTaken
from playbooks.results.result import Result

_REFUSED: Final = "refused"
"""The field whose events are of two kinds: each stands beside the name of its own."""
_KINDS: Final[dict[str, type[StepTaken] | type[AdminAnswered]]] = {
    each.kind: each for each in (StepTaken, AdminAnswered)
}


def text_of(result: Result) -> str:
    """The text."""
    values = {each.name: getattr(result, each.name) for each in fields(Result) if each.name != _REFUSED}
    refused = [(each.kind, each) for each in result.refused]
    return msgspec.json.encode([values, refused]).decode()


def result_of(text: str) -> Result:
    """The other way round. Raises ``msgspec.DecodeError`` or ``msgspec.ValidationError`` for what is none."""
    rest, refused = _decoder().decode(text)
    values = {each.name: getattr(rest, each.name) for each in fields(rest)}
    told = tuple([msgspec.json.decode(raw, type=_KINDS[kind]) for kind, raw in refused])
    return Result(**values, refused=told)


@cache
def _decoder() -> "msgspec.json.Decoder[Any]":
    hints = get_type_hints(Result)
    kept = [(each.name, hints[each.name]) for each in fields(Result) if each.name != _REFUSED]
    whole: Any = tuple[make_dataclass("_Rest", kept), list[tuple[str, msgspec.Raw]]]  # type: ignore[misc]
    return msgspec.json.Decoder(whole)

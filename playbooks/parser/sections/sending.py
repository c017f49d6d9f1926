"""A producer's interceptors, serializer and callbacks, its flushes and its end: keys and what they make."""

from typing import Any, Final

from cluster_model.spec.cluster_spec import Interceptor
from playbooks.errors import shown
from playbooks.parser.document.context import Notes
from playbooks.parser.document.field_types import DURATION, NAME, Fields, Integer, Key, ListOf, Record
from playbooks.parser.sections.load_keys import SIZE

ONE_IN: Final = Integer(1, 1_000_000)

INTERCEPTOR: Final = Record(
    {
        "name": Key(NAME, "The interceptor's name.", required=True),
        "adds": Key(SIZE, "Bytes of headers that it adds to each record; none unless given."),
        "fails": Key(ONE_IN, "It throws at one record in so many of each partition; at none unless given."),
    }
)

SERIALIZER: Final = Record(
    {"fails": Key(ONE_IN, "One record in so many is refused with SerializationException.", required=True)}
)

SENDING: Final = {
    "interceptors": Key(ListOf(INTERCEPTOR, 1, 10), "Who sees its records before they are sent, in this order."),
    "serializer": Key(SERIALIZER, "Records that cannot be serialized; all can unless given."),
    "callback": Key(DURATION, "Time that each record's callback takes, while nothing is sent; none unless given."),
    "flush_every": Key(Integer(1, 1_000_000), "It flushes after so many records; never unless given."),
    "close": Key(DURATION, "How long it may take to close when it stops; it is not closed unless given."),
}
"""Keys of a producer."""


def read_sending(fields: Fields, notes: Notes) -> dict[str, Any]:
    """Fields of a producer's specification, from those keys."""
    mode = fields.get("send", "async")
    if fields.given("callback") and mode != "async":
        message = f"found a callback with send: {mode}, allowed only with async: the others have none"
        notes.problem(fields.at("callback"), fields.path("callback"), message)
    if fields.given("flush_every") and mode == "sync":
        message = "found flush_every with send: sync, allowed only with others: it waits for every record already"
        notes.problem(fields.at("flush_every"), fields.path("flush_every"), message)
    serializer: Fields | None = fields.get("serializer")
    return {
        "callback_us": fields.get("callback", 0),
        "flush_every": fields.get("flush_every", 0),
        "close_us": fields.get("close", -1),
        "serializer_fails": serializer.get("fails", 0) if serializer else 0,
        "interceptors": _interceptors(fields, notes),
    }


def _interceptors(fields: Fields, notes: Notes) -> tuple[Interceptor, ...]:
    made: list[Interceptor] = []
    each: Fields
    for each in fields.get("interceptors", []):
        name = each.get("name", "")
        if name and any(name == other.name for other in made):
            notes.problem(each.at("name"), each.path("name"), f"found {shown(name)} twice, allowed is once")
        made.append(Interceptor(name, each.get("adds", 0), each.get("fails", 0)))
    return tuple(made)

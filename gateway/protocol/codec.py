"""Codec of requests and responses, by message classes of ``kio`` or in its form: one per API, version and direction.

Handlers return the fields they have; a version uses those that it defines, and defaults for missing ones.
"""

import io
import uuid
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from datetime import UTC, datetime, timedelta
from functools import cache
from types import UnionType
from typing import Any, Final, NamedTuple, get_args, get_origin

from kio.index import load_request_schema, load_response_schema
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader, entity_writer
from kio.static.primitive import i32Timedelta

from gateway.protocol import newer_messages

_DEFAULTS: Final[Mapping[str, Any]] = {
    "string": "", "bytes": b"", "bool": False, "uuid": None, "records": None,
}  # fmt: skip
_SPANS: Final = ("timedelta_i32", "timedelta_i64")
_TIME: Final = "datetime_i64"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class RequestError(ValueError):
    """Bytes that are not a valid request of this version; the message gives the reason."""


class Header(NamedTuple):
    """Header of a request: API key, version, correlation id, and client id."""

    api: int
    version: int
    correlation_id: int
    client: str


@dataclass(frozen=True, slots=True)
class _Message:
    """Codec of one API version in one direction."""

    flexible: bool
    read: Callable[[bytes], Any]
    make: Callable[[Mapping[str, Any]], Any]
    write: Callable[[Any, Any], None]


def request_schema(api: int, version: int) -> Any:
    """Return the class of the requests of an API version."""
    return newer_messages.REQUESTS.get((api, version)) or load_request_schema(api, version)


def response_schema(api: int, version: int) -> Any:
    """Return the class of the responses of an API version."""
    return newer_messages.RESPONSES.get((api, version)) or load_response_schema(api, version)


@cache
def _request(api: int, version: int) -> _Message:
    return _message(request_schema(api, version))


@cache
def _response(api: int, version: int) -> _Message:
    return _message(response_schema(api, version))


def _message(schema: Any) -> _Message:
    reader = entity_reader(schema)

    def read(data: bytes) -> Any:
        found, _size = reader(data, 0)
        return found

    return _Message(schema.__flexible__, read, _maker(schema), entity_writer(schema))


def load(ranges: Mapping[int, tuple[int, int]]) -> None:
    """Load every message class that a client may need, since loading on first use would delay all clients."""
    for api, (low, high) in ranges.items():
        for version in range(low, high + 1):
            _request(api, version)
            _response(api, version)


def read_header(frame: bytes) -> Header:
    """Return the fixed part of a request's header, which every version has.

    Raises:
        RequestError: There are too few bytes, or the client id is not UTF-8.
    """
    if len(frame) < 10:
        raise RequestError(f"found {len(frame)} bytes, a request has at least 10")
    api, version, correlation_id, size = (
        int.from_bytes(frame[0:2], "big", signed=True), int.from_bytes(frame[2:4], "big", signed=True),
        int.from_bytes(frame[4:8], "big", signed=True), int.from_bytes(frame[8:10], "big", signed=True),
    )  # fmt: skip
    if size > len(frame) - 10:
        raise RequestError(f"found a client id of {size} bytes in a frame of {len(frame)}")
    try:
        client = frame[10 : 10 + max(0, size)].decode()
    except UnicodeDecodeError as error:
        raise RequestError(f"found a client id that is not UTF-8: {error.reason}") from None
    return Header(api, version, correlation_id, client)


def read_request(header: Header, frame: bytes) -> Any:
    """Return the request as the class of its version.

    Raises:
        RequestError: The bytes are not a valid request.
    """
    kind = _request(header.api, header.version)
    at = 10 + max(0, int.from_bytes(frame[8:10], "big", signed=True))
    try:
        if kind.flexible:
            at = _skip_tags(frame, at)
        return kind.read(frame[at:])
    except Exception as error:  # the codec may raise anything on invalid bytes
        raise RequestError(f"API {header.api} version {header.version}: {type(error).__name__}: {error}") from None


def _skip_tags(frame: bytes, at: int) -> int:
    count, at = varint(frame, at)
    for _tag in range(count):
        _number, at = varint(frame, at)
        size, at = varint(frame, at)
        at += size
        if at > len(frame):
            raise RequestError("found a tag that exceeds the frame")
    return at


def varint(data: bytes, at: int, limit: int = 5) -> tuple[int, int]:
    """Return an unsigned varint of at most ``limit`` bytes, and the position after it.

    Raises:
        RequestError: It is longer.
        IndexError: The data ends before it does.
    """
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift >= 7 * limit:
            raise RequestError(f"found a number of more than {limit} bytes")


def write_response(
    api: int, version: int, correlation_id: int, response: Mapping[str, Any], *, plain: bool = False
) -> bytes:
    """Return a response with its header; ``plain``: with header version 0, as always for ApiVersions (KIP-511)."""
    kind = _response(api, version)
    out = io.BytesIO()
    out.write(correlation_id.to_bytes(4, "big", signed=True))
    if kind.flexible and not plain:
        out.write(b"\0")
    kind.write(out, kind.make(response))
    return out.getvalue()


# -- building messages from fields ------------------------------------------------------------------------------------


def _as_error(value: Any) -> ErrorCode:
    return ErrorCode(int(value))


def _as_span(value: Any) -> i32Timedelta:
    span: i32Timedelta = timedelta(milliseconds=value)  # type: ignore[assignment]
    return span


def _as_time(stamp_ms: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=stamp_ms)


def _as_many(values: Any) -> Any:
    return None if values is None else tuple(values)


def _maker(schema: Any) -> Callable[[Mapping[str, Any]], Any]:
    """Return a function that builds instances of a message class from plain values by field name."""
    parts = [(each.name, _converter(each), _default(each)) for each in fields(schema)]

    def make(response: Mapping[str, Any]) -> Any:
        values = {}
        for name, convert, default in parts:
            value = response.get(name, MISSING)
            if value is MISSING:
                if default is not MISSING:
                    values[name] = default
                continue
            if callable(value):  # large values are made when they are written
                value = value()
            values[name] = value if convert is None else convert(value)
        return schema(**values)

    return make


def _converter(field: Any) -> Callable[[Any], Any] | None:
    kind = field.metadata.get("kafka_type")
    if kind == "error_code":
        return _as_error
    if kind in _SPANS:
        return _as_span
    if kind == _TIME:
        return _as_time
    inner = _entity(field.type)
    if inner is None:
        return _as_many if _is_many(field.type) else None
    make = _maker(inner)
    if _is_many(field.type):
        return lambda values: None if values is None else tuple([make(value) for value in values])
    return lambda value: None if value is None else make(value)


def _arms(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if isinstance(kind, UnionType) or get_origin(kind).__class__.__name__ == "Union" else (kind,)


def _is_many(kind: Any) -> bool:
    return any(get_origin(arm) is tuple for arm in _arms(kind))


def _entity(kind: Any) -> Any:
    """Return the class of a nested structure; None for any other type."""
    for arm in _arms(kind):
        inner = get_args(arm)[0] if get_origin(arm) is tuple else arm
        if hasattr(inner, "__dataclass_fields__"):
            return inner
    return None


def _default(field: Any) -> Any:
    if field.default is not MISSING:
        return MISSING
    kind = field.metadata.get("kafka_type")
    if type(None) in _arms(field.type):
        return None
    if _is_many(field.type):
        return ()
    if _entity(field.type) is not None:
        return MISSING
    if kind == "error_code":
        return ErrorCode.none
    if kind in _SPANS:
        return timedelta(0)
    if kind == _TIME:
        return _EPOCH
    return _DEFAULTS.get(kind, 0)


NO_ID: Final = uuid.UUID(int=0)
"""Topic id that means none."""

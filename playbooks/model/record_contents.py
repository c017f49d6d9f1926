"""The contents of records: providers of fields, templates, and a record of a session as an inspector shows it.

A field is written as a provider's name, with arguments if it takes any: ``uuid4``, ``pyint(1, 500)``,
``random_element('new', 'paid')``. Names are Faker's, except for some about the record itself. Providers that depend on
today's date are left out: a session has its own clock, and its result must not change.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from cluster_model.checker import Checker
from cluster_model.clients import sizes_of
from cluster_model.inspection.log_inspector import WrittenRecord, written_at
from cluster_model.observation import ClusterState
from cluster_model.spec import ClusterSpec, ProducerSpec
from cluster_model.util.quantities import counted, listed
from playbooks.errors import nearest, shown

if TYPE_CHECKING:
    from faker import Faker

Argument = int | str
MOST: Final = 10**12
LONGEST: Final = 1_000
"""Maximum number of characters of an argument, or of a requested text."""


class RecordFieldError(ValueError):
    """A field with an error; the message says what was found and what is allowed."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A number in a range, or a text (``low`` and ``high`` are its length)."""

    name: str
    low: int = -MOST
    high: int = MOST
    text: bool = False
    many: bool = False
    """Whether it takes all remaining arguments, at least one."""

    def expected_instead(self, value: Argument) -> str:
        """Return what is allowed instead; empty if the value is valid."""
        if self.text != isinstance(value, str):
            return "a string in quotes" if self.text else "a whole number"
        size = len(value) if isinstance(value, str) else value
        if self.low <= size <= self.high:
            return ""
        unit = " characters" if self.text else ""
        return f"{self.low} to {self.high}{unit}"


@dataclass(frozen=True, slots=True)
class Provider:
    """A generator of values, with its parameters."""

    doc: str
    parameters: tuple[Parameter, ...] = ()
    ordered: bool = False
    """Whether its first argument must not exceed its second."""
    needed: int = 0
    """Number of required arguments."""

    def signature(self, name: str) -> str:
        """Return the call with the names of its parameters."""
        words = [f"{each.name}, ..." if each.many else each.name for each in self.parameters]
        return f"{name}({', '.join(words)})" if words else name


class ProviderCall(NamedTuple):
    """A provider with its arguments by name; those of a provider with many by number."""

    provider: str
    arguments: tuple[tuple[str, Argument], ...]


_RANGE: Final = (Parameter("min_value"), Parameter("max_value"))
_PATTERN: Final = (Parameter("text", 1, 100, text=True),)

OWN: Final[Mapping[str, Provider]] = {
    "sequence": Provider("the record's number, by its producer and partition"),
    "timestamp": Provider("the record's time, in milliseconds since the session began"),
    "partition": Provider("the partition it was sent to"),
    "producer": Provider("the producer's name"),
    "key": Provider("the record's key, null without one"),
}
"""Providers of properties of the record itself."""

FAKED: Final[Mapping[str, Provider]] = {
    "address": Provider("a postal address"),
    "ascii_email": Provider("an e-mail address"),
    "bban": Provider("an account number"),
    "boolean": Provider("true or false", (Parameter("chance_of_getting_true", 0, 100),)),
    "bothify": Provider("a string with a digit for each # and a letter for each ?", _PATTERN),
    "bs": Provider("a business phrase"),
    "catch_phrase": Provider("a slogan"),
    "city": Provider("a city"),
    "color_name": Provider("a colour"),
    "company": Provider("a company"),
    "country": Provider("a country"),
    "country_code": Provider("a two-letter country code"),
    "credit_card_number": Provider("a credit card number"),
    "credit_card_provider": Provider("a credit card issuer"),
    "currency_code": Provider("a three-letter currency code"),
    "domain_name": Provider("a domain name"),
    "ean13": Provider("a product bar code"),
    "email": Provider("an e-mail address"),
    "file_path": Provider("a file path"),
    "first_name": Provider("a first name"),
    "hexify": Provider("a string with a hexadecimal digit for each ^", _PATTERN),
    "hostname": Provider("a host name"),
    "http_method": Provider("an HTTP method such as GET"),
    "http_status_code": Provider("an HTTP status code"),
    "iban": Provider("an international bank account number"),
    "ipv4": Provider("an IPv4 address"),
    "ipv6": Provider("an IPv6 address"),
    "isbn13": Provider("an ISBN-13"),
    "job": Provider("a profession"),
    "language_code": Provider("a language code"),
    "last_name": Provider("a last name"),
    "latitude": Provider("a latitude in degrees"),
    "lexify": Provider("a string with a letter for each ?", _PATTERN),
    "license_plate": Provider("a licence plate"),
    "locale": Provider("a language and country code"),
    "longitude": Provider("a longitude in degrees"),
    "mac_address": Provider("a MAC address"),
    "md5": Provider("32 hexadecimal digits"),
    "mime_type": Provider("a MIME type"),
    "name": Provider("a person's name"),
    "numerify": Provider("a string with a digit for each #", _PATTERN),
    "phone_number": Provider("a phone number"),
    "port_number": Provider("a port number"),
    "postcode": Provider("a postal code"),
    "pyfloat": Provider(
        "a number with that many decimals (default 2)",
        (*_RANGE, Parameter("right_digits", 0, 9)),
        ordered=True,
        needed=2,
    ),
    "pyint": Provider("a whole number (default range 0 to 9999)", _RANGE, ordered=True),
    "random_element": Provider(
        "one of several strings", (Parameter("elements", 0, 200, text=True, many=True),), needed=1
    ),
    "sentence": Provider("a sentence of about that many words (default 6)", (Parameter("nb_words", 1, 200),)),
    "sha256": Provider("64 hexadecimal digits"),
    "street_address": Provider("a street with house number"),
    "text": Provider("a text of at most that many characters (default 200)", (Parameter("max_nb_chars", 5, LONGEST),)),
    "uri_path": Provider("a URL path"),
    "url": Provider("a URL"),
    "user_name": Provider("a user name"),
    "uuid4": Provider("a random UUID"),
    "word": Provider("a word"),
}
"""Providers of Faker, under its names."""

PROVIDERS: Final[Mapping[str, Provider]] = {**OWN, **FAKED}

FIELD_PATTERN: Final = r"[a-z][a-z0-9_]*(\(.*\))?"
_CALL: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]{0,60})\s*(?:\((.*)\))?", re.ASCII | re.DOTALL)
_ARGUMENT: Final = re.compile(
    r"""\s*(?:([a-z_]+)\s*=\s*)?(?:(-?[0-9]{1,15})|'([^'\n]*)'|"([^"\n]*)")\s*(,|$)""", re.ASCII
)


def parse(text: str) -> ProviderCall:
    """Parse a field.

    Raises:
        RecordFieldError: it is not a field, or its arguments are invalid.
    """
    found = _CALL.fullmatch(text.strip())
    if found is None:
        raise RecordFieldError(f"found {shown(text)}, expected a provider such as uuid4 or pyint(1, 500)")
    name, inside = found[1], found[2] or ""
    provider = PROVIDERS.get(name)
    if provider is None:
        hint = nearest(name, PROVIDERS)
        raise RecordFieldError(f"found an unknown provider {shown(name)}{hint or f', expected {listed(PROVIDERS)}'}")
    return ProviderCall(name, _bound(name, provider, _arguments(inside)))


def _arguments(text: str) -> list[tuple[str, Argument]]:
    """Return (name or empty, value) of each argument."""
    arguments: list[tuple[str, Argument]] = []
    at = 0
    while text[at:].strip() or (arguments and at and text[at - 1] == ","):
        match = _ARGUMENT.match(text, at)
        if match is None:
            raise RecordFieldError(f"found {shown(text[at:].strip())}, expected a whole number, or a quoted string")
        name, number, single, double, _comma = match.groups()
        value: Argument = int(number) if number is not None else single if single is not None else double
        arguments.append((name or "", value))
        at = match.end()
    return arguments


def _bound(name: str, provider: Provider, given: list[tuple[str, Argument]]) -> tuple[tuple[str, Argument], ...]:
    """Return the arguments by the names of the parameters, checked."""
    parameters = provider.parameters
    many = bool(parameters) and parameters[0].many
    bound: dict[str, Argument] = {}
    for index, (word, value) in enumerate(given):
        parameter = parameters[0] if many else _parameter(name, provider, index, word)
        key = str(index) if many else parameter.name
        if many and word:
            raise RecordFieldError(f"found {word}=, expected {provider.signature(name)} without names")
        if key in bound or (not word and not many and len(bound) < index):
            raise RecordFieldError(f"found {parameter.name} twice, expected {provider.signature(name)}")
        expectation = parameter.expected_instead(value)
        if expectation:
            found_value = shown(value) if isinstance(value, str) else value
            raise RecordFieldError(f"found {found_value} as {parameter.name} of {name}, expected {expectation}")
        bound[key] = value
    if len(bound) < provider.needed:
        raise RecordFieldError(
            f"found {name} with {counted(len(bound), 'argument')}, expected {provider.signature(name)}"
        )
    if provider.ordered:
        low, high = bound.get("min_value", 0), bound.get("max_value", 9_999)
        if isinstance(low, int) and isinstance(high, int) and low > high:
            raise RecordFieldError(f"found {low} to {high}, expected the smaller one first")
    return tuple(bound.items())


def _parameter(name: str, provider: Provider, index: int, word: str) -> Parameter:
    parameters = provider.parameters
    if word:
        known = {each.name: each for each in parameters}
        if word not in known:
            raise RecordFieldError(f"found {word}=, expected {provider.signature(name)}{nearest(word, known)}")
        return known[word]
    if index >= len(parameters):
        raise RecordFieldError(f"found {counted(index + 1, 'argument')} or more, expected {provider.signature(name)}")
    return parameters[index]


# Templates of records (``records: faker:NAME``): fields, each with its provider.


TEMPLATES: Final[dict[str, dict[str, str]]] = {
    "order": {
        "order_id": "uuid4",
        "customer": "pyint(1, 50000)",
        "product": "ean13",
        "quantity": "pyint(1, 9)",
        "amount": "pyfloat(1, 500)",
        "currency": "currency_code",
        "city": "city",
        "status": "random_element('new', 'paid', 'shipped', 'cancelled')",
        "at": "timestamp",
    },
    "payment": {
        "payment_id": "uuid4",
        "order_id": "uuid4",
        "account": "iban",
        "card": "credit_card_provider",
        "amount": "pyfloat(1, 500)",
        "currency": "currency_code",
        "approved": "boolean(97)",
        "at": "timestamp",
    },
    "click": {
        "user": "pyint(1, 100000)",
        "session": "md5",
        "page": "uri_path",
        "referrer": "url",
        "address": "ipv4",
        "country": "country_code",
        "at": "timestamp",
    },
    "user": {
        "user_id": "uuid4",
        "name": "name",
        "account": "user_name",
        "email": "email",
        "city": "city",
        "country": "country_code",
        "job": "job",
        "active": "boolean(90)",
    },
    "log_line": {
        "at": "timestamp",
        "level": "random_element('DEBUG', 'INFO', 'INFO', 'INFO', 'WARN', 'ERROR')",
        "host": "hostname",
        "thread": "numerify('worker-#')",
        "request": "http_method",
        "path": "uri_path",
        "status": "http_status_code",
        "millis": "pyint(1, 3000)",
        "message": "sentence(8)",
    },
    "sensor": {
        "device": "bothify('sensor-####')",
        "temperature": "pyfloat(-20, 45)",
        "humidity": "pyfloat(0, 100, right_digits=1)",
        "battery": "pyint(0, 100)",
        "latitude": "latitude",
        "longitude": "longitude",
        "at": "timestamp",
    },
}


# The contents of a record, generated on demand from the session's seed and the record's own name and number.
#
# Logs store no contents, so that a record costs nothing until it is inspected. The same record of the same session
# always has the same contents: they depend on (seed, producer, partition, number), its time and its key only.


FAKER: Final = "faker:"


@dataclass(frozen=True, slots=True)
class RecordName:
    """Identity of a record: ``number`` counts its producer's records in the partition, from 0."""

    producer: str
    partition: str
    number: int
    timestamp_us: int = 0
    key: str | None = None


def fields_of(spec: "ProducerSpec") -> dict[str, str]:
    """Return the fields of a producer's records with their providers; empty if the playbook has none."""
    if spec.fields:
        return dict(spec.fields)
    return TEMPLATES.get(spec.records.removeprefix(FAKER), {})


def contents(fields: Mapping[str, str], seed: int, record: RecordName) -> dict[str, Any]:
    """Return a record's fields with their values, which can be converted to JSON; ``seed`` is the session's."""
    faker = _faker()
    name = f"{seed}/contents/{record.producer}/{record.partition}/{record.number}"
    faker.seed_instance(int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big"))
    return {field: _value(faker, text, record) for field, text in fields.items()}


def written(value: Mapping[str, Any]) -> str:
    """Return the value as the producer's serializer would write it."""
    return json.dumps(value, ensure_ascii=False)


@lru_cache(maxsize=1)
def _faker() -> "Faker":
    """Return the Faker instance, made on first use: it takes a fifth of a second."""
    from faker import Faker  # noqa: PLC0415 - not needed elsewhere

    return Faker("en_US")


def _value(faker: "Faker", text: str, record: RecordName) -> Any:
    call = parse(text)
    arguments = dict(call.arguments)
    if call.provider in OWN:
        return _own(call.provider, record)
    special = _SPECIAL.get(call.provider)
    made = getattr(faker, call.provider)(**arguments) if special is None else special(faker, arguments)
    return float(made) if isinstance(made, Decimal) else made


def _own(name: str, record: RecordName) -> Argument | None:
    of: dict[str, Argument | None] = {
        "sequence": record.number,
        "timestamp": record.timestamp_us // 1_000,
        "partition": record.partition,
        "producer": record.producer,
        "key": record.key,
    }
    return of[name]


def _float(faker: "Faker", arguments: dict[str, Argument]) -> float:
    """Return a random number, generated as a whole number so that all values with those digits are equally likely."""
    low, high = int(arguments["min_value"]), int(arguments["max_value"])
    scale: int = 10 ** int(arguments.get("right_digits", 2))
    return int(faker.random.randint(low * scale, high * scale)) / scale


def _element(faker: "Faker", arguments: dict[str, Argument]) -> Any:
    return faker.random_element(tuple(arguments.values()))


def _status(faker: "Faker", _arguments: dict[str, Argument]) -> Any:
    return faker.http_status_code(include_unassigned=False)


_SPECIAL: Final[dict[str, Callable[["Faker", dict[str, Argument]], Any]]] = {
    "http_status_code": _status,
    "pyfloat": _float,
    "random_element": _element,
}


# A record of a session as an inspector shows it: key, contents, producer, and the brokers that still have it.


@dataclass(frozen=True, slots=True)
class PeekedRecord:
    """A record with its contents, as an inspector shows it."""

    record: WrittenRecord
    value: str | None
    """None for a tombstone, and if the playbook does not define the contents of its producer's records."""
    record_bytes: int
    """Size of the record alone, as serialized; -1 if only its batch is known."""

    def to_json(self) -> dict[str, Any]:
        """Return plain values for a document."""
        found = asdict(self.record)
        return {**found, "holders": list(self.record.holders), "value": self.value, "record_bytes": self.record_bytes}


class RecordSource(Protocol):
    """The part of a cluster, timed or manual, that the inspection of records needs."""

    @property
    def spec(self) -> ClusterSpec:
        """Specification of the cluster."""

    @property
    def seed(self) -> int:
        """Seed of the session."""

    @property
    def cluster_state(self) -> ClusterState:
        """Read access to the whole cluster state."""

    @property
    def checker(self) -> Checker:
        """Checker with the ledger of records."""


def inspect_record(cluster: RecordSource, partition: str, offset: int) -> tuple[PeekedRecord, ...]:
    """Return all records written at an offset so far, oldest first.

    Raises:
        ModelError: there is no such partition.
    """
    producers = {spec.name: spec for spec in cluster.spec.producers}
    records = written_at(cluster.cluster_state, cluster.checker, partition, offset)
    return tuple(_peeked(record, producers.get(record.client), cluster.seed) for record in records)


def _peeked(record: WrittenRecord, spec: ProducerSpec | None, seed: int) -> PeekedRecord:
    if record.name or spec is None:
        _key, sign, value = record.name.partition("=")
        named = value if sign else record.name
        return PeekedRecord(record, None if record.deletes or not record.name else named, -1)
    size = sizes_of(spec, seed).of(record.partition, record.number, 1)
    fields = fields_of(spec)
    if record.deletes or not fields:
        return PeekedRecord(record, None, size)
    name = RecordName(record.client, record.partition, record.number, max(0, record.timestamp_us), record.key)
    return PeekedRecord(record, written(contents(fields, seed, name)), size)

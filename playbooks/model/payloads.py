"""What a record holds: made when somebody looks, from the session's seed and the record's own name and number.

Logs keep no contents, so that a record costs nothing while nobody asks. The same record of the same session has the
same contents whoever asks and however often: (seed, producer, partition, number) is all that they depend on, besides
its time and its key.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from playbooks.model.record_contents import OWN, Argument, parse
from playbooks.model.templates import TEMPLATES

if TYPE_CHECKING:
    from faker import Faker

    from cluster_model.spec.cluster_spec import ProducerSpec

FAKER: Final = "faker:"


@dataclass(frozen=True, slots=True)
class RecordName:
    """Which record: ``number`` counts its producer's in the partition, from 0."""

    producer: str
    partition: str
    number: int
    timestamp_us: int = 0
    key: str | None = None


def fields_of(spec: "ProducerSpec") -> dict[str, str]:
    """The fields of a producer's records with what each is made of; none where the playbook does not say."""
    if spec.fields:
        return dict(spec.fields)
    return TEMPLATES.get(spec.records.removeprefix(FAKER), {})


def contents(fields: Mapping[str, str], seed: int, record: RecordName) -> dict[str, Any]:
    """A record's fields with their values, of which JSON can be made; ``seed`` is the session's."""
    faker = _faker()
    name = f"{seed}/contents/{record.producer}/{record.partition}/{record.number}"
    faker.seed_instance(int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big"))
    return {field: _value(faker, text, record) for field, text in fields.items()}


def written(value: Mapping[str, Any]) -> str:
    """As the producer's serializer would write it."""
    return json.dumps(value, ensure_ascii=False)


@lru_cache(maxsize=1)
def _faker() -> "Faker":
    """Made at the first look: it takes a fifth of a second."""
    from faker import Faker  # noqa: PLC0415 - nobody else needs it

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
    """Drawn as a whole number, so that every value with those digits is alike often."""
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

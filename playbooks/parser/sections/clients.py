"""Parser of producers, consumers and applications: load, records, partitioners, transactions, outputs."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypedDict

from cluster_model.clients.producer import ProducerConfig
from cluster_model.protocol.config_defs import PARTITIONER_CLASS
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.versions import Profile
from cluster_model.spec import (
    HANDED_OFF,
    RECORD,
    TRANSACTION,
    ClosedLoop,
    CustomPartitioner,
    HotKeys,
    Interceptor,
    KeySkew,
    RateProfile,
    RateSegment,
    Sizes,
    SpreadSizes,
    TransactionPlan,
    TwoSizes,
    UniformSizes,
    ZipfKeys,
    constant,
)
from cluster_model.util.quantities import counted, listed
from playbooks.errors import nearest, shown
from playbooks.model.record_contents import FAKER, FIELD_PATTERN, TEMPLATES, RecordFieldError, parse
from playbooks.parser.document.context import ErrorNotes
from playbooks.parser.document.field_types import (
    BAD,
    DURATION,
    NAME,
    RATE,
    ChoiceType,
    Fields,
    FieldSpec,
    FieldType,
    Integer,
    ListOf,
    Quantity,
    Record,
    Schema,
    TypeByShape,
)
from playbooks.parser.document.yaml_source import Mapping, Node, Scalar, found
from playbooks.units import (
    EXPONENT_ALLOWED,
    EXPONENT_PATTERN,
    RATE_ALLOWED,
    RATE_PATTERN,
    SHARE_ALLOWED,
    SHARE_PATTERN,
    SIZE_ALLOWED,
    SIZE_PATTERN,
    UnitError,
    duration_text,
    interval_us,
    per_second,
    rate_units,
    share_ppm,
    size_bytes,
    size_text,
    thousandths,
)

TOO_FAST: Final = "more than one batch per microsecond; use a lower rate, or larger batches"
_SIZE_SHAPES: Final = (("from", "to"), ("small", "large", "share"), ("median", "p99"))
_SIZES_ALLOWED: Final = "expected from and to, or small, large and share, or median and p99"


def read_rate(fields: Fields, batch: int, notes: ErrorNotes) -> tuple[int, RateProfile | None]:
    """Return the interval of a producer's batches, and the profile of a rate without a whole interval."""
    given = fields.get("rate")
    if given is None:
        _check_rate_is_there(fields, notes)
        return 1, None
    if isinstance(given, Fields):
        return 1, _profile(given, batch, notes)
    try:
        interval = interval_us(given, batch)
    except UnitError as error:
        notes.problem(fields.at("rate"), fields.path("rate"), f"found {found(fields.at('rate'))}, {error}")
        return 1, None
    exact = interval * per_second(given) == batch * 1_000_000
    return interval, None if exact else constant(rate_units(given))


def _check_rate_is_there(fields: Fields, notes: ErrorNotes) -> None:
    closed = isinstance(fields.get("loop"), Fields) or fields.bad("loop")
    if not fields.given("rate") and not closed:
        notes.problem(fields.node, fields.key, "missing key 'rate': records per second, such as 200/s")


def _profile(fields: Fields, batch: int, notes: ErrorNotes) -> RateProfile | None:
    shapes = [name for name in _SHAPES if fields.given(name)]
    if len(shapes) != 1:
        message = f"found {listed(shapes, 'and') if shapes else 'none of them'}, expected one of {listed(_SHAPES)}"
        notes.problem(fields.node, fields.key, message)
        return None
    shape = fields.get(shapes[0])
    every = fields.get("every", 0)
    if shape is None or fields.bad("every"):
        return None
    if fields.given("every") and not every:
        notes.refuse(fields.at("every"), fields.path("every"), "a period above 0")
        return None
    stretches = _SHAPES[shapes[0]](shape, notes)
    return None if stretches is None else _profile_of_segments(fields, stretches, batch, every, notes)


def _profile_of_segments(
    fields: Fields, stretches: list[RateSegment], batch: int, every: int, notes: ErrorNotes
) -> RateProfile | None:
    """Return the profile of segments of which only the last is endless, with its period."""
    if max(rate for stretch in stretches for rate in stretch[1:]) > batch * RECORD:
        notes.problem(fields.node, fields.key, f"found {TOO_FAST}")
        return None
    if not any(rate for stretch in stretches for rate in stretch[1:]):
        notes.problem(fields.node, fields.key, "found only rates of 0/s, expected a rate above 0 at some time")
        return None
    if not every:
        return RateProfile(tuple(stretches))
    length = sum(stretch.duration_us for stretch in stretches[:-1])
    if every < length:
        least = duration_text(length)
        message = f"found a period of {duration_text(every)} for a profile of {least}, expected {least} or more"
        notes.problem(fields.at("every"), fields.path("every"), message)
        return None
    last = [stretches[-1]._replace(duration_us=every - length)] if every > length else []
    return RateProfile((*stretches[:-1], *last), repeats=True)


def _ramp(fields: Fields, notes: ErrorNotes) -> list[RateSegment] | None:
    values = [fields.get(name) for name in ("from", "to", "over")]
    if None in values or not _lasting(fields, "over", notes):
        return None
    start, end, over = values
    return [RateSegment(over, start, end), RateSegment(-1, end, end)]


def _steps(steps: list[Fields], notes: ErrorNotes) -> list[RateSegment] | None:
    """Return a segment for each step; the last one's rate continues after its time."""
    stretches: list[RateSegment] = []
    for number, step in enumerate(steps, 1):
        rate, lasts = step.get("rate"), step.get("for")
        if rate is None or step.bad("for"):
            return None
        if lasts is not None:
            if not _lasting(step, "for", notes):
                return None
            stretches.append(RateSegment(lasts, rate, rate))
        elif number < len(steps):
            message = "missing key 'for', required in all steps except the last: a duration"
            notes.problem(step.node, step.key, message)
            return None
        if number == len(steps):
            stretches.append(RateSegment(-1, rate, rate))
    return stretches


def _burst(fields: Fields, notes: ErrorNotes) -> list[RateSegment] | None:
    rate, lasts = fields.get("rate"), fields.get("for")
    if rate is None or lasts is None or fields.bad("after") or fields.bad("base") or not _lasting(fields, "for", notes):
        return None
    after, base = fields.get("after", 0), fields.get("base", 0)
    before = [RateSegment(after, base, base)] if after else []
    return [*before, RateSegment(lasts, rate, rate), RateSegment(-1, base, base)]


def _lasting(fields: Fields, name: str, notes: ErrorNotes) -> bool:
    """Return whether a time is above 0; otherwise report it."""
    if fields.get(name):
        return True
    notes.refuse(fields.at(name), fields.path(name), "a time above 0")
    return False


_SHAPES: Final[dict[str, Callable[[Any, ErrorNotes], list[RateSegment] | None]]] = {
    "ramp": _ramp,
    "step": _steps,
    "burst": _burst,
}


def read_loop(fields: Fields, batch: int, notes: ErrorNotes) -> ClosedLoop | None:
    """Return the closed loop; None for an open loop, which uses the rate."""
    loop: Any = fields.get("loop")
    if not isinstance(loop, Fields):
        return None
    if fields.given("rate"):
        message = "found a rate in a closed loop, allowed only with 'loop: open': responses pace a closed one"
        notes.problem(fields.at("rate"), fields.path("rate"), message)
    if not loop.given("outstanding") and not loop.given("think"):
        notes.problem(loop.node, loop.key, "found neither outstanding nor think, expected one of them, or both")
    outstanding = loop.get("outstanding", batch)
    if outstanding < batch:
        message = f"found {outstanding}, expected at least one batch: {batch}"
        notes.problem(loop.at("outstanding"), loop.path("outstanding"), message)
    return ClosedLoop(outstanding, loop.get("think", 0))


def read_sizes(fields: Fields, notes: ErrorNotes) -> Sizes | None:
    """Return the sizes of records; None if all are equal."""
    sizes: Any = fields.get("bytes")
    if not isinstance(sizes, Fields):
        return None
    names = tuple(sizes.node.entries)
    shape = next((shape for shape in _SIZE_SHAPES if set(shape) == set(names)), None)
    if shape is None:
        notes.problem(sizes.node, sizes.key, f"found {listed(names, 'and')}, {_SIZES_ALLOWED}")
        return None
    values = [sizes.get(name) for name in shape]
    if None in values:
        return None
    if values[1] < values[0]:
        message = f"found {values[1]}, expected {shape[0]} ({values[0]}) or more"
        notes.problem(sizes.at(shape[1]), sizes.path(shape[1]), message)
        return None
    kinds: dict[str, type[Any]] = {"from": UniformSizes, "small": TwoSizes, "median": SpreadSizes}
    made: Sizes = kinds[shape[0]](*values)
    return made


def read_keys(fields: Fields, notes: ErrorNotes) -> tuple[int, KeySkew | None]:
    """Return the number of keys, and their skew."""
    keys: Any = fields.get("keys", 0)
    if not isinstance(keys, Fields):
        return keys, None
    zipf, hot = keys.get("zipf"), keys.get("hot")
    if keys.given("zipf") and keys.given("hot"):
        notes.problem(keys.at("hot"), keys.path("hot"), "found hot beside zipf, expected one of them")
    skew = ZipfKeys(zipf) if zipf is not None else HotKeys(hot) if hot is not None else None
    return keys.get("distinct", 0), skew


# Dead-letter topics: handling of records that an application cannot process.


def dead_letter(fields: Fields, notes: ErrorNotes) -> str:
    """Return the topic of records that fail; allowed only if the application waits for its handler."""
    topic = str(fields.get("dead_letter", ""))
    message = ""
    if topic and (topic in fields.get("topics", ()) or re.fullmatch(fields.get("pattern", ""), topic)):
        message = f"found {topic!r}, which the group itself reads, expected another topic"
    elif topic and fields.get("commit", "auto") == HANDED_OFF:
        message = "found a dead-letter topic with 'commit: handed_off', allowed if the poll loop waits for the handler"
    if message:
        notes.problem(fields.at("dead_letter"), fields.path("dead_letter"), message)
    return topic


# Tables of a producer's load: changing rates, closed loops, random sizes and keys.


MOST_KEYS: Final = 1_000_000
MOST_OUTSTANDING: Final = 100_000
MOST_STEPS: Final = 1_000
LARGEST_RECORD: Final = 1024**2

ANY_RATE: Final = Quantity(rate_units, RATE_PATTERN, RATE_ALLOWED)
"""A rate in the model's units; 0 is allowed, too."""
SHARE: Final = Quantity(share_ppm, SHARE_PATTERN, SHARE_ALLOWED)
SIZE: Final = Quantity(size_bytes, SIZE_PATTERN, SIZE_ALLOWED, high=LARGEST_RECORD, numbers=True, write=size_text)
DRAWN_SIZE: Final = Quantity(
    size_bytes, SIZE_PATTERN, SIZE_ALLOWED, low=1, high=LARGEST_RECORD, numbers=True, write=size_text
)

RAMP: Final = Record(
    {
        "from": FieldSpec(ANY_RATE, "Rate at the start.", required=True),
        "to": FieldSpec(ANY_RATE, "Rate at the end, and afterwards.", required=True),
        "over": FieldSpec(DURATION, "Duration of the ramp.", required=True),
    }
)

STEP: Final = Record(
    {
        "rate": FieldSpec(ANY_RATE, "Rate of this step.", required=True),
        "for": FieldSpec(DURATION, "Duration; only the last step may be endless."),
    }
)

BURST: Final = Record(
    {
        "rate": FieldSpec(ANY_RATE, "Rate of the burst.", required=True),
        "for": FieldSpec(DURATION, "Duration of the burst.", required=True),
        "after": FieldSpec(DURATION, "Start of the burst, from the beginning or in each period; default 0s."),
        "base": FieldSpec(ANY_RATE, "Rate outside of the burst; default 0/s."),
    }
)

CHANGING_RATE: Final = Record(
    {
        "ramp": FieldSpec(RAMP, "A linear ramp between two rates."),
        "step": FieldSpec(ListOf(STEP, 1, MOST_STEPS), "Consecutive rates."),
        "burst": FieldSpec(BURST, "A burst of a higher rate."),
        "every": FieldSpec(DURATION, "Period after which the profile repeats; default: no repetition."),
    }
)

RATE_OF_RECORDS: Final = TypeByShape("a rate such as 200/s, or a mapping", scalar=RATE, mapping=CHANGING_RATE)

LOOP: Final = TypeByShape(
    "open, or a mapping with the keys outstanding and think",
    scalar=ChoiceType(("open",), "open, or a mapping with the keys outstanding and think"),
    mapping=Record(
        {
            "outstanding": FieldSpec(
                Integer(1, MOST_OUTSTANDING), "Maximum number of records without an outcome; default one batch."
            ),
            "think": FieldSpec(DURATION, "Think time between an outcome and the next batch; default 0s."),
        }
    ),
)

SIZES: Final = TypeByShape(
    f"{SIZE_ALLOWED}, or a mapping",
    scalar=SIZE,
    mapping=Record(
        {
            "from": FieldSpec(DRAWN_SIZE, "Minimum size of a uniform distribution."),
            "to": FieldSpec(DRAWN_SIZE, "Maximum size of a uniform distribution."),
            "small": FieldSpec(DRAWN_SIZE, "The usual one of two sizes."),
            "large": FieldSpec(DRAWN_SIZE, "The other one of two sizes."),
            "share": FieldSpec(SHARE, "Share of large records: 5%."),
            "median": FieldSpec(DRAWN_SIZE, "Median size of a log-normal distribution."),
            "p99": FieldSpec(DRAWN_SIZE, "99th percentile size."),
        }
    ),
)

KEYS: Final = TypeByShape(
    "a number of keys, or a mapping with distinct and either zipf or hot",
    scalar=Integer(1, MOST_KEYS),
    mapping=Record(
        {
            "distinct": FieldSpec(
                Integer(1, MOST_KEYS), "Number of distinct keys: key-0, key-1 and so on.", required=True
            ),
            "zipf": FieldSpec(
                Quantity(thousandths, EXPONENT_PATTERN, EXPONENT_ALLOWED, numbers=True),
                "Zipf exponent s: the n-th key has n^s times fewer records than the first: 1.1.",
            ),
            "hot": FieldSpec(SHARE, "Share of records with the first key: 80%."),
        }
    ),
)


# Outputs: records that an application writes for each record it reads.


class OutputFields(TypedDict):
    """Output fields of a group's specification."""

    output_topic: str
    output_config: dict[str, Any]


def read_output(fields: Fields, profile: Profile, notes: ErrorNotes) -> OutputFields:
    """Return the topic, and the configuration of the producers; both empty without output."""
    topic = str(fields.get("to", ""))
    config = fields.get("to_config", {})
    commit = fields.get("commit", "auto")
    for key, message in (
        ("to", _wrong_topic(fields, topic, commit)),
        ("to_config", _wrong_config(fields, profile, config, transactional=commit == TRANSACTION)),
        ("commit", _wrong_commit(fields, profile) if commit == TRANSACTION else ""),
    ):
        if message:
            notes.problem(fields.at(key), fields.path(key), message)
    return {"output_topic": topic, "output_config": config}


def _wrong_topic(fields: Fields, topic: str, commit: str) -> str:
    if topic and (topic in fields.get("topics", ()) or re.fullmatch(fields.get("pattern", ""), topic)):
        return f"found {topic!r}, which the group itself reads, expected another topic"
    if topic and fields.given("dead_letter"):
        return "found a topic for output and a dead-letter topic, expected one of them"
    if topic and commit == HANDED_OFF:
        return "found a topic for output with 'commit: handed_off', allowed only if the poll loop waits for its output"
    return ""


def conflict(error: ModelError) -> str:
    """Describe a conflict of configurations, by the error of their client."""
    if error.code == "not_in_version":
        return "a configuration that this version lacks"
    if error.code == "incompatible_client":
        return "releases that cannot talk to each other"
    return "mutually exclusive settings"


def _wrong_config(fields: Fields, profile: Profile, config: dict[str, Any], *, transactional: bool) -> str:
    if not fields.given("to_config") or fields.bad("to_config"):
        return ""
    if not fields.given("to"):
        return "found a producer's configuration without a topic, allowed only with to"
    if "transactional.id" in config:
        return "found a transactional.id, not allowed: with 'commit: transaction' each member has its own"
    try:
        ids = {"transactional.id": "a"} if transactional and profile.transactions else {}
        ProducerConfig.of(profile, {"acks": "all", **config, **ids})
    except ModelError as error:
        return f"found {conflict(error)}: {error}"
    return ""


def _wrong_commit(fields: Fields, profile: Profile) -> str:
    if not fields.given("to"):
        return "found 'transaction' without an output topic, allowed only with to"
    if not profile.transactions:
        return f"found 'transaction' with Kafka {profile.version}, allowed since 0.11"
    if not fields.get("coordinated", True):
        return "found 'transaction' in a group without a coordinator, allowed only with one"
    if fields.get("config", {}).get("enable.auto.commit") is True:
        return "found 'transaction' with enable.auto.commit, expected one of them"
    return ""


# Partitions of a producer: a fixed one, or a partitioner of its application.


OTHERS: Final = "others"
_KEY: Final = "key-(0|[1-9][0-9]{0,6})"
_ALLOWED: Final = "a mapping of keys to partitions, as in {key-0: 2, others: 1}"
_PARTITION: Final = Integer(0, 999, "a partition's number")


@dataclass(frozen=True, slots=True)
class KeysToPartitions(FieldType):
    """``key-N`` → partition, and ``others``; parsed to an :class:`CustomPartitioner`."""

    def _read(self, node: Node, key: str, notes: ErrorNotes) -> Any:
        if not isinstance(node, Mapping) or not node.entries:
            notes.refuse(node, key, _ALLOWED)
            return BAD
        partitions: dict[str, Any] = {}
        for name, (where, value) in node.entries.items():
            if name != OTHERS and not re.fullmatch(_KEY, name, re.ASCII):
                notes.problem(where, key, f"found {shown(name)}, expected keys such as key-0, and {OTHERS}")
                continue
            partitions[name] = _PARTITION.read(value, f"{key}.{name}", notes)
        if len(partitions) < len(node.entries) or BAD in partitions.values():
            return BAD
        others = partitions.pop(OTHERS, -1)
        return CustomPartitioner(tuple((int(name[4:]), partition) for name, partition in partitions.items()), others)

    def _schema(self) -> Schema:
        partition = _PARTITION.schema()
        return {
            "type": "object",
            "properties": {OTHERS: partition},
            "patternProperties": {f"^{_KEY}$": partition},
            "additionalProperties": False,
            "minProperties": 1,
        }


def check_placing(fields: Fields, distinct: int, notes: ErrorNotes) -> None:
    """Check a producer's ``partition`` and ``partitioner``: its topic has the partitions, its records have the keys."""
    own: CustomPartitioner | None = fields.get("partitioner")
    total = (notes.facts.topics or {}).get(fields.get("topic", ""))
    if fields.get("partition") is not None:
        _check_partition(fields.get("partition"), total, fields.at("partition"), fields.path("partition"), notes)
    if not fields.given("partitioner"):
        return
    node, path = fields.at("partitioner"), fields.path("partitioner")
    if fields.given("partition"):
        notes.problem(node, path, "found a partitioner and a partition, expected one of them")
    if PARTITIONER_CLASS in fields.get("config", {}):
        notes.problem(node, path, f"found a partitioner beside {PARTITIONER_CLASS}, expected one of them")
    if not fields.given("keys"):
        notes.problem(node, path, "found a partitioner of keys without keys, allowed only with keys")
    if own is None or not isinstance(node, Mapping):
        return
    for name, (where, _value) in node.entries.items():
        if name != OTHERS and distinct and int(name[4:]) >= distinct:
            most = f"expected key-0 to key-{distinct - 1}" if distinct > 1 else "expected key-0"
            notes.problem(where, path, f"found {name} of {counted(distinct, 'key')}, {most}")
    for name, partition in (*((f"key-{number}", where) for number, where in own.keys), (OTHERS, own.others)):
        if partition >= 0:
            _check_partition(partition, total, node.entries[name][1], f"{path}.{name}", notes)


def _check_partition(partition: int, total: int | None, node: Node, path: str, notes: ErrorNotes) -> None:
    if total is not None and partition >= total:
        allowed = f"expected 0 to {total - 1}" if total > 1 else "expected 0"
        notes.problem(node, path, f"found {partition} of {counted(total, 'partition')}, {allowed}")


# Contents of records: a template by name, or a mapping of fields.


MOST_FIELDS: Final = 100
_FIELD_NAME: Final = r"[A-Za-z_][A-Za-z0-9_.-]{0,99}"


@dataclass(frozen=True, slots=True)
class Template(FieldType):
    """Name of a built-in template: ``faker:NAME``."""

    def _read(self, node: Node, key: str, notes: ErrorNotes) -> Any:
        known = [FAKER + name for name in TEMPLATES]
        if isinstance(node, Scalar) and node.text in known:
            return node.text
        hint = nearest(node.text, known) if isinstance(node, Scalar) else ""
        notes.problem(node, key, f"found {found(node)}, expected {listed(known)}, or a mapping of fields{hint}")
        return BAD

    def _schema(self) -> Schema:
        return {"enum": [FAKER + name for name in TEMPLATES]}


@dataclass(frozen=True, slots=True)
class FieldMap(FieldType):
    """Field → provider with its arguments. The value is a tuple of both, in the file's order."""

    def _read(self, node: Node, key: str, notes: ErrorNotes) -> Any:
        assert isinstance(node, Mapping)
        if not 1 <= len(node.entries) <= MOST_FIELDS:
            message = f"found {counted(len(node.entries), 'field')}, expected 1 to {MOST_FIELDS}"
            notes.problem(node, key, message)
            return BAD
        read = [(name, _field(name, where, value, key, notes)) for name, (where, value) in node.entries.items()]
        fields = [(name, text) for name, text in read if text]
        return tuple(fields) if len(fields) == len(node.entries) else BAD

    def _schema(self) -> Schema:
        provider = {"type": "string", "pattern": f"^{FIELD_PATTERN}$"}
        return {
            "type": "object",
            "patternProperties": {f"^{_FIELD_NAME}$": provider},
            "additionalProperties": False,
            "maxProperties": MOST_FIELDS,
        }


def _field(name: str, where: Node, value: Node, key: str, notes: ErrorNotes) -> str:
    """Return the provider of a field; empty after reporting its errors."""
    path = f"{key}.{shown(name)[1:-1]}"
    if not re.fullmatch(_FIELD_NAME, name, re.ASCII):
        notes.problem(where, path, f"found a field {shown(name)}, expected letters, digits, dots, dashes, underscores")
        return ""
    if not isinstance(value, Scalar) or value.empty:
        notes.refuse(value, path, "a provider such as uuid4 or pyint(1, 500)")
        return ""
    try:
        parse(value.text)
    except RecordFieldError as error:
        notes.problem(value, path, str(error))
        return ""
    return value.text


RECORDS: Final = TypeByShape(
    f"a template such as {FAKER}order, or a mapping of fields", scalar=Template(), mapping=FieldMap()
)


# A producer's interceptors, serializer, callbacks, flushes and close.


ONE_IN: Final = Integer(1, 1_000_000)

INTERCEPTOR: Final = Record(
    {
        "name": FieldSpec(NAME, "The interceptor's name.", required=True),
        "adds": FieldSpec(SIZE, "Bytes of headers that it adds to each record; default none."),
        "fail_every": FieldSpec(
            ONE_IN, "Throws for one in this number of records of each partition; default: never.", old="fails"
        ),
    }
)

SERIALIZER: Final = Record(
    {
        "fail_every": FieldSpec(
            ONE_IN, "One in this number of records fails with SerializationException.", required=True, old="fails"
        )
    }
)

SENDING: Final = {
    "interceptors": FieldSpec(ListOf(INTERCEPTOR, 1, 10), "Interceptors of its records, in this order."),
    "serializer": FieldSpec(SERIALIZER, "Serialization failures; default: none."),
    "callback": FieldSpec(DURATION, "Duration of each record's callback, which blocks sending; default 0s."),
    "flush_every": FieldSpec(Integer(1, 1_000_000), "Number of records between two flushes; default: never flushes."),
    "close": FieldSpec(DURATION, "Timeout of close() when it stops; default: it is not closed."),
}
"""Keys of a producer."""


def read_sending(fields: Fields, notes: ErrorNotes) -> dict[str, Any]:
    """Return the fields of a producer's specification from those keys."""
    mode = fields.get("send", "async")
    if fields.given("callback") and mode != "async":
        message = f"found a callback with send: {mode}, allowed only with async: other modes have no callback"
        notes.problem(fields.at("callback"), fields.path("callback"), message)
    if fields.given("flush_every") and mode == "sync":
        message = "found flush_every with send: sync, allowed only with others: sync waits for every record already"
        notes.problem(fields.at("flush_every"), fields.path("flush_every"), message)
    serializer: Fields | None = fields.get("serializer")
    return {
        "callback_us": fields.get("callback", 0),
        "flush_every": fields.get("flush_every", 0),
        "close_us": fields.get("close", -1),
        "serializer_fails": serializer.get("fail_every", 0) if serializer else 0,
        "interceptors": _interceptors(fields, notes),
    }


def _interceptors(fields: Fields, notes: ErrorNotes) -> tuple[Interceptor, ...]:
    made: list[Interceptor] = []
    each: Fields
    for each in fields.get("interceptors", []):
        name = each.get("name", "")
        if name and any(name == other.name for other in made):
            notes.problem(each.at("name"), each.path("name"), f"found {shown(name)} twice, expected once")
        made.append(Interceptor(name, each.get("adds", 0), each.get("fail_every", 0)))
    return tuple(made)


# Subscriptions of a group by topic or by pattern, and the racks of its members.


LONGEST = 200


@dataclass(frozen=True, slots=True)
class Pattern(FieldType):
    """A regular expression that matches whole topic names."""

    def _read(self, node: Node, key: str, notes: ErrorNotes) -> Any:
        if not isinstance(node, Scalar) or node.empty or len(node.text) > LONGEST:
            notes.refuse(node, key, f"a regular expression of at most {LONGEST} characters")
            return BAD
        try:
            re.compile(node.text)
        except (re.error, OverflowError) as error:
            notes.problem(node, key, f"found {node.text!r}, expected a regular expression: {error}")
            return BAD
        return node.text

    def _schema(self) -> Schema:
        return {"type": "string", "minLength": 1, "maxLength": LONGEST}


def racks(fields: Fields, notes: ErrorNotes) -> tuple[str, ...]:
    """Return the racks of a group's members: one for each."""
    given = tuple(fields.get("racks", ()))
    members = fields.get("members", 1)
    if given and len(given) != members:
        message = f"found {len(given)} racks for {members} members, expected one for each"
    elif given and "client.rack" in fields.get("config", {}):
        message = "found racks and client.rack in config, expected one of them"
    else:
        return given
    notes.problem(fields.at("racks"), fields.path("racks"), message)
    return given


def subscription(fields: Fields, profile: Profile, notes: ErrorNotes) -> tuple[tuple[str, ...], str]:
    """Return the topics of a group and its pattern: exactly one is set, and a pattern only with a coordinator."""
    topics = tuple(dict.fromkeys(fields.get("topics", ())))
    pattern = fields.get("pattern", "")
    message = ""
    if fields.given("topics") and fields.given("pattern"):
        message = "found topics and a pattern, expected one of them"
    elif not fields.given("topics") and not fields.given("pattern"):
        message = "found neither topics nor a pattern, expected one of them"
    elif fields.given("pattern") and not fields.get("coordinated", True):
        message = "found a pattern with 'coordinated: false', allowed only if a coordinator assigns partitions"
    elif fields.given("pattern") and not profile.group_membership:
        message = f"found a pattern with Kafka {profile.version}, allowed since 0.9"
    if message:
        key = "pattern" if fields.given("pattern") else "topics"
        notes.problem(fields.at(key), fields.path(key), message)
    return topics, pattern


# A producer's transactions: when its application commits, aborts, or abandons them.


MOST: Final = 1_000_000

TRANSACTIONS: Final = Record(
    {
        "records": FieldSpec(Integer(1, MOST), "Number of records after which a transaction ends; default: unlimited."),
        "every": FieldSpec(DURATION, "... or the time after its start; without either key 100ms."),
        "abort_every": FieldSpec(
            Integer(1, MOST), "One in this number of transactions is aborted; default: none.", old="abort"
        ),
        "hang": FieldSpec(
            Integer(1, MOST), "Number, from 1, of the last transaction, which is left open for good; default: none."
        ),
    }
)


def read_transactions(fields: Fields, notes: ErrorNotes) -> TransactionPlan | None:
    """Return the transaction plan; None without any."""
    plan: Any = fields.get("transactions")
    if not isinstance(plan, Fields):
        return None
    if "transactional.id" not in fields.get("config", {}) and not fields.bad("config"):
        message = "found transactions without an id, allowed only with transactional.id in the producer's config"
        notes.problem(fields.at("transactions"), fields.path("transactions"), message)
    every = plan.get("every", 0)
    if plan.given("every") and not plan.bad("every") and not every:
        notes.refuse(plan.at("every"), plan.path("every"), "a time above 0")
    return TransactionPlan(plan.get("records", 0), every, plan.get("abort_every", 0), plan.get("hang", 0))

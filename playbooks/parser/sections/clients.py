"""From the keys of a producer's load to what the model takes."""

from collections.abc import Callable
from typing import Any, Final

from cluster_model.spec.load_spec import (
    RECORD,
    ClosedLoop,
    HotKey,
    KeySkew,
    RateProfile,
    Sizes,
    SpreadSizes,
    Stretch,
    TwoSizes,
    UniformSizes,
    ZipfKeys,
    constant,
)
from playbooks.errors import listed
from playbooks.parser.document.context import Notes
from playbooks.parser.document.field_types import Fields
from playbooks.parser.document.yaml_source import found
from playbooks.units import UnitError, duration_text, interval_us, per_second, rate_units

TOO_FAST: Final = "more than one batch a microsecond; a lower rate, or larger batches, is allowed"
_SIZE_SHAPES: Final = (("from", "to"), ("small", "large", "share"), ("median", "p99"))
_SIZES_ALLOWED: Final = "allowed are from and to, or small, large and share, or median and p99"


def read_rate(fields: Fields, batch: int, notes: Notes) -> tuple[int, RateProfile | None]:
    """Interval of a producer's batches, and the profile where no whole interval says it all."""
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


def _check_rate_is_there(fields: Fields, notes: Notes) -> None:
    closed = isinstance(fields.get("loop"), Fields) or fields.bad("loop")
    if not fields.given("rate") and not closed:
        notes.problem(fields.node, fields.key, "found no key 'rate', which is needed: records a second, as in 200/s")


def _profile(fields: Fields, batch: int, notes: Notes) -> RateProfile | None:
    shapes = [name for name in _SHAPES if fields.given(name)]
    if len(shapes) != 1:
        message = f"found {listed(shapes, 'and') if shapes else 'none of them'}, allowed is one of {listed(_SHAPES)}"
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
    return None if stretches is None else _whole(fields, stretches, batch, every, notes)


def _whole(fields: Fields, stretches: list[Stretch], batch: int, every: int, notes: Notes) -> RateProfile | None:
    """The profile of stretches of which only the last is endless, with its period."""
    if max(rate for stretch in stretches for rate in stretch[1:]) > batch * RECORD:
        notes.problem(fields.node, fields.key, f"found {TOO_FAST}")
        return None
    if not any(rate for stretch in stretches for rate in stretch[1:]):
        notes.problem(fields.node, fields.key, "found 0/s all the time, allowed is a rate above 0 at some time")
        return None
    if not every:
        return RateProfile(tuple(stretches))
    length = sum(stretch.duration_us for stretch in stretches[:-1])
    if every < length:
        least = duration_text(length)
        message = f"found a period of {duration_text(every)} for what takes {least}, allowed is {least} or more"
        notes.problem(fields.at("every"), fields.path("every"), message)
        return None
    last = [stretches[-1]._replace(duration_us=every - length)] if every > length else []
    return RateProfile((*stretches[:-1], *last), repeats=True)


def _ramp(fields: Fields, notes: Notes) -> list[Stretch] | None:
    values = [fields.get(name) for name in ("from", "to", "over")]
    if None in values or not _lasting(fields, "over", notes):
        return None
    start, end, over = values
    return [Stretch(over, start, end), Stretch(-1, end, end)]


def _steps(steps: list[Fields], notes: Notes) -> list[Stretch] | None:
    """Each step for its time; the last one's rate stays, also after its time."""
    stretches: list[Stretch] = []
    for number, step in enumerate(steps, 1):
        rate, lasts = step.get("rate"), step.get("for")
        if rate is None or step.bad("for"):
            return None
        if lasts is not None:
            if not _lasting(step, "for", notes):
                return None
            stretches.append(Stretch(lasts, rate, rate))
        elif number < len(steps):
            message = "found no key 'for', which is needed in all steps but the last: how long"
            notes.problem(step.node, step.key, message)
            return None
        if number == len(steps):
            stretches.append(Stretch(-1, rate, rate))
    return stretches


def _burst(fields: Fields, notes: Notes) -> list[Stretch] | None:
    rate, lasts = fields.get("rate"), fields.get("for")
    if rate is None or lasts is None or fields.bad("after") or fields.bad("base") or not _lasting(fields, "for", notes):
        return None
    after, base = fields.get("after", 0), fields.get("base", 0)
    before = [Stretch(after, base, base)] if after else []
    return [*before, Stretch(lasts, rate, rate), Stretch(-1, base, base)]


def _lasting(fields: Fields, name: str, notes: Notes) -> bool:
    """Whether a time is above 0; otherwise a problem."""
    if fields.get(name):
        return True
    notes.refuse(fields.at(name), fields.path(name), "a time above 0")
    return False


_SHAPES: Final[dict[str, Callable[[Any, Notes], list[Stretch] | None]]] = {
    "ramp": _ramp,
    "step": _steps,
    "burst": _burst,
}


def read_loop(fields: Fields, batch: int, notes: Notes) -> ClosedLoop | None:
    """None for an open loop, which goes by the rate."""
    loop: Any = fields.get("loop")
    if not isinstance(loop, Fields):
        return None
    if fields.given("rate"):
        message = "found a rate in a closed loop, allowed only with 'loop: open': a closed one goes by its answers"
        notes.problem(fields.at("rate"), fields.path("rate"), message)
    if not loop.given("outstanding") and not loop.given("think"):
        notes.problem(loop.node, loop.key, "found neither outstanding nor think, allowed is one of them, or both")
    outstanding = loop.get("outstanding", batch)
    if outstanding < batch:
        message = f"found {outstanding}, allowed is at least one batch: {batch}"
        notes.problem(loop.at("outstanding"), loop.path("outstanding"), message)
    return ClosedLoop(outstanding, loop.get("think", 0))


def read_sizes(fields: Fields, notes: Notes) -> Sizes | None:
    """None where all records are alike."""
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
        message = f"found {values[1]}, allowed is {shape[0]} ({values[0]}) or more"
        notes.problem(sizes.at(shape[1]), sizes.path(shape[1]), message)
        return None
    kinds: dict[str, type[Any]] = {"from": UniformSizes, "small": TwoSizes, "median": SpreadSizes}
    made: Sizes = kinds[shape[0]](*values)
    return made


def read_keys(fields: Fields, notes: Notes) -> tuple[int, KeySkew | None]:
    """How many keys, and how some are had more often."""
    keys: Any = fields.get("keys", 0)
    if not isinstance(keys, Fields):
        return keys, None
    zipf, hot = keys.get("zipf"), keys.get("hot")
    if keys.given("zipf") and keys.given("hot"):
        notes.problem(keys.at("hot"), keys.path("hot"), "found hot beside zipf, allowed is one of them")
    skew = ZipfKeys(zipf) if zipf is not None else HotKey(hot) if hot is not None else None
    return keys.get("distinct", 0), skew

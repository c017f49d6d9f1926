"""What two sessions came to, as rows: ledger, expectations, availability, elections, clients, losses, partitions."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from cluster_model.spec.internal_topics import INTERNAL
from playbooks.diff.sides import Side
from playbooks.diff.tally import Tally
from playbooks.results.outages import of_events
from playbooks.session_format import session_files
from playbooks.session_format.session_errors import SessionError

Rows = dict[str, tuple[Any, str]]
"""What → its value, plain as JSON has it, and its unit (``us`` or nothing)."""

LEDGER: Final = ("sent", "acked", "failed", "unknown", "aborted", "acked_lost", "committed_lost")
"""Terms that events alone give; duplicates and the like are only known once the books are closed."""


@dataclass(frozen=True, slots=True)
class Row:
    """One thing of both sessions; None where a side has no such thing."""

    what: str
    left: Any
    right: Any
    unit: str = ""

    @property
    def differs(self) -> bool:
        """Whether the two are not the same."""
        return bool(self.left != self.right)

    @property
    def both(self) -> bool:
        """Whether both sides have it."""
        return self.left is not None and self.right is not None


@dataclass(frozen=True, slots=True)
class Section:
    """Rows about one subject."""

    name: str
    rows: tuple[Row, ...]

    @property
    def differing(self) -> tuple[Row, ...]:
        """Those that are not the same."""
        return tuple(row for row in self.rows if row.differs)


def identity(left: Side, right: Side) -> Section:
    """What the sessions are."""
    return _section("session", *(_about(side) for side in (left, right)))


def outcome(left: Side, right: Side, tallies: tuple[Tally, Tally]) -> list[Section]:
    """What came of them: from both results, or from the events where one is torn.

    Raises:
        SessionError: a result is not one.
    """
    try:
        return _outcome(left, right, tallies)
    except (AttributeError, KeyError, TypeError, ValueError):
        names = " or ".join(str(side.path / session_files.RESULT) for side in (left, right) if side.result is not None)
        raise SessionError(f"{names}: found something else, expected what floodmark run --json prints") from None


def _outcome(left: Side, right: Side, tallies: tuple[Tally, Tally]) -> list[Section]:
    results = left.result, right.result
    if results[0] is None or results[1] is None:
        return [_section(name, *map(rows, tallies)) for name, rows in _OF_EVENTS.items()]
    told = {name: _section(name, *map(rows, results)) for name, rows in _OF_RESULTS.items()}
    summed = {name: _section(name, *map(_OF_EVENTS[name], tallies)) for name in _FROM_EVENTS}
    if all("unavailable" in each for each in results if each is not None):
        summed["availability"] = _section("availability", *map(_unavailable, results))
    return [(told | summed)[name] for name in _ORDER]


def _section(name: str, left: Rows, right: Rows) -> Section:
    rows = []
    for what in dict.fromkeys([*left, *right]):
        (mine, unit), (its, other) = left.get(what, (None, "")), right.get(what, (None, ""))
        rows.append(Row(what, mine, its, unit or other))
    return Section(name, tuple(rows))


def _plain(values: Mapping[str, Any]) -> Rows:
    return {what: (value, "us" if what.endswith("_us") else "") for what, value in values.items()}


def _about(side: Side) -> Rows:
    start = side.start
    told: dict[str, Any] = {
        "playbook": start.playbook,
        "seed": start.seed,
        "profile": start.profile,
        "floodmark": start.tool_version,
        "live": start.live,
        **{f"--set {path}": value for path, value in start.settings.items()},
        "state": _state(side),
    }
    if side.manifest is not None:
        told |= {"digest": side.manifest.digest, "events": side.manifest.events}
        return _plain(told) | {"cluster time": (side.manifest.virtual_us, "us")}
    return _plain(told)


def _state(side: Side) -> str:
    return "sealed" if not side.torn else "torn" if side.manifest is None else "recovered"


def _verdict(result: Any) -> Rows:
    return _plain({"verdict": result.get("verdict"), **({"reason": result["reason"]} if "reason" in result else {})})


def _expectations(result: Any) -> Rows:
    return _judged((each["text"], each["ok"], each["detail"]) for each in result.get("expectations", []))


def _checked(tally: Tally) -> Rows:
    return _judged((text, ok, detail) for text, (ok, detail) in tally.checked.items())


def _judged(found: Iterable[tuple[str, bool, str]]) -> Rows:
    """An expectation and what became of it; that it held all the same, only later, is told too."""
    return _plain({text: f"{'ok' if ok else 'FAILED'}: {detail}".rstrip(": ") for text, ok, detail in found})


def turned(rows: Iterable[Row]) -> list[Row]:
    """The expectations among them that hold on one side and fail on the other; what one side never asked is neither."""
    return [row for row in rows if row.both and str(row.left).startswith("ok") != str(row.right).startswith("ok")]


def _ledger(result: Any) -> Rows:
    return _plain({term.replace("_", " "): count for term, count in result.get("ledger", {}).items()})


def _counted(tally: Tally) -> Rows:
    return _plain({term.replace("_", " "): tally.ledger[term] for term in LEDGER})


def _seen(tally: Tally) -> Rows:
    """What events alone tell of availability: clients' attempts, and partitions that nobody served."""
    return _lines(of_events(tally.availability, tally.end_us).to_json())


def _unavailable(result: Any) -> Rows:
    """What clients could not do, and for how long, as the result has it."""
    told = result["unavailable"]
    return {f"all clients{what}": value for what, value in _outage(told).items()} | _lines(told)


def _lines(told: Mapping[str, Any]) -> Rows:
    found: Rows = {}
    for client, its in told.get("clients", {}).items():
        found |= {f"{client} acks={its.get('acks')}{what}": value for what, value in _outage(its).items()}
        for partition, spans in its.get("partitions", {}).items():
            found |= {f"{client} {partition}{what}": value for what, value in _outage(spans).items()}
    for partition, spans in told.get("partitions", {}).items():
        found |= {f"{partition}{what}": value for what, value in _outage(spans).items()}
    return found


def _outage(sums: Mapping[str, Any]) -> Rows:
    return {"": (sums.get("us", 0), "us"), " longest": (sums.get("longest_us", 0), "us")}


def _elections(tally: Tally) -> Rows:
    """By partition; those of Kafka's own topics, which are many, by topic."""
    counts: Counter[str] = Counter()
    for name, each in sorted(tally.partitions.items()):
        told = name.rpartition("-")[0] if _internal(name) else name
        counts[f"{told} elections"] += each.elections
        counts[f"{told} unclean elections"] += each.unclean
    return _plain({what: count for what, count in counts.items() if count or not what.endswith("unclean elections")})


def _clients(result: Any) -> Rows:
    clients = result.get("clients", {})
    found: Rows = {}
    for kind in ("producers", "groups"):
        for name, books in clients.get(kind, {}).items():
            found |= _client(name, books)
            for member, its in books.get("members", {}).items():
                found |= _client(member, its)
    return found


def _client(name: str, books: Mapping[str, Any]) -> Rows:
    told: Rows = {}
    for key, value in books.items():
        unit = "us" if key.endswith("_us") else ""
        what = f"{name} {key.removesuffix('_us').replace('_', ' ')}"
        if not isinstance(value, dict):
            told[what] = (value, unit)
        elif key != "members":
            told |= {f"{what} {error}": (count, "") for error, count in value.items()}
    return told


def _losses(tally: Tally) -> Rows:
    return _plain(dict(tally.losses))


def _partitions(result: Any) -> Rows:
    found: Rows = {}
    for name, each in result.get("partitions", {}).items():
        told = {key: each.get(key) for key in ("leader", "epoch", "isr", "hw", "log_start")}
        found |= {f"{name} {key.replace('_', ' ')}": (value, "") for key, value in told.items()}
        found |= {f"{name} LEO of {broker}": (its.get("leo"), "") for broker, its in each.get("replicas", {}).items()}
    return found


def _decided(tally: Tally) -> Rows:
    found: Rows = {}
    for name, each in sorted(tally.partitions.items()):
        if not _internal(name):
            told = {"leader": each.leader, "epoch": each.epoch, "isr": list(each.isr), "hw": each.hw}
            found |= {f"{name} {key}": (value, "") for key, value in told.items()}
    return found


def _internal(partition: str) -> bool:
    return partition.rpartition("-")[0] in INTERNAL


_OF_RESULTS: Final[dict[str, Callable[[Any], Rows]]] = {
    "verdict": _verdict,
    "expectations": _expectations,
    "ledger": _ledger,
    "clients": _clients,
    "final partitions": _partitions,
}
_OF_EVENTS: Final[dict[str, Callable[[Tally], Rows]]] = {
    "expectations": _checked,
    "ledger": _counted,
    "availability": _seen,
    "elections": _elections,
    "losses by cause": _losses,
    "partitions": _decided,
}
"""What a torn session tells."""
_FROM_EVENTS: Final = ("availability", "elections", "losses by cause")
"""What no result tells; of availability those of earlier versions."""
_ORDER: Final = (
    *("verdict", "expectations", "ledger", "availability", "elections"),
    *("clients", "losses by cause", "final partitions"),
)

"""The fleet's tables once more, in plain Python, over rows as the transforms take them."""

from collections import defaultdict
from collections.abc import Iterable
from itertools import combinations
from math import ceil, sqrt
from statistics import median_low
from typing import Any

Row = dict[str, Any]
Z = 1.959963984540054
NAMED = ("run", "seed", "again", "session")


def wilson(hits: int, runs: int) -> tuple[float, float]:
    share, square = hits / runs, Z * Z
    centre = (share + square / (2 * runs)) / (1 + square / runs)
    half = Z / (1 + square / runs) * sqrt(share * (1 - share) / runs + square / (4 * runs * runs))
    return (0.0 if hits == 0 else centre - half), (1.0 if hits == runs else centre + half)


def keys(row: Row) -> dict[str, Row]:
    found = {each["key"]: each for each in row["found"]}
    real = [each for each in row["found"] if not each["key"].startswith("error:")]
    odd = [each for each in real if not each["expected"]]
    return {**found, **({"any": real[0]} if real else {}), **({"surprising": odd[0]} if odd else {})}


def by_fleet(rows: Iterable[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: (row["fleet"], row["run"])):
        found[row["fleet"]].append(row)
    return found


def named(row: Row) -> Row:
    return {name: row[name] for name in NAMED}


def rated(hits: int, runs: int) -> Row:
    low, high = wilson(hits, runs)
    return {"runs": runs, "hits": hits, "probability": hits / runs, "low": low, "high": high}


def findings(rows: Iterable[Row]) -> list[Row]:
    told = []
    for fleet, own in by_fleet(rows).items():
        ended = [row for row in own if not row["error"]]
        for key in {key for row in own for key in keys(row)}:
            hits = [row for row in own if key in keys(row)]
            speaks = next((row for row in hits if not keys(row)[key]["expected"]), hits[0])
            among = own if key.startswith("error:") else ended
            rest = {name: keys(speaks)[key][name] for name in ("expected", "sentence")}
            told.append({"fleet": fleet, "key": key, **rest, **rated(len(hits), len(among)), **named(speaks)})
    return told


def times(rows: Iterable[Row]) -> list[Row]:
    told = []
    for fleet, own in by_fleet(rows).items():
        for measure in ("recovery_us", "longest_unavailable_us", "unavailable_us"):
            known = [row for row in own if row[measure] is not None]
            known.sort(key=lambda row: (row[measure] < 0, max(row[measure], 0), row["run"]))
            never = sum(row[measure] < 0 for row in known)
            for quantile, share in (("p50", 50), ("p90", 90), ("p99", 99), ("max", 100)):
                if known:
                    one = known[ceil(len(known) * share / 100) - 1]
                    value = one[measure] if one[measure] >= 0 else None
                    sums = {"runs": len(known), "never": never, "value_us": value}
                    told.append({"fleet": fleet, "measure": measure, "quantile": quantile, **sums, **named(one)})
    return told


def pairs(rows: Iterable[Row], most: int) -> list[Row]:
    told = []
    for fleet, everything in by_fleet(rows).items():
        own = [row for row in everything if not row["error"]]
        by_key: dict[str, list[Row]] = defaultdict(list)
        for one, other in combinations(sorted({name for row in own for name in row["faults"]}), 2):
            both = [row for row in own if {one, other} <= set(row["faults"])]
            for key in {key for row in both for key in keys(row)}:
                hits = [row for row in both if key in keys(row)]
                overall = sum(key in keys(row) for row in own) / len(own)
                lift = len(hits) / len(both) / overall
                pair = {"fleet": fleet, "key": key, "one": one, "other": other, "lift": lift}
                by_key[key].append({**pair, **rated(len(hits), len(both)), **named(hits[0])})
        for each in by_key.values():
            each.sort(key=lambda row: (-row["low"], -row["runs"], row["one"], row["other"]))
            told += each[:most]
    return told


def settings(rows: Iterable[Row]) -> list[Row]:
    told = []
    for fleet, own in by_fleet(rows).items():
        groups: dict[str, list[Row]] = defaultdict(list)
        for row in own:
            if not row["error"]:
                groups[row["settings"]].append(row)
        made = [{"fleet": fleet, **_summed(name, each)} for name, each in groups.items()]
        made.sort(key=_rank)
        told += [{**row, "rank": place} for place, row in enumerate(made, 1)]
    return told


def _rank(row: Row) -> tuple[Any, ...]:
    shares = [row[name] / row["runs"] for name in ("surprising_hits", "hits", "lossy_runs")]
    outage = row["outage_p50_us"]
    return (*shares, outage is None, outage or 0, row["settings"])


def _summed(name: str, own: list[Row]) -> Row:
    outages = [row["longest_unavailable_us"] for row in own if row["longest_unavailable_us"] is not None]
    worst = max(
        own,
        key=lambda row: (
            "surprising" in keys(row), "any" in keys(row), row["acked_lost"] or 0, row["longest_unavailable_us"] or 0,
            -row["run"],
        ),
    )  # fmt: skip
    return {
        "settings": name,
        **rated(sum("any" in keys(row) for row in own), len(own)),
        "surprising_hits": sum("surprising" in keys(row) for row in own),
        "lossy_runs": sum((row["acked_lost"] or 0) > 0 for row in own),
        "acked_lost": sum(row["acked_lost"] or 0 for row in own),
        "outage_p50_us": median_low(outages) if outages else None,
        **named(worst),
    }


def changes(rows: list[Row], baseline: str) -> list[Row]:
    found = {(row["fleet"], row["key"]): row for row in findings(rows)}
    ended = {fleet: sum(not row["error"] for row in own) for fleet, own in by_fleet(rows).items()}
    told = []
    for fleet, own_runs in ended.items():
        for key in {key for _fleet, key in found} if fleet != baseline else ():
            now, then = found.get((fleet, key)), found.get((baseline, key))
            hits, runs = (now["hits"], now["runs"]) if now else (0, own_runs)
            before_hits, before_runs = (then["hits"], then["runs"]) if then else (0, ended[baseline])
            if not runs or not before_runs:
                continue
            one, other = hits / runs, before_hits / before_runs
            (low, high), (least, most) = wilson(hits, runs), wilson(before_hits, before_runs)
            down, up = sqrt((one - low) ** 2 + (most - other) ** 2), sqrt((high - one) ** 2 + (other - least) ** 2)
            change = "worse" if one - other - down > 0 else "better" if one - other + up < 0 else "same"
            shown = now or then
            told.append(
                {
                    "fleet": fleet,
                    "key": key,
                    "change": change,
                    "before_runs": before_runs,
                    "before_hits": before_hits,
                    "before": other,
                    "runs": runs,
                    "hits": hits,
                    "probability": one,
                    "difference": one - other,
                    "low": one - other - down,
                    "high": one - other + up,
                    **({name: shown[name] for name in NAMED} if shown else dict.fromkeys(NAMED)),
                }
            )
    return told

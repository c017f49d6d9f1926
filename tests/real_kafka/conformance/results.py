"""Evidence of real runs compared with the model, recordings of their facts, and the page of results."""

import json
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Final

from playbooks.model import Playbook
from playbooks.text import table_text
from tests.real_kafka import history
from tests.real_kafka.conformance.comparison import EQUAL, POSSIBLE, Bounds, Difference, bounds_of, compare
from tests.real_kafka.conformance.evidence_facts import observe_evidence
from tests.real_kafka.conformance.known_differences import FIXED, KNOWN, known
from tests.real_kafka.conformance.model_facts import observe_model
from tests.real_kafka.conformance.observed import Observed, observed_from_json
from tests.real_kafka.conformance.scenario_table import SCENARIOS, ConformanceScenario
from tests.real_kafka.run import RunOptions, load

RECORDED: Final = Path(__file__).parents[1] / "recorded"
_NICE: Final = 10
"""Niceness of the model beside real brokers."""
SEEDS: Final = 8
"""Runs of the model that a real run is compared with."""
MOST_SEEDS: Final = 32
"""Runs of the model before an outcome counts as one that it does not have."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A real run and what contradicts the model in it."""

    scenario: str
    release: str
    differences: tuple[Difference, ...]

    @property
    def unknown(self) -> list[Difference]:
        """Differences that no entry of the table of known ones explains."""
        return [each for each in self.differences if known(self.scenario, self.release, each.field) is None]


def playbook_of(path: Path, release: str) -> Playbook:
    """Return a playbook as it runs on real brokers of a release."""
    return load(RunOptions(str(path), release, Path("unused")))


def compare_evidence(directory: Path, seeds: int = SEEDS) -> tuple[Observed, Comparison]:
    """Compare the evidence of a real run with the model.

    Raises:
        ValueError: the run did not complete, or a file is invalid.
        OSError: a file is missing.
    """
    summary = json.loads((directory / history.RUN).read_text(encoding="utf-8"))
    if summary["outcome"] != "completed":
        raise ValueError(f"{directory}: found the outcome {summary['outcome']!r}, only completed runs are compared")
    release = str(summary["release"])
    settings = {str(name): str(value) for name, value in summary["settings"]}
    playbook = load(RunOptions(str(directory / history.PLAYBOOK), release, directory, settings))
    real = observe_evidence(directory)
    found = compare_with_model(real, playbook, seeds)
    return real, Comparison(playbook.name, release, tuple(found))


def compare_with_model(
    real: Observed, playbook: Playbook, seeds: int = SEEDS, most: int = MOST_SEEDS
) -> list[Difference]:
    """Compare a real run with the model's runs of the first seeds, and of twice as many until one has its outcome.

    Runs of several seeds are in processes of their own.
    """
    bounds: Bounds = bounds_of(playbook.spec.config)
    models: list[Observed] = []
    while True:
        models += _observed(playbook, range(len(models) + 1, seeds + 1))
        found = compare(real, models, bounds)
        if seeds >= most or not any(each.rule in (EQUAL, POSSIBLE) for each in found):
            return found
        seeds = min(2 * seeds, most)


def _observed(playbook: Playbook, seeds: Sequence[int]) -> list[Observed]:
    if len(seeds) == 1:
        return [observe_model(playbook, seeds[0])]
    context = get_context("spawn")  # other threads may be at work
    with ProcessPoolExecutor(2, context, initializer=os.nice, initargs=(_NICE,)) as pool:
        return list(pool.map(observe_model, [playbook] * len(seeds), seeds))


# Recordings.


def recording(scenario: str, release: str) -> Path:
    """Return the file that has the facts of a scenario's real run."""
    return RECORDED / f"{scenario}@{release}.json"


def recorded() -> list[tuple[str, str]]:
    """Return scenario and release of every recording, in the order of the table."""
    order = [scenario.name for scenario in SCENARIOS]
    found = [path.stem.split("@", 1) for path in RECORDED.glob("*.json")]
    return sorted(((name, release) for name, release in found), key=lambda each: (order.index(each[0]), each[1]))


def read_recording(scenario: str, release: str) -> Observed:
    """Return the facts of a recorded real run."""
    return observed_from_json(recording(scenario, release).read_text(encoding="utf-8"))


def write_recording(real: Observed, release: str) -> Path:
    """Write the facts of a real run."""
    RECORDED.mkdir(exist_ok=True)
    path = recording(real.scenario, release)
    path.write_text(real.to_json(), encoding="utf-8")
    return path


def report_comparison(found: Comparison, report: Callable[[str], None]) -> None:
    """Print a comparison, one difference a line."""
    report(f"{found.scenario} on Kafka {found.release}: {len(found.differences)} differences")
    for difference in found.differences:
        entry = known(found.scenario, found.release, difference.field)
        report(f"  {difference.text()}" + (f"; known: {entry.reason}" if entry else ""))


# The page of results.

_INTRODUCTION: Final = f"""\
# Conformance with real Kafka

The playbooks on this page ran on real brokers and on the model, and the outcomes were compared. `make conformance` does
it again: it needs Linux, root, Maven and Java 17, and takes up to 40 minutes. This page is generated from the recorded
outcomes (`python -m docs.generate conformance`).

- **Decisions of the protocol**: leaders, leader epochs, in-sync and eligible leader replicas of every partition, clean
  or unclean elections, fenced brokers, lost and duplicated records, errors of clients, rebalances, partitions of
  members, committed offsets, and records read twice or skipped. A real run must have an outcome that the model has with
  one of {SEEDS} seeds, or of {MOST_SEEDS} if those have another one. If all seeds agree, it must have theirs.
- **Durations** must be within the bounds that settings give. A broker is fenced between `broker.session.timeout.ms` and
  1.5 times that after its last heartbeat, or 4 times if controllers were down as well. A replica leaves the ISR between
  `replica.lag.time.max.ms` and 1.5 times that after its last fetch. 4 s are added, since all servers shared two cores.
- **Not compared**: throughput, latency, numbers of records in flight, the order in which replicas that return together
  rejoin the ISR, and the internal topics.

No scenario has a power loss or a slow disk: a process that is killed keeps its page cache, and disks cannot be slowed
down here. The real clusters had heaps of 384 MB and small thread pools, and one controller unless a scenario is about
the quorum. `make test` compares the recorded outcomes with the model, without Java.
"""


_NOT_RECORDED: Final = "no completed run on real brokers is recorded"
_NO_DIFFERENCES: Final = "None: every recorded run has an outcome that the model has as well."


def page_text() -> str:
    """Return the page of results, as the recordings and the tables of differences have them."""
    runs = recorded()
    lines = [_INTRODUCTION, f"{_counts(runs)}\n"]
    for area in dict.fromkeys(scenario.area for scenario in SCENARIOS):
        lines.append(f"## {area}\n")
        rows = [row for scenario in SCENARIOS if scenario.area == area for row in _rows(scenario, runs)]
        lines.append(table_text(["Scenario", "Kafka", "Verdict"], rows) + "\n")
    lines.append("## Model errors found\n")
    lines.append(table_text(["Error", "Kafka", "Test"], [[each.error, each.kafka, each.test] for each in FIXED]))
    lines.append("\n## Known differences\n")
    differing = [[each.scenario, ", ".join(each.releases), each.field, each.reason] for each in KNOWN]
    lines.append(table_text(["Scenario", "Kafka", "Fact", "Reason"], differing) if differing else _NO_DIFFERENCES)
    return "\n".join(lines).rstrip("\n") + "\n"


def _counts(runs: Sequence[tuple[str, str]]) -> str:
    names = {name for name, _release in runs}
    releases = ", ".join(sorted({release for _name, release in runs}))
    return f"{len(runs)} real runs of {len(names)} scenarios, on Kafka {releases}. {len(SCENARIOS)} scenarios exist."


def _rows(scenario: ConformanceScenario, runs: Sequence[tuple[str, str]]) -> list[list[str]]:
    title = playbook_of(scenario.path, scenario.releases[0]).title
    first = f"`{scenario.name}`: {title}"
    releases = [release for name, release in runs if name == scenario.name]
    differing = [f"{each.field} ({', '.join(each.releases)})" for each in KNOWN if each.scenario == scenario.name]
    verdict = "agrees, except " + "; ".join(differing) if differing else "agrees"
    return [[first, ", ".join(releases), verdict] if releases else [first, "-", _NOT_RECORDED]]


def equal_runs(area: str) -> list[tuple[str, list[str]]]:
    """Return the scenarios of an area of the fidelity card, each with the releases on which all facts were equal."""
    found = []
    for scenario in SCENARIOS:
        differing = {release for each in KNOWN if each.scenario == scenario.name for release in each.releases}
        releases = [release for name, release in recorded() if name == scenario.name and release not in differing]
        if area in scenario.rules and releases:
            found.append((scenario.name, releases))
    return found

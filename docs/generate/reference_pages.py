"""Reference pages that are generated from registries and tables of the product.

Anomalies, causes, the fidelity card, known issues, invariants, liveness properties, APIs of the gateway.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from kio.index import load_request_schema

from cluster_model.checker.anomalies.definitions import KINDS as ANOMALY_KINDS
from cluster_model.checker.anomalies.definitions import Anomaly
from cluster_model.checker.invariants.base import InvariantDefinition
from cluster_model.checker.invariants.invariant_checker import DEFINITIONS
from cluster_model.checker.liveness.liveness_checker import (
    LOAD_CHECK_INTERVAL_US,
    MAX_CHECK_INTERVAL_US,
    MIN_CHECK_INTERVAL_US,
    PROPERTIES,
)
from cluster_model.checker.liveness.partition_state import LivenessProperty
from cluster_model.checker.root_cause.findings import CAUSES, Cause
from cluster_model.checker.root_cause.findings import KINDS as FINDING_KINDS
from cluster_model.fidelity import AREAS, Area
from cluster_model.known_issues import EFFECTS, KNOWN_ISSUES, UNMODELLED, KnownIssue
from cluster_model.protocol.releases import RELEASE_LINES
from cluster_model.protocol.versions import Profile, modes_of
from gateway.handlers.registry import HANDLERS
from gateway.protocol.api_versions import ADVERTISED_FROM_ZERO, KRAFT_ONLY, OLDEST, offered
from playbooks.reference_text import changes, fixes_text, guaranteed_versions_text, stricter_guarantees, versions
from playbooks.release_changes import affected_text, fixed_text
from playbooks.text import safe, table_text

# ruff: noqa: E501 - pages of prose and tables


# docs/reference/anomalies.md


_ANOMALIES_HEAD: Final = """\
# Anomalies that clients can see

An anomaly is something that a session's own clients could have noticed, from the responses to producers and the records that consumers read. The names are those of
[Jepsen's checker for Kafka](https://github.com/jepsen-io/jepsen/blob/main/jepsen/src/jepsen/tests/kafka.clj). Many are legal under some settings.

- `floodmark run` prints each illegal anomaly on a line, and sums up the legal ones. The [result](run-result.md) has all of them under `anomalies`.
- In a [condition](conditions.md), `anomalies()` counts illegal anomalies, and `anomalies("lost-write")` all of that name.
- A playbook with [manual stepping](../run/manual-stepping.md) has no clients and so no anomalies.
- [Causes](causes.md) explain what led to an anomaly.

| anomaly | observation of the clients | legal when |
|---|---|---|
"""

_ANOMALIES_TAIL: Final = """
## How they are counted

- A *value* is one record, by its client and number; a *key* is one partition. `duplicate`, `lost-write`, `unseen`, `G1a`, `precommitted-read`, `phantom`,
  `realtime-order` and `consume-dup` count values, `inconsistent-offsets` offsets, `G0` and `G1c` cycles of transactions, the others operations.
- A *process* is one incarnation of a client: after a restart it is another one. A record outside a transaction is an operation by itself. A record counts as read
  when the application has it, even if its transaction fails.
- The *log* of a partition is what clients saw at each offset, in a poll or an acknowledgement. For `lost-write` the bound is the highest offset at
  which a read value is first; a value is lost if its last offset is at or below the bound, it is committed, and it was never read. An acknowledged
  record above the bound is `unseen`.
- At the end a new consumer reads every partition from its log start to its high watermark, without aborted records. Records below the log start
  were deleted on purpose, and are not missed.
- The order of two values is that of their offsets. A value at two offsets counts as a `duplicate` only.
- Not counted: aborted records that a `read_committed` consumer skips; a single send as `G0` or `G1c`; an application that goes back because a
  handler or a transaction failed.
- `lost-write`, `unseen`, `G0`, `G1c`, `realtime-lag` and some skips depend on later reads, and are counted at the end of the session.
"""


def anomaly_page() -> str:
    """Return the page of anomalies, in Markdown."""
    jepsen = [kind for kind in ANOMALY_KINDS.values() if not kind.own]
    own = [kind for kind in ANOMALY_KINDS.values() if kind.own]
    more = "\nThree more are floodmark's own:\n\n| anomaly | observation of the clients | legal when |\n|---|---|---|\n"
    return (
        _ANOMALIES_HEAD + "".join(map(_anomaly_row, jepsen)) + more + "".join(map(_anomaly_row, own)) + _ANOMALIES_TAIL
    )


def _anomaly_row(kind: Anomaly) -> str:
    return f"| `{kind.name}` | {kind.rule} | {kind.legal} |\n"


# docs/reference/causes.md


_CAUSES_HEAD: Final = """# Causes

A *finding* says what went wrong with records: records of one kind and one cause, with the same event chain. A thousand records with one cause are
one finding, over any number of partitions. It has a sentence (what was acknowledged by which broker, what happened, which broker was elected without the
records, where they were truncated), the offsets, and the event chain. `floodmark run` prints findings, the [result](run-result.md) has them under
`findings`, and a playbook may assert them: `findings() == 0`, `findings(unclean-election) == 1`.

If the recorded events do not prove a cause, the cause is `unexplained`. [`floodmark why`](../operate/why.md) finds the point of no return and the settings that
would have prevented a loss. [Anomalies](anomalies.md) are what clients could have noticed.

This page is generated from the list of causes (`python -m docs.generate causes`).
"""

_FINDING_KINDS: Final = {
    "lost": "Acknowledged, but in no log any more, or missing at the end of the session.",
    "missing": "Acknowledged and not in the leader's log, but in another replica's; only before the end.",
    "duplicate": "At two offsets of the leader's log.",
    "reordered": "After later records of its producer in the leader's log.",
    "skipped": "Skipped by a group that received records before and after.",
    "abandoned": "Delivered to an application that ended without processing it, and to no other since.",
    "acked-aborted": "Acknowledged, but aborted in the log with another transaction.",
    "aborted-committed": "Reported as aborted to its producer, but committed in the log.",
}

_SETTING: Final = re.compile(r"[a-z.]+=")
"""A meaning that begins with a configuration of Kafka is not capitalised."""


def cause_page() -> str:
    """Return the page of causes of findings, in Markdown."""
    kinds = ["| kind | meaning |", "|---|---|", *(f"| `{kind}` | {_FINDING_KINDS[kind]} |" for kind in FINDING_KINDS)]
    causes = ["| cause | kinds | meaning | see |", "|---|---|---|---|", *(_cause_row(cause) for cause in CAUSES)]
    return "\n".join([_CAUSES_HEAD, "## Kinds", "", *kinds, "", "## Causes", "", *causes, ""])


def _sources(cause: Cause) -> str:
    """Return the KIPs and Kafka issues of a cause; known issues are links and have the releases that fixed them."""
    known = {
        each.number: f"[{each.number}](known-issues.md#{each.playbook}) ({fixed_text(each)})" for each in KNOWN_ISSUES
    }
    return ", ".join(known.get(text, text) for text in cause.see.split(", "))


def _cause_row(cause: Cause) -> str:
    meaning = cause.meaning if _SETTING.match(cause.meaning) else cause.meaning[0].upper() + cause.meaning[1:]
    return f"| `{cause.code}` | {', '.join(cause.kinds)} | {safe(meaning)}. | {_sources(cause) or '-'} |"


# docs/reference/fidelity.md


_FIDELITY_HEAD: Final = """# Fidelity card

Coverage of the model, by area: its Kafka versions, its sources, its tests, and what is not modelled. `floodmark profiles --card` prints it, and
`floodmark profiles --card 2.8` what applies to one release. This page is generated from the card (`python -m docs.generate fidelity`).

Most rules were read in Kafka's source, release by release, up to 4.4. The others come from the KIPs that are named here. The traces of these
KIPs are [playbooks](library-traces.md) that reproduce their tables, and three client libraries [run against the model](../test/real-clients.md). Its rules are
compared with recorded answers of Kafka's own classes, and runs of playbooks with runs on real brokers of %s: [the results](conformance.md). Each
area names the runs that decided as the model does, with the releases of the brokers. Where code and documents differ, the model follows the code. What has no single
answer, such as the time of a disk write, is [a choice of the model](model-choices.md#choices-where-kafka-has-no-single-answer).

"""


def fidelity_page() -> str:
    """Return the page of what is modelled, in Markdown."""
    index = "| area | Kafka | rules that changed |\n|---|---|---|\n" + "".join(
        f"| [{area.name}](#{_area_anchor(area)}) | {versions(area)} | {len(area.flags) or ''} |\n" for area in AREAS
    )
    from tests.real_kafka.conformance.results import equal_runs, recorded  # noqa: PLC0415 - only this page needs them

    releases = sorted({release for _scenario, release in recorded()})
    head = _FIDELITY_HEAD % ", ".join(releases)
    return head + index + "".join(_area_section(area, equal_runs(area.name)) for area in AREAS)


def _area_section(area: Area, real_runs: Iterable[tuple[str, Iterable[str]]]) -> str:
    lines = ["", f"## {area.name}", "", area.what, "", f"- **Kafka** {versions(area)}", f"- **sources** {area.sources}"]
    lines.append(f"- **tests** {', '.join(f'`{each}`' for each in area.test_ids)}")
    runs = ", ".join(f"`{name}` ({', '.join(releases)})" for name, releases in real_runs)
    lines.append(f"- **runs on real brokers** {runs or 'none'}")
    if area.left_out:
        lines += ["- **not modelled**", *(f"    - {each}" for each in area.left_out)]
    if area.flags:
        lines += ["", "| rule | Kafka | meaning |", "|---|---|---|"]
        lines += [f"| `{name}` | {kafka} | {says} |" for name, kafka, says in changes(area)]
    return "\n".join(lines) + "\n"


def _area_anchor(area: Area) -> str:
    return area.name.lower().replace(" ", "-")


# docs/reference/invariants.md


_INVARIANTS_HEAD: Final = """# Invariants

The safety properties of Kafka's [replication protocol](https://kafka.apache.org/41/design/design/#replication) that floodmark checks, each at the first event that can violate it. This page is generated from the checker's
registry (`python -m docs.generate invariants > docs/reference/invariants.md`), as is `floodmark invariants`.

All of them are checked under every version. If a version never guaranteed one, a violation is *known*, and names the KIP and the version that fixed it. In a
[playbook](../run/playbooks.md#expectations), `violations(NAME)` counts all violations and `unexpected_violations(NAME)` only those that are not known;
without a name they count all invariants. A violation alone does not fail a run.

- A violation has the time, partition, broker, offsets, leader epoch, and one sentence. It is reported once per partition, broker and leader epoch; for stable reads
  also once per reader.
- An *unclean shutdown* loses records that were not on disk: by a power loss, a lost disk or a damaged batch. A killed process loses nothing, since the operating
  system keeps its pages.
- A loss is *allowed*, per partition and for leader epochs up to then, by an unclean election, by the last in-sync replica losing unflushed records or, with
  eligible leader replicas, by as many replicas as `min.insync.replicas` losing them.
- With [manual stepping](../run/manual-stepping.md), a loss that only a replica without its log explains is no violation under a version whose controller would
  have prevented it.
"""


def invariant_page() -> str:
    """Return the page of invariants, in Markdown."""
    rows = [
        (f"[{each.name}](#{each.name})", each.title, guaranteed_versions_text(each)) for each in DEFINITIONS.values()
    ]
    parts = [_INVARIANTS_HEAD, table_text(("name", "property", "guaranteed by"), rows, str)]
    parts += [invariant_section(each) for each in DEFINITIONS.values()]
    return "\n".join(parts)


def invariant_section(definition: InvariantDefinition) -> str:
    """Return the section of one invariant."""
    rows = [
        ("Guaranteed by", guaranteed_versions_text(definition)),
        *((where[0].upper() + where[1:], text) for where, text in stricter_guarantees(definition)),
        ("Fixed by", ", ".join(fixes_text(definition))),
        ("Exceptions", definition.exceptions),
        ("Source", definition.source),
    ]
    lines = [f"## {definition.name}", "", safe(definition.statement), ""]
    lines += [f"- {head}: {safe(text)}" for head, text in rows if text]
    return "\n".join([*lines, ""])


# docs/reference/liveness.md


_LIVENESS_HEAD: Final = """# Liveness properties

An [invariant](invariants.md) is violated by one event. A liveness property is violated by time: something that must happen has not happened before its
deadline. This page is generated from the properties (`python -m docs.generate liveness`).

A check opens when something is not in the state that it must reach, and closes when it is. Its clock starts when nothing disturbs the nodes concerned:
their faults are healed, their processes run, the links between them work. A broker that stays down, or a fault elsewhere, stops no clock. A missed
deadline is an event (`liveness_violated`), a line of `floodmark run`, an entry of `liveness_violations` in the [result](run-result.md), and counts in the conditions
`liveness_violations()`, `liveness_violations(NAME)` and `unexpected_liveness_violations()`, which excludes known violations of the version:

```
liveness leader-elected: orders-0: leader 1 is gone; broker 2 is alive and can be elected, for 12050ms, limit 10048ms
```

- **Deadlines** are computed from the configuration in force and the version (`cluster_model/checker/liveness/deadlines.py`). Waits that can follow each other
  are added. If no node was notified of a dead connection (after a link fault, a pause or a power loss), the longest timeout is added; `leader-elected` counts
  from a power loss at once.
- **Pending checks** at the end, before their deadline, are neither kept nor violated. `pending_liveness` in the result, and one line of `floodmark run`, list them
  with the time that was missing (`remaining_us`, -1 if no time is enough). So `liveness_violations() == 0` proves nothing about them; a longer `settle:` does. A high
  watermark that has been behind for less than {seldom} ms is not listed.
- **Checks run** with the events of the model: at most every {often} ms after a rare event, every {seldom} ms otherwise, every {quiet} ms while
  nothing is disturbed, and at the end. They schedule nothing, so the result does not depend on how a session is advanced.

## The properties

"""

_STUCK: Final = """
## Blocked by design

Kafka also blocks on purpose. The result lists such a state under `stuck`, and `floodmark run` at its end, with the reason and the remedy:

| state | effect | remedy |
|---|---|---|
| no member of the ISR (or ELR) is up, and unclean election is off | no leader (-1), indefinitely | one of them restarts, or an unclean election by hand |
| fewer replicas up than `min.insync.replicas` | `acks=all` fails with NOT_ENOUGH_REPLICAS | replicas restart, or a lower minimum |
| up to 3.6, `min.insync.replicas` above the number of replicas | the same, always | a lower minimum, or more replicas |
| no majority of controllers, or of the ensemble | no elections and no ISR changes; leaders continue | a majority |
| the same with a dead member in the ISR | `acks=all` waits indefinitely | a majority, or that member restarts |
| a fenced fetcher | its partition is not fetched | metadata with a newer leader epoch |
| a damaged batch at the leader | its follower requests it again and again | another leader |
| ZooKeeper mode from 2.7 on: a proposed ISR took effect but the response was lost | the leader proposes no further ISR | a newer leader epoch |
"""


def liveness_page() -> str:
    """Return the page of liveness properties, in Markdown."""
    rows = [(f"[{each.name}](#{each.name})", each.guarantee) for each in PROPERTIES]
    head = _LIVENESS_HEAD.format(
        often=MIN_CHECK_INTERVAL_US // 1_000,
        seldom=LOAD_CHECK_INTERVAL_US // 1_000,
        quiet=MAX_CHECK_INTERVAL_US // 1_000,
    )
    return head + "\n".join([table_text(("property", "guarantee"), rows), *map(_liveness_section, PROPERTIES)]) + _STUCK


def _liveness_section(each: LivenessProperty) -> str:
    """Return the deadline of a property, what stops its clock, and the versions that violate it."""
    return (
        f"### {each.name}\n\n"
        f"- **Due within:** {safe(each.bound)}\n"
        f"- **Clock stops for:** {safe(each.disturbed_by)}\n"
        f"- **Known violations:** {safe(each.known)}\n"
    )


# docs/reference/gateway-apis.md


_APIS_HEAD: Final = """# APIs of the gateway

The APIs that a broker of [`floodmark serve`](../test/real-clients.md) answers, and their versions, as ApiVersions
reports them. This page is generated from the gateway's own tables
(`python -m docs.generate gateway-apis > docs/reference/gateway-apis.md`).

The newest version is that of the release: `5 (1.0), 6 (2.0)` is 5 from 1.0 on and 6 from 2.0 on. The oldest is that of
Kafka 4.0, or older if the codec has it. An API with "(KRaft)" is not offered in ZooKeeper mode. An API without a row is
not offered: see [what is not modelled](../test/real-clients.md#what-is-not-modelled).

| API | key | oldest | newest |
|---|---|---|---|
"""


def api_page() -> str:
    """Return the page of the gateway's APIs, in Markdown.

    Each API has a row with the releases at which its newest version changed.
    """
    numbers = {version: Profile.of(version).number for version in RELEASE_LINES}
    ranges = {
        version: offered(number, kraft="kraft" in modes_of(version))
        for version, number in numbers.items()
        if number >= OLDEST
    }
    return _APIS_HEAD + "".join(_api_row(api, ranges) for api in sorted(HANDLERS))


def _api_row(api: int, ranges: Mapping[str, Mapping[int, tuple[int, int]]]) -> str:
    found = {version: each[api] for version, each in ranges.items() if api in each}
    changes: dict[int, str] = {}
    for version, (_low, high) in found.items():
        changes.setdefault(high, version)
    lowest = min(low for low, _high in found.values())
    name = load_request_schema(api, lowest).__name__.removesuffix("Request")
    newest = ", ".join(f"{high} ({version})" for high, version in changes.items())
    if api in KRAFT_ONLY:
        name += " (KRaft)"
    return f"| {name} | {api} | {0 if api in ADVERTISED_FROM_ZERO else lowest} | {newest} |\n"


# docs/reference/known-issues.md


_ISSUES_HEAD: Final = """\
# Known issues

Public bugs of released Kafkas that the model reproduces, each in the releases that have it. `floodmark issues` prints this
list, `floodmark issues 3.6.0` the issues of one release, `floodmark profiles --diff 3.6.0 3.9.2` what an upgrade fixes.
Each issue has a bundled playbook of its own that shows it in an affected release, and not in a fixed one:

```console
$ floodmark run kafka-19522 --set cluster.kafka=4.0.2
```

An issue of rolling upgrades affects clusters some of whose brokers have an affected release. `--set to=4.2.1` chooses the
release that its playbook upgrades to.

Each is one rule of the model. `--set cluster.rules.RULE=false` runs an affected release without it; the tests check that
this alone makes the difference. This page is generated from the table of issues (`python -m docs.generate known-issues`).

"""


def known_issues_page() -> str:
    """Return the page of known issues, in Markdown."""
    effects = table_text(("effect", "meaning"), EFFECTS.items())
    rows = [
        (f"[{each.number}](#{each.playbook})", affected_text(each), fixed_text(each), each.effect, each.title)
        for each in KNOWN_ISSUES
    ]
    unmodelled = [(each.number, each.affected, each.fixed, each.title, each.reason) for each in UNMODELLED]
    return (
        _ISSUES_HEAD
        + effects
        + f"\n## All\n\n{table_text(('issue', 'affected', 'fixed in', 'effect', 'title'), rows)}"
        + "\n## Not modelled\n\nThe model cannot express these.\n\n"
        + table_text(("issue", "affected", "fixed in", "title", "reason"), unmodelled)
        + "".join(_issue_section(each) for each in KNOWN_ISSUES)
    )


def _issue_section(issue: KnownIssue) -> str:
    needs = f" It needs {safe(issue.needs)}." if issue.needs else ""
    where = "clients" if issue.is_of_clients else "brokers and controllers"
    where += ", in a rolling upgrade to an affected release," if issue.in_upgrades else ""
    where += {"kraft": " in KRaft mode", "zookeeper": " in ZooKeeper mode", None: ""}[issue.mode]
    return (
        f"\n## {issue.number}\n\n**{safe(issue.title)}.** Affected: {affected_text(issue)}; fixed in {fixed_text(issue)}; "
        f"of {where}.{needs} Rule `{issue.rule}`, playbook `{issue.playbook}`.\n"
        f"**Seen**: {safe(issue.seen)} **Workaround**: {safe(issue.workaround)}\n"
    )

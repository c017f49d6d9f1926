"""Reference pages, each made from a registry or a table of the product.

Anomalies, causes, faults, the fidelity card, invariants, keys of playbooks, the library, liveness properties.
"""

import re
from collections.abc import Mapping
from typing import Final

from kio.index import load_request_schema

from cluster_model.checker.anomalies.definitions import KINDS as ANOMALY_KINDS
from cluster_model.checker.anomalies.definitions import Anomaly
from cluster_model.checker.invariants.base import InvariantDefinition
from cluster_model.checker.invariants.invariant_checker import PROMISES
from cluster_model.checker.liveness.liveness_checker import OFTEN_US, PROPERTIES, QUIET_US, SELDOM_US
from cluster_model.checker.liveness.partition_state import LivenessProperty
from cluster_model.checker.root_cause.findings import CAUSES, Cause
from cluster_model.checker.root_cause.findings import KINDS as FINDING_KINDS
from cluster_model.fidelity import AREAS, Area
from cluster_model.protocol.versions import PROFILE_VERSIONS, Profile, modes_of
from faults.catalogue import CATALOGUE, called
from faults.declarations.fault import ACCEPTS, FAMILIES, Family, Fault, Param
from gateway.handlers.registry import HANDLERS
from gateway.protocol.api_versions import ADVERTISED_FROM_ZERO, KRAFT_ONLY, OLDEST, offered
from playbooks.library.bundled import names, path_of
from playbooks.library.index import TAGS, THEMES, heading, theme_of
from playbooks.model.playbook import Playbook
from playbooks.model.step_text import allowed_text, default_text, example_step
from playbooks.parser.document.field_types import FieldSpec, ranges_text
from playbooks.parser.key_reference import BY_HAND, MappingReference, taken, told
from playbooks.parser.loader import load
from playbooks.reference_text import changes, mends_words, promised_words, special_words, versions
from playbooks.text import safe, table_text
from playbooks.units import duration_text

# ruff: noqa: E501 - pages of prose and tables


# docs/anomalies.md


_ANOMALIES_HEAD: Final = """\
# Anomalies that clients can see

A session tells what its own clients could have noticed: from what producers were told of their records and from what
consumers were handed, and from nothing else that the model knows. The names are those of Jepsen's checker for Kafka.
`floodmark run` prints those that the clients' settings do not allow, one a line, and sums the others up in one; the
JSON document has all of them under `anomalies`. In a condition `anomalies()` counts what must not be, and
`anomalies("lost-write")` all of that name, legal or not. A playbook that is stepped by hand has no clients, and so
no anomalies. What brought them about is told as [causes](causes.md), from all that the model knows.

| anomaly | found where | legal when |
|---|---|---|
"""

_ANOMALIES_TAIL: Final = """
## How they are counted

- A value is one record by its client and number, a key is one partition. `duplicate`, `lost-write`, `unseen`, `G1a`,
  `precommitted-read`, `phantom`, `realtime-order` and `consume-dup` count values, `inconsistent-offsets` offsets,
  `G0` and `G1c` components of transactions that depend on each other, the others operations.
- A process is one life of a client: after a restart it is another. Every record sent outside of a transaction is an
  operation by itself. A hand-out counts as read as soon as the application has it, also if its transaction fails.
- The *log* of a partition is what was seen at each offset, by a poll or in an acknowledgement; holes in it skip
  nothing. `lost-write`: the bound is the highest offset at which a value that was read stands first; lost is what
  stands last at or below it, is committed, and was never read. An acknowledged record above the bound is `unseen`.
- At the end a fresh reader is handed every partition from its log start to its high watermark, without aborted data.
  What is below the log start then was deleted on purpose, and is missed by nobody.
- The order of two values is that of the offsets at which they were read, or acknowledged. A value that stands at two
  offsets is told as a `duplicate` alone, and not once more as a skip and a step back of every reader.
- A reader of committed data that steps over aborted records skips nothing.
- `G0` and `G1c` are about transactions: a send by itself is one value, so that it cannot be torn.
- Where an application goes back by itself, because a handler or a transaction failed, nothing is out of order.
- Until the session ends `lost-write`, `unseen`, `G0`, `G1c`, `realtime-lag` and skips over what nobody had seen by
  then are not counted: they depend on what is read later.
"""


def anomaly_page() -> str:
    """The page of anomalies, in Markdown."""
    jepsen = [kind for kind in ANOMALY_KINDS.values() if not kind.own]
    own = [kind for kind in ANOMALY_KINDS.values() if kind.own]
    more = "\nThree more are this model's own:\n\n| anomaly | found where | legal when |\n|---|---|---|\n"
    return (
        _ANOMALIES_HEAD + "".join(map(_anomaly_row, jepsen)) + more + "".join(map(_anomaly_row, own)) + _ANOMALIES_TAIL
    )


def _anomaly_row(kind: Anomaly) -> str:
    return f"| `{kind.name}` | {kind.rule} | {kind.legal} |\n"


# docs/causes.md


_CAUSES_HEAD: Final = """# Causes

What went wrong with records is told as *findings*. A finding is records of one kind and one cause, brought about by
the same events: a thousand records with one cause are one finding, over however many partitions. It has a sentence
(what was promised by whom, what happened, who took over without it, where it was dropped), its places (which records,
where), and the chain of events in order of time. `floodmark run` prints them, `--json` has them under `findings`, and a
playbook may ask for them: `findings() == 0`, `findings(unclean-election) == 1`.

Where the events that were kept do not bear a cause out, it is `unexplained`, and the sentence says what is known. When
it was too late, and what would have kept the records, [`floodmark why`](why.md) tells. What clients could have noticed
of it are [anomalies](anomalies.md).

This page is made from the list of causes (`python -m docs.generate causes`).
"""

_FINDING_KINDS: Final = {
    "lost": "Acknowledged, and in no log any more, or missing as the session ended.",
    "missing": "Acknowledged and not in the leader's log, while another replica's still has it; only before the end.",
    "duplicate": "At two offsets of the leader's log.",
    "reordered": "Behind later records of its producer in the leader's log.",
    "skipped": "Passed over by a group.",
    "abandoned": "Handed to an application that ended without processing it, and to nobody since.",
    "undone": "Acknowledged, and aborted in the log with a transaction that was not its own.",
    "leaked": "Aborted as its producer was told, and committed in the log.",
}

_SETTING: Final = re.compile(r"[a-z.]+=")
"""A meaning that begins with a configuration of Kafka's is not written large: its name has no capitals."""


def cause_page() -> str:
    """The page of causes of findings, in Markdown."""
    kinds = ["| kind | meaning |", "|---|---|", *(f"| `{kind}` | {_FINDING_KINDS[kind]} |" for kind in FINDING_KINDS)]
    causes = ["| cause | of what | meaning | see |", "|---|---|---|---|", *(_cause_row(cause) for cause in CAUSES)]
    return "\n".join([_CAUSES_HEAD, "## Kinds", "", *kinds, "", "## Causes", "", *causes, ""])


def _cause_row(cause: Cause) -> str:
    meaning = cause.meaning if _SETTING.match(cause.meaning) else cause.meaning[0].upper() + cause.meaning[1:]
    return f"| `{cause.code}` | {', '.join(cause.kinds)} | {safe(meaning)}. | {cause.see or '-'} |"


# docs/faults.md


_FAULTS_HEAD: Final = """# Faults

What can go wrong, by family. This page is made from the catalogue (`python -m docs.generate faults`), as are the sheet
behind `f`, `floodmark faults` and the schema of playbooks.

A step of a [playbook](playbooks.md) injects a fault on a target; `for` heals it after a time, a step `heal: NAME` or
`heal: all` at any time, and settling heals what is left. On the screen `f` and the fault's key inject it, with its
defaults, on what is under the cursor. Faults overlap: each heals on its own, and what two of them hold is free when
both are over. `floodmark run --dry-run` says what each step is expected to do before it does it.
"""

_FAMILIES: Final[dict[Family, str]] = {
    "processes": "Processes end, start again, or stop for a while.",
    "links": "Messages are late, lost or held, between some nodes and not others.",
    "disks": "Disks are slow, full, broken, or do not hold what they were given.",
    "control plane": "Who decides is gone, late, or not heard.",
    "clients": "Applications that do not do what their client expects of them.",
}
"""A sentence for each family."""


def fault_page() -> str:
    """The page of faults, in Markdown."""
    parts = [_FAULTS_HEAD]
    for family in FAMILIES:
        faults = [fault for fault in CATALOGUE.values() if fault.family == family]
        if faults:
            parts.append(f"## {family.capitalize()}\n\n{_FAMILIES[family]}\n\n{_fault_overview(faults)}")
            parts += [fault_section(fault) for fault in faults]
    return "\n".join(parts)


def fault_section(fault: Fault) -> str:
    """All about one fault."""
    lines = [
        f"### {fault.name}",
        "",
        f"{fault.glyph} {fault.title}, key `f` `{fault.letter}`. {safe(fault.summary)}",
        "",
    ]
    rows = [
        ("For", ACCEPTS[fault.accepts] + (f"; `{fault.target}` unless a target is given" if fault.target else "")),
        ("Only in", f"{fault.mode} mode" if fault.mode else ""),
        ("Also called", ", ".join(f"`{each}`" for each in called(fault.aliases))),
        ("Stands for", fault.cause),
        ("May break", fault.may_break),
        ("Healing", fault.heals or "there is nothing to heal"),
        ("By key", f"lasts {duration_text(fault.usual_for_us)}" if fault.usual_for_us >= 0 else ""),
    ]
    lines += [f"- **{head}:** {safe(text)}." for head, text in rows if text]
    if fault.params:
        lines += ["", "| parameter | type | allowed | default | meaning |", "|---|---|---|---|---|"]
        lines += [_param_row(param) for param in fault.params]
    return "\n".join([*lines, "", "```yaml", example_step(fault).rstrip(), "```", ""])


def _fault_overview(faults: list[Fault]) -> str:
    lines = ["| fault | key | for | what it does |", "|---|---|---|---|"]
    lines += [
        f"| [{each.name}](#{each.name}) | `f`&nbsp;`{each.letter}` | {each.accepts} | {safe(each.summary)} |"
        for each in faults
    ]
    return "\n".join([*lines, ""])


def _param_row(param: Param) -> str:
    default = "must be given" if param.default is None else _code(default_text(param))
    allowed = ", ".join(map(_code, param.choices)) if param.choices else allowed_text(param)
    return f"| `{param.name}` | {param.type} | {allowed} | {default} | {safe(param.doc)} |"


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


# docs/fidelity.md


_FIDELITY_HEAD: Final = """# Fidelity card

What is modelled, after which versions and sources, which tests pin it, and what is not modelled. `floodmark profiles --card`
prints it, `floodmark profiles --card 2.8` what one release has of it. This page is made from it (`python -m docs.generate fidelity`).

How it is held to be true: most rules were read in Kafka's source, up to 4.0, release by release, and the others in the KIPs
named here, which is also where the defaults of 4.1 are from. The traces those KIPs tell are [playbooks](library.md) and come to
the tables they print; and [real clients](gateway.md) of three libraries talk to the model. It has not been run beside a broker
of Kafka's own. Where code and document differ, the code was followed; what has no single answer, such as how long a disk takes, is
[said where the model is](model.md#choices-where-kafka-has-no-single-answer).

"""


def fidelity_page() -> str:
    """The page of what is modelled, in Markdown."""
    index = "| area | Kafka | rules that changed |\n|---|---|---|\n" + "".join(
        f"| [{area.name}](#{_area_anchor(area)}) | {versions(area)} | {len(area.flags) or ''} |\n" for area in AREAS
    )
    return _FIDELITY_HEAD + index + "".join(_area_section(area) for area in AREAS)


def _area_section(area: Area) -> str:
    lines = ["", f"## {area.name}", "", area.what, "", f"- **Kafka** {versions(area)}", f"- **after** {area.sources}"]
    lines.append(f"- **pinned by** {', '.join(f'`{each}`' for each in area.test_ids)}")
    if area.left_out:
        lines += ["- **not modelled**", *(f"  - {each}" for each in area.left_out)]
    if area.flags:
        lines += ["", "| rule | Kafka | what it says |", "|---|---|---|"]
        lines += [f"| `{name}` | {kafka} | {says} |" for name, kafka, says in changes(area)]
    return "\n".join(lines) + "\n"


def _area_anchor(area: Area) -> str:
    return area.name.lower().replace(" ", "-")


# docs/invariants.md


_INVARIANTS_HEAD: Final = """# Invariants

What the protocol promises, each looked at by the checker at the first event that can break it. This page is made from
the checker's own registry (`python -m docs.generate invariants > docs/invariants.md`), as is `floodmark invariants`.

All of them are checked under every version. A version that never promised one is known for breaking it: such a
violation says which KIP fixed it, and in which version. What no version is known for must not happen. In a
[playbook](playbooks.md), `violations(NAME)` counts both kinds, and `unexpected_violations(NAME)` only what must not
happen; without a name they count all properties. A violation makes nothing fail by itself.

A violation tells the event's time, the partition, the broker, the offsets that it concerns, the leader epoch, and one
sentence. A fault is told when it is first seen, and once for a partition, a broker and a leader epoch, however much it
goes on to harm there; of stable reads once for every reader besides.

A crash is lossy if it takes records that were on no disk: a power loss, a lost disk, a damaged batch. A process that
crashes loses nothing, for the operating system has its pages. What excuses a loss is counted per partition, for records
of the leader epochs up to then and no later ones: an unclean election; the last in-sync replica losing what was on no
disk; with eligible leader replicas, as many replicas as `min.insync.replicas` losing it.

Where a person decides step by step (`stepping: manual`), what only a replica without its log explains is no violation
under a version whose controller would have seen to it.
"""


def invariant_page() -> str:
    """The page of invariants, in Markdown."""
    rows = [(f"[{each.name}](#{each.name})", each.title, promised_words(each)) for each in PROMISES.values()]
    parts = [_INVARIANTS_HEAD, table_text(("name", "what it is about", "promised by"), rows, str)]
    parts += [invariant_section(each) for each in PROMISES.values()]
    return "\n".join(parts)


def invariant_section(promise: InvariantDefinition) -> str:
    """All about one property."""
    rows = [
        ("Promised by", promised_words(promise)),
        *((where[0].upper() + where[1:], words) for where, words in special_words(promise)),
        ("Fixed by", ", ".join(mends_words(promise))),
        ("No violation", promise.exceptions),
        ("Source", promise.source),
    ]
    lines = [f"## {promise.name}", "", safe(promise.text), ""]
    lines += [f"- {head}: {safe(text)}" for head, text in rows if text]
    return "\n".join([*lines, ""])


# docs/keys.md


_KEYS_HEAD: Final = """# Keys

Every key of a [playbook](playbooks.md), with what it takes. This page is made from the tables that files are read by
(`python -m docs.generate keys`); `floodmark keys PLACE` tells the same at a prompt, and `floodmark schema` prints
a JSON Schema of them for editors. The parameters of faults are on [their own page](faults.md).
"""


def key_page() -> str:
    """The page of a playbook's keys, in Markdown."""
    return "\n".join([_KEYS_HEAD, *(_key_section(each) for each in told().values())])


def _key_section(page: MappingReference) -> str:
    depth = "###" if page.path.startswith((f"{BY_HAND}.", "clients.")) else "##"
    rows: list[tuple[str, ...]] = [
        (_key_name(name, key), key.doc) if page.bare else (_key_name(name, key), taken(key.kind), key.doc)
        for name, key in page.keys.items()
    ]
    heads = ("key", "meaning") if page.bare else ("key", "takes", "meaning")
    return f"{depth} {page.path or 'The file'}\n\n{page.heading.rstrip('.')}.\n\n{table_text(heads, rows)}"


def _key_name(name: str, key: FieldSpec) -> str:
    return f"`{name}` (needed)" if key.required else f"`{name}`"


# docs/library.md


_LIBRARY_HEAD: Final = """# The library

The playbooks that come with floodmark, by theme. This page is made from their files
(`python -m docs.generate library`), as is `floodmark library`.

`floodmark run NAME` plays one, `floodmark library NAME` tells what it does step by step and what must hold, and
`floodmark library NAME --yaml > mine.yaml` is the way to [one's own](playbooks.md). Each passes under the Kafka
versions that it names (`--set cluster.kafka=2.8` chooses one; 2.1+ is 2.1 and all later ones), and says where its story
comes from. `floodmark run playbooks/library` runs them all.
"""


def library_page() -> str:
    """The page of bundled playbooks, in Markdown."""
    playbooks = [load(path_of(name)) for name in names()]
    parts = [_LIBRARY_HEAD]
    for theme, doc in THEMES.items():
        found = [each for each in playbooks if theme_of(each.tags) == theme]
        if found:
            parts.append(f"## {heading(theme)}\n\n{doc}\n\n{_playbook_overview(found)}")
            parts += [playbook_section(each) for each in found]
    parts.append(_tags_section(playbooks))
    return "\n".join(parts)


def playbook_section(playbook: Playbook) -> str:
    """All about one playbook but its steps."""
    own = Profile.of(playbook.spec.kafka, playbook.spec.mode).name
    rows = [
        ("Source", "; ".join(playbook.origins)),
        ("Kafka", f"{ranges_text(playbook.profiles)}; as it stands {own}"),
        ("Tags", ", ".join(playbook.tags)),
        ("Run over", "; ".join(playbook.grid.lines()) if playbook.grid is not None else ""),
    ]
    lines = [f"### {playbook.name}", "", f"**{safe(playbook.title)}.**", "", safe(playbook.story), ""]
    lines += [f"- {head}: {safe(text)}" for head, text in rows if text]
    return "\n".join([*lines, ""])


def _playbook_overview(playbooks: list[Playbook]) -> str:
    rows = [
        (f"[{each.name}](#{_playbook_anchor(each.name)})", ranges_text(each.profiles), each.title) for each in playbooks
    ]
    return table_text(("playbook", "Kafka", "what happens"), rows)


def _tags_section(playbooks: list[Playbook]) -> str:
    """What the tags stand for, as far as a playbook has them."""
    counts = {tag: sum(tag in each.tags for each in playbooks) for tag in TAGS}
    rows = [(f"`{tag}`", doc, str(counts[tag])) for tag, doc in TAGS.items() if counts[tag]]
    text = "`floodmark library --tag TAG` lists the playbooks that have it."
    return f"## Tags\n\n{text}\n\n{table_text(('tag', 'what it stands for', 'playbooks'), rows)}"


def _playbook_anchor(name: str) -> str:
    """The anchor that Markdown gives to a heading."""
    return name.replace(".", "")


# docs/liveness.md


_LIVENESS_HEAD: Final = """# What must come true in time

A safety property ([invariants](invariants.md)) is broken by one bad event. A liveness property is broken by time: something
that had to happen has not. This page is made from the properties (`python -m docs.generate liveness`).

Each property is an obligation that opens when something is not as it must become, and closes when it is. Its clock
starts when nothing disturbs those concerned any more: the last fault on them is healed, their process is back, the link
between them is whole. A broker that stays down, or a fault on others, stops no clock. What is not met within its bound
is an event, `liveness_overdue`, one line of `floodmark run`, an entry of `overdue` in the JSON document, and counts in the
conditions `overdue()`, `overdue(NAME)` and `unexpected_overdue()`, which leaves out what the version is known for.

```
overdue  leader-elected: orders-0: broker 1, which leads, is gone, ..., since 12s, bound 10s
```

Bounds are whole microseconds, added up from the configuration in force and the version in one place
(`cluster_model/checker/liveness/deadlines.py`). Waits that can follow one another are added, and in doubt the longer one is
taken. Where nobody was told that a connection died the longest of all timeouts is waited for besides, as peers find out
only then: after a link was cut, slowed or lost messages, after a pause, and after a power loss; `leader-elected` counts
from a power loss at once. A killed process's peers are told by resets, and a slow one answers: nothing is added then.

What is still owed at the end, and not yet due, is neither kept nor broken. It is told apart, as `unjudged` in the JSON
document and in one line of `floodmark run`: property, partition, broker, for how long it has been owed (`owed_us`), and how
much longer the session would have had to go on undisturbed to judge it (`missing_us`, -1 where no time is enough). So
`overdue() == 0` is no proof that all came true; a longer `settle:` gives one. A high watermark that has been behind for
less than {seldom} ms is not told: after every record it is.

Obligations are looked at when an event of the model comes by: at most every {often} ms after a rare one, at most every
{seldom} ms otherwise, every {quiet} ms while nothing disturbs anybody and nothing falls due, and at the end. Nothing is
scheduled for it, so what is told and when does not depend on how a session is advanced. In a cluster in which nothing happens at all the end is the next moment.

## The properties

"""

_STUCK: Final = """
## Stuck, and rightly so

Kafka stands still on purpose, too. That is no broken promise but told apart, as `stuck` in the result and at the end of
`floodmark run`, with why and what sets it free:

| state | what it looks like | what releases it |
|---|---|---|
| nobody of the ISR (and ELR) is up, unclean election is off | leader -1, for ever | one of them back, or an unclean election by hand |
| fewer replicas up than `min.insync.replicas` | acks=all is refused: NOT_ENOUGH_REPLICAS | replicas back, or a lower minimum |
| up to 3.6, `min.insync.replicas` above the number of replicas | the same, always | a lower minimum, or more replicas |
| no majority of controllers, or of the ensemble | no elections and no ISR changes; leaders go on | a majority |
| the same with a dead member in the ISR | acks=all waits in vain | a majority, or that member back |
| a fetcher that was fenced | its partition is not fetched | metadata with a newer leader epoch |
| a damaged batch at the leader | its follower asks for it again and again | another leader |
| ZooKeeper mode from 2.7 on: a proposed ISR was taken, and its answer lost | the leader proposes no more | a newer leader epoch |
"""


def liveness_page() -> str:
    """The page of liveness properties, in Markdown."""
    rows = [(f"[{each.name}](#{each.name})", each.promise) for each in PROPERTIES]
    head = _LIVENESS_HEAD.format(often=OFTEN_US // 1_000, seldom=SELDOM_US // 1_000, quiet=QUIET_US // 1_000)
    return head + "\n".join([table_text(("property", "promise"), rows), *map(_liveness_section, PROPERTIES)]) + _STUCK


def _liveness_section(each: LivenessProperty) -> str:
    """When it is due, what puts that off, and which versions are known to break it."""
    return (
        f"### {each.name}\n\n"
        f"- **Due within:** {safe(each.bound)}\n"
        f"- **What stops its clock:** {safe(each.disturbed_by)}\n"
        f"- **Known not to keep it:** {safe(each.known)}\n"
    )


# Text of the page that lists the APIs of the gateway, made from the tables that it answers by.


_HEAD: Final = """# APIs of the gateway

What a broker of [`floodmark serve`](gateway.md) answers, by release and in which versions, as ApiVersions tells it.
This page is made from the gateway's own tables (`python -m docs.generate gateway-apis > docs/gateway-apis.md`).

The newest version of an API is that of the release: `5 (1.0), 6 (2.0)` is 5 from 1.0 on and 6 from 2.0 on. The
oldest is that of Kafka 4.0, or older where the codec has it. An API with "(KRaft)" is not offered in ZooKeeper mode.
What is in no row is not offered at all: see [what is not modelled](gateway.md#what-is-not-modelled).

| API | key | oldest | newest |
|---|---|---|---|
"""


def api_page() -> str:
    """The page, in Markdown: a row for each API, with the releases at which its newest version changed."""
    numbers = {version: Profile.of(version).number for version in PROFILE_VERSIONS}
    ranges = {
        version: offered(number, kraft="kraft" in modes_of(version))
        for version, number in numbers.items()
        if number >= OLDEST
    }
    return _HEAD + "".join(_row(api, ranges) for api in sorted(HANDLERS))


def _row(api: int, ranges: Mapping[str, Mapping[int, tuple[int, int]]]) -> str:
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

"""Pages of commands, keys of the TUI, configurations with defaults by release, versions, and the glossary."""

import re
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any, Final

import typer

from cluster_model.protocol.config_defaults import DEFAULTS, ConfigHistory, DefaultScope
from cluster_model.protocol.config_defs import INT_MAX, LONG_MAX, SCOPES, ConfigKey, ConfigValue
from cluster_model.protocol.releases import PATCHES, RELEASE_LINES, ReleaseRule
from cluster_model.protocol.versions import CLIENT_FLAGS, FLAGS, modes_of
from playbooks.reference_text import releases
from playbooks.text import safe, table_text
from tui.cli.main import app, parameter_name, usage_line
from tui.keybindings.scopes import manual
from tui.terminal.format import allowed_values
from tui.viewmodel.help import GLOSSARY

# ruff: noqa: E501 - pages of prose and tables


# docs/reference/commands.md


_COMMANDS_HEAD: Final = """# Commands and options

Every command with its arguments and options. This page is generated from the parser (`python -m docs.generate commands`), and `floodmark COMMAND --help`
prints the same. [The command line](../run/cli.md) has an overview by task, and the exit codes. Commands that analyse, report, serve and describe your own
cluster are [on a page of their own](commands-analysis.md).
"""

_ANALYSIS_HEAD: Final = """# Commands that analyse, report and serve

Commands with their arguments and options, besides those that run, look up and compare ([commands and options](commands.md)). This page is generated from the
parser (`python -m docs.generate commands-analysis`), and `floodmark COMMAND --help` prints the same.
"""

_ANALYSIS_COMMANDS: Final = frozenset(
    {
        "alerts",
        "ask",
        "cluster",
        "explore",
        "fleet",
        "report",
        "serve",
        "shrink",
        "spark",
        "storm",
        "upgrade",
        "web",
        "why",
    }
)
"""Commands that analyse, report, serve, or describe an existing cluster."""


def command_page() -> str:
    """Return the page of commands that run, look up and compare, in Markdown."""
    group: Any = typer.main.get_command(app)
    top = typer.Context(group, info_name="floodmark")
    sections = [_section(group, top, "floodmark")]
    sections += [_section(*each) for each in _commands(group, top) if not _has_own_page(each[2])]
    return _COMMANDS_HEAD + "".join(sections)


def analysis_command_page() -> str:
    """Return the page of commands that analyse, report and serve, in Markdown."""
    group: Any = typer.main.get_command(app)
    commands = _commands(group, typer.Context(group, info_name="floodmark"))
    return _ANALYSIS_HEAD + "".join([_section(*each) for each in commands if _has_own_page(each[2])])


def _has_own_page(path: str) -> bool:
    return path.split()[1] in _ANALYSIS_COMMANDS


def _commands(group: Any, above: typer.Context) -> list[tuple[Any, typer.Context, str]]:
    """Return every command below a group, including those of subgroups."""
    commands: list[tuple[Any, typer.Context, str]] = []
    for name, command in group.commands.items():
        context = typer.Context(command, info_name=name, parent=above)
        commands.append((command, context, context.command_path))
        commands += _commands(command, context) if hasattr(command, "commands") else []
    return commands


def _section(command: Any, context: typer.Context, path: str) -> str:
    parameters = [record for each in command.params if (record := each.get_help_record(context))]
    text = _text(command.help or "")
    rows = [(f"`{parameter_name(name)}`", _plain(meaning)) for name, meaning in parameters]
    table = f"\n{table_text(('argument or option', 'meaning'), rows)}" if rows else ""
    return f"\n## {path.removeprefix('floodmark ')}\n\n`{_usage(command.get_usage(context))}`\n\n{text}\n{table}"


def _text(help_text: str) -> str:
    """Return a command's help as Markdown; examples that can be typed become code blocks."""
    paragraphs = [" ".join(paragraph.split()) for paragraph in help_text.split("\n\n")]
    parts: list[str] = []
    for typed, group in groupby(paragraphs, lambda paragraph: paragraph.startswith("floodmark ")):
        lines = list(group)
        parts += ["\n".join(["```sh", *lines, "```"])] if typed else lines
    return "\n\n".join(parts)


def _usage(usage: str) -> str:
    """Return a command's usage without the parser's marks for required parameters."""
    return usage_line(" ".join(usage.removeprefix("Usage: ").split()))


def _plain(text: str) -> str:
    return re.sub(r"\s*\[required\]", "", text).replace("  [", " [")


# docs/reference/tui-keys.md


_TUI_KEYS_HEAD: Final = """# Keys and mouse of the TUI

Every key, its action, and the id by which [settings](../run/settings.md) give the action another key. This page is generated from the key bindings
(`python -m docs.generate tui-keys`); `?` in the TUI shows the same. [The TUI](../run/tui.md) explains the screen.

## Keys

"""
_MOUSE: Final = """
## Mouse

Every action has a key. Many have a mouse gesture too.

| gesture | action |
|---|---|
| click | select: a cell of the matrix, a replica, an offset of the log inspector, a mark of the timeline, a fault of a sheet, a line of a list |
| double click | open, as `enter` does: the log of a cell, the time at which a record was written, the time of a mark, all clients. In a sheet it injects the selected fault, in a list it takes the line |
| right button | open the fault sheet for the broker, log, mark, client or control-plane node under the pointer; for a group, its first member |
| wheel | scroll |
| ctrl and wheel | zoom the timeline and the log inspector; some terminals keep this gesture for themselves, then use `+` `-` |
| drag along the time line, or on the strip at the bottom | move through time. `PAST~` marks the nearest state that is quick to show; the exact one appears when the pointer rests |
| drag over the lanes of the timeline | select a span |
| `[heal]` | heal that fault |
| status bar | the first field pauses and resumes, or returns from the past; the speed is one step faster; the time asks for another time; the branch opens the list of branches; `missing` and `lost` open the explanation; the playbook's name opens the library; a node of the second line opens its fault sheet |
| bars at the bottom | press the named key, or change the mode |

If the pointer rests for half a second, a tooltip shows exact numbers: for a replica its LEO, high watermark, epoch, ISR membership and pending
fetch; for an offset its epoch, and which replicas have the same record, another one, or none.
"""


def tui_keys_page() -> str:
    """Return the page of keys and gestures, in Markdown."""
    return _TUI_KEYS_HEAD + manual() + _MOUSE


# docs/reference/configs.md


_CONFIGS_HEAD: Final = """# Configurations and versions

Kafka's [configurations](https://kafka.apache.org/41/configuration/broker-configs/) that the model supports, with Kafka's names and units, and the rules that differ between versions. This page is generated from the model
(`python -m docs.generate configs`); `floodmark configs` and `floodmark profiles` print the same. Every listed configuration does what it does in Kafka. A name that
is not listed, or that the version does not have, is an error. The defaults are those of `cluster.kafka`, a client's those of its `client.version`:
see [defaults by release](defaults.md).

Broker configurations go in `cluster.config`, the others in the `config` of a [topic](../run/playbooks.md#cluster-and-topics) or a
[client](../run/load.md). *cluster-wide* and *per-broker* ones can change while the cluster runs, by `alter_broker_config`; topic ones always can, by
`alter_topic_config` (see [operations](../run/steps.md#administrator-operations)). A class is named as listed, or with its package.
"""


def config_page() -> str:
    """Return the page of configurations and versions, in Markdown."""
    configs = [
        f"\n## {scope.capitalize()}\n\n{_config_table(scope, list(keys.values()))}" for scope, keys in SCOPES.items()
    ]
    versions = [
        (f"`{line}`", ", ".join(f"`{patch}`" for patch in patches), " or ".join(modes_of(line)))
        for line, patches in PATCHES.items()
    ]
    return (
        _CONFIGS_HEAD
        + "".join(configs)
        + "\n## Versions\n\nA release line stands for its last patch. A patch release is written in full.\n\n"
        + table_text(("cluster.kafka", "patches", "cluster.mode"), versions)
        + "\n## Rules that differ between versions\n\nThe [fidelity card](fidelity.md) has their sources and tests.\n"
        + "Brokers and controllers follow the first table, by `cluster.kafka`. Clients and tools follow the second, by\n"
        + "`cluster.kafka`; a producer by its `client.version`.\n"
        + f"\n### Brokers\n\n{_rule_table(FLAGS)}\n### Clients\n\n{_rule_table(CLIENT_FLAGS)}"
    )


def _rule_table(flags: Iterable[ReleaseRule]) -> str:
    """Return a table of rules: name, the versions that follow it, and its meaning."""
    rules = [(f"`{flag.name}`", releases(flag), flag.meaning) for flag in flags]
    return table_text(("rule", "versions", "meaning"), rules)


def _config_table(scope: str, keys: list[ConfigKey]) -> str:
    """Return a table with two columns, since some names take half a page.

    Broker configurations include whether they can change at run time.
    """
    rows = [
        (f"`{key.name}`", f"{key.doc} Takes {_allowed(key)}{f'; {key.dynamic}' if scope == 'broker' else ''}.")
        for key in keys
    ]
    return table_text(("name", "meaning and allowed values"), rows)


def _allowed(key: ConfigKey) -> str:
    """Return the allowed values, without class names that only repeat another one with its package."""
    short = [
        each for each in key.choices if each.rpartition(".")[2] == each or each.rpartition(".")[2] not in key.choices
    ]
    return " or ".join(short) if key.choices and not key.form else allowed_values(key)


# docs/reference/glossary.md


_GLOSSARY_HEAD: Final = """# Glossary

Terms of Kafka and of floodmark. This page is generated from the glossary of the TUI (`python -m docs.generate glossary`): `?` then `g` opens it there, and the TUI
explains each word where you first meet it. [Concepts](../learn/concepts.md) shows how they relate.

"""


def glossary_page() -> str:
    """Return the page of terms, in Markdown."""
    return _GLOSSARY_HEAD + "\n".join(f"- **{safe(each.word)}**: {safe(each.meaning)}" for each in GLOSSARY) + "\n"


# docs/reference/defaults.md


_DEFAULTS_HEAD: Final = """\
# Defaults by release

The default of every modelled configuration in each release line of Kafka: first the changes by release, then each configuration with all its values. This page is
generated from the table that the model reads (`python -m docs.generate defaults`). A test compares the table with the `ConfigDef` objects of Kafka's own jars, for every line from
0.9 to 4.4; the values of 0.8.2, whose broker and consumer have no `ConfigDef`, come from its source. [Configurations](configs.md) explains each one.

A configuration that a release does not have is an error under that release. A client has the defaults of its `client.version`; administrators' clients have those
of the cluster's release, and cannot be configured. The last patch of a line counts.

"""

_TITLES: Final[Mapping[DefaultScope, str]] = {
    "broker": "Broker",
    "topic": "Topic",
    "producer": "Producer",
    "consumer": "Consumer",
    "admin": "Administrator's client",
}
_NOTES: Final[Mapping[DefaultScope, str]] = {
    "broker": "`KafkaConfig`. An unset value is taken from the coarser unit: `log.retention.hours`, `log.roll.hours`, `log.roll.jitter.hours`, `log.flush.scheduler.interval.ms`.",
    "topic": "`LogConfig`, if neither the topic nor its brokers are configured: a topic inherits its brokers' values.",
    "producer": "`ProducerConfig` of the Java client.",
    "consumer": "`ConsumerConfig` of the Java client. The values of 0.8.2 are those of the consumer in `core`, under the names of the Java client since 0.9: `fetch.wait.max.ms`, `fetch.message.max.bytes`, `socket.timeout.ms`, `auto.offset.reset: largest`.",
    "admin": "`AdminClientConfig`.",
}


_SHARED: Final = {("broker", name) for name in DEFAULTS["broker"] if name in DEFAULTS["topic"]}


def defaults_page() -> str:
    """Return the page of defaults, in Markdown."""
    parts = [_DEFAULTS_HEAD, "## What changed\n"]
    for line, before in zip(RELEASE_LINES[1:], RELEASE_LINES, strict=False):
        if rows := _changes(line, before):
            parts.append(f"\n### {line}\n\n{table_text(('configuration', 'of', 'change', 'by'), rows, str)}")
    for scope, entries in DEFAULTS.items():
        rows = [(f"`{entry.name}`", _releases(entry), _values(entry)) for entry in entries.values()]
        parts.append(f"\n## {_TITLES[scope]}\n\n{_NOTES[scope]}\n\n")
        parts.append(table_text(("configuration", "Kafka", "default"), rows, str))
    return "".join(parts)


def _changes(line: str, before: str) -> list[tuple[str, ...]]:
    """Return a row for each configuration that is new, has a new default, or is removed in a release.

    A topic configuration with the same name as a broker's shares its row, and so do equal changes of several clients.
    """
    scopes: dict[tuple[str, str, str], list[str]] = {}
    for scope, entries in DEFAULTS.items():
        for entry in entries.values():
            shared = ("broker", entry.name) in _SHARED
            if (change := _change(entry, line, before)) and not (scope == "topic" and shared):
                of = "broker, topic" if scope == "broker" and shared else scope
                scopes.setdefault((f"`{entry.name}`", *change), []).append(of)
    return [(name, ", ".join(of), *change) for (name, *change), of in scopes.items()]


def _change(entry: ConfigHistory, line: str, before: str) -> tuple[str, str] | None:
    """Return the change of a configuration in a release, and its source."""
    if entry.until == before:
        return f"removed{f'; see `{entry.replacement}`' if entry.replacement else ''}", safe(entry.removed_by)
    for last, now in zip((None, *entry.defaults), entry.defaults, strict=False):
        if now.since == line:
            new = _default_text(now.value)
            return (f"new: {new}" if last is None else f"{_default_text(last.value)} → {new}"), safe(now.source)
    return None


def _releases(entry: ConfigHistory) -> str:
    if entry.until:
        return entry.until if entry.until == entry.since else f"{entry.since} to {entry.until}"
    return "all" if entry.since == RELEASE_LINES[0] else f"{entry.since}+"


def _values(entry: ConfigHistory) -> str:
    first, *later = entry.defaults
    return "; ".join(
        [
            _default_text(first.value),
            *(f"{_default_text(each.value)} since {each.since} ({safe(each.source)})" for each in later),
        ]
    )


def _default_text(value: ConfigValue | None) -> str:
    if value is None:
        return "unset"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    names = {INT_MAX: "Integer.MAX_VALUE", LONG_MAX: "Long.MAX_VALUE"}
    text = names.get(value, str(value)) if isinstance(value, int) else value
    return f"`{text}`" if text else "empty"

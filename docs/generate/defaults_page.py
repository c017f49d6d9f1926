# ruff: noqa: E501 - a page of prose and tables
"""The page of defaults by release, made from the table that all settings are read from."""

from collections.abc import Mapping
from typing import Final

from cluster_model.protocol.config_defaults import DEFAULTS, ConfigHistory, DefaultScope
from cluster_model.protocol.config_defs import INT_MAX, LONG_MAX, ConfigValue
from cluster_model.protocol.versions import PROFILE_VERSIONS
from playbooks.text import safe, table_text

_HEAD: Final = """\
# Defaults by release

The default of every modelled configuration in each release line of Kafka: first the changes by release, then each configuration with all its values. This page is
made from the table that the model reads (`python -m docs.generate defaults`). A test compares the table with the `ConfigDef` objects of Kafka's own jars, for every line from
0.9 to 4.1; the values of 0.8.2, whose broker and consumer have no `ConfigDef`, come from its source. [Configurations](configs.md) explains each one.

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
    """The page of defaults, in Markdown."""
    parts = [_HEAD, "## What changed\n"]
    for line, before in zip(PROFILE_VERSIONS[1:], PROFILE_VERSIONS, strict=False):
        if rows := _changes(line, before):
            parts.append(f"\n### {line}\n\n{table_text(('configuration', 'of', 'change', 'by'), rows, str)}")
    for scope, entries in DEFAULTS.items():
        rows = [(f"`{entry.name}`", _releases(entry), _values(entry)) for entry in entries.values()]
        parts.append(f"\n## {_TITLES[scope]}\n\n{_NOTES[scope]}\n\n")
        parts.append(table_text(("configuration", "Kafka", "default"), rows, str))
    return "".join(parts)


def _changes(line: str, before: str) -> list[tuple[str, ...]]:
    """A row for each configuration that came, changed its default or went with a release.

    A topic's that is called as its brokers' is one with that, and so is what changes alike for several clients.
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
    """What a release did to a configuration, and why."""
    if entry.until == before:
        return f"gone{f'; see `{entry.instead}`' if entry.instead else ''}", safe(entry.gone)
    for last, now in zip((None, *entry.defaults), entry.defaults, strict=False):
        if now.since == line:
            new = _text(now.value)
            return (f"new: {new}" if last is None else f"{_text(last.value)} → {new}"), safe(now.source)
    return None


def _releases(entry: ConfigHistory) -> str:
    if entry.until:
        return entry.until if entry.until == entry.since else f"{entry.since} to {entry.until}"
    return "all" if entry.since == PROFILE_VERSIONS[0] else f"{entry.since}+"


def _values(entry: ConfigHistory) -> str:
    first, *later = entry.defaults
    return "; ".join(
        [_text(first.value), *(f"{_text(each.value)} since {each.since} ({safe(each.source)})" for each in later)]
    )


def _text(value: ConfigValue | None) -> str:
    if value is None:
        return "unset"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    names = {INT_MAX: "Integer.MAX_VALUE", LONG_MAX: "Long.MAX_VALUE"}
    text = names.get(value, str(value)) if isinstance(value, int) else value
    return f"`{text}`" if text else "empty"

"""Changes between two releases that can be made alone, as ``--set`` options of a playbook.

A candidate is one rule, one default, or the controller mode. Applied under the first release it is as in the second;
reverted under the second release it is as in the first. Rules and defaults are only candidates where the playbook does
not set them itself, and those of clients where the client has the release of the cluster.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from cluster_model.protocol.config_defaults import TOPIC_SYNONYMS
from cluster_model.protocol.config_defs import INT_MAX
from cluster_model.protocol.releases import ReleaseRule, number_of
from cluster_model.protocol.versions import CLIENT_RULES, FLAG_BY_NAME, modes_of
from cluster_model.spec import ClusterSpec
from playbooks.model.playbook import Playbook
from playbooks.release_changes import DefaultChange, ReleaseChanges, value_text

Settings = tuple[tuple[str, str], ...]
"""``--set`` options: paths and values."""

CONTROLLER_MODE: Final = "controller mode"
_CLIENT_VERSION: Final = "client.version"
_NEVER: Final = str(INT_MAX)
RETRY_BACKOFF_MS: Final = 100
"""Default of ``retry.backoff.ms`` of every release."""
Config = Mapping[str, int | str | bool]


@dataclass(frozen=True, slots=True)
class TriedChange:
    """One rule, one default, or the controller mode."""

    name: str
    """``rule fenced_last_known``, ``default of acks``, ``controller mode``."""
    apply: Settings
    """Settings for a run under the first release, empty if it cannot be made there."""
    revert: Settings
    """Settings for a run under the second release, empty if it cannot be undone there."""
    issue: str = ""
    """Number of the known issue that the rule is, empty for none."""
    meaning: str = ""
    """What the rule does; for a default its two values, for the mode its two names."""
    rule: str = ""
    """Name of the rule, empty for another change."""


def release_settings(playbook: Playbook, release: str) -> dict[str, str]:
    """Return the settings for a release, in the playbook's controller mode if the release has it."""
    return {"cluster.kafka": release, "cluster.mode": _mode(playbook, release)}


def _mode(playbook: Playbook, release: str) -> str:
    modes = modes_of(release)
    return playbook.spec.mode if playbook.spec.mode in modes else modes[0]


def candidates(playbook: Playbook, changes: ReleaseChanges) -> list[TriedChange]:
    """Return the controller mode, known issues, other rules, then defaults that differ between the releases."""
    return [*_modes(playbook, changes), *_rules(playbook, changes), *_defaults(playbook, changes)]


def _modes(playbook: Playbook, changes: ReleaseChanges) -> Iterator[TriedChange]:
    old, new = (_mode(playbook, each) for each in (changes.before, changes.after))
    if old != new:
        apply = (("cluster.mode", new),) if new in modes_of(changes.before) else ()
        revert = (("cluster.mode", old),) if old in modes_of(changes.after) else ()
        yield TriedChange(CONTROLLER_MODE, apply, revert, meaning=f"{old} → {new}")


def _rules(playbook: Playbook, changes: ReleaseChanges) -> Iterator[TriedChange]:
    """Yield rules; those of clients only if all clients have the cluster's release, as they are switched for all."""
    first, second = number_of(changes.before), number_of(changes.after)
    pinned = any(_CLIENT_VERSION in each for each in _client_configs(playbook.spec))

    def change(rule: ReleaseRule, issue: str = "") -> TriedChange:
        path, new, old = f"cluster.rules.{rule.name}", rule.holds(second), rule.holds(first)
        apply, revert = ((path, str(new).lower()),), ((path, str(old).lower()),)
        return TriedChange(f"rule {rule.name}", apply, revert, issue, rule.meaning, rule.name)

    changes_tried = []
    for known_issue in (*changes.fixed, *changes.gained):
        rule = FLAG_BY_NAME[known_issue.rule]
        if rule.holds(first) != rule.holds(second):
            changes_tried.append(change(rule, known_issue.number))
    changes_tried += [change(rule) for rule in (*changes.new_rules, *changes.dropped_rules)]
    own = dict(playbook.spec.rules)
    yield from (each for each in changes_tried if each.rule not in own and not (pinned and each.rule in CLIENT_RULES))


def _client_configs(spec: ClusterSpec) -> Iterator[Config]:
    for group in spec.groups:
        yield from (group.config, group.output_config)
    yield from (each.config for each in spec.producers)


def _defaults(playbook: Playbook, changes: ReleaseChanges) -> Iterator[TriedChange]:
    of_brokers = {each.name for each in changes.defaults if "broker" in each.scopes}
    for default in changes.defaults:
        apply: list[tuple[str, str]] = []
        revert: list[tuple[str, str]] = []
        for path, config in _paths(playbook.spec, default, of_brokers):
            if default.name in config or _CLIENT_VERSION in config:
                continue
            for settings, value in ((apply, _applied(default)), (revert, _reverted(default, config))):
                if value:
                    settings.append((path, value))
        if apply or revert:
            meaning = f"{value_text(default.before)} → {value_text(default.after)}"
            yield TriedChange(f"default of {default.name}", tuple(apply), tuple(revert), meaning=meaning)


def _applied(default: DefaultChange) -> str:
    """Return the value to set under the first release, empty for none."""
    return default.after if default.kind == "changed" else ""


def _reverted(default: DefaultChange, config: Config) -> str:
    """Return the value with which the second release behaves as the first, empty for none."""
    if default.kind != "added":
        return default.before if default.kind == "changed" else ""
    if default.name == "retry.backoff.max.ms":
        return str(config.get("retry.backoff.ms", RETRY_BACKOFF_MS))  # the backoff did not grow
    if default.name == "unclean.leader.election.interval.ms":
        return _NEVER
    return "" if default.without == default.after else default.without


def _paths(spec: ClusterSpec, default: DefaultChange, of_brokers: set[str]) -> Iterator[tuple[str, Config]]:
    """Yield the places where the playbook could set a configuration and does not, with what it sets there."""
    name = default.name
    if "broker" in default.scopes:
        yield f"cluster.config.{name}", spec.config
    if "topic" in default.scopes:
        synonym = TOPIC_SYNONYMS.get(name, "")
        if synonym not in of_brokers and synonym not in spec.config:  # that of the brokers is one change for both
            yield from ((f"topics.{each.name}.config.{name}", each.config) for each in spec.topics)
    if "producer" in default.scopes:
        yield from ((f"clients.producers.{each.name}.config.{name}", each.config) for each in spec.producers)
        if name != "acks":  # an application's output has acks=all in every release
            outputs = (each for each in spec.groups if each.output_topic)
            yield from ((f"clients.groups.{each.name}.to_config.{name}", each.output_config) for each in outputs)
    if "consumer" in default.scopes:
        yield from ((f"clients.groups.{each.name}.config.{name}", each.config) for each in spec.groups)

"""What an application of a playbook writes for each record that it has read."""

import re
from typing import Any, TypedDict

from cluster_model.clients.producer.config import ProducerConfig
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.versions import Profile
from cluster_model.spec.application import HANDED_OFF, TRANSACTION
from playbooks.parser.document.context import Notes
from playbooks.parser.document.field_types import Fields


class Written(TypedDict):
    """Parts of a group's spec."""

    to: str
    to_config: dict[str, Any]


def read_output(fields: Fields, profile: Profile, notes: Notes) -> Written:
    """The topic, and the configuration of the producers; both empty where nothing is written."""
    topic = str(fields.get("to", ""))
    config = fields.get("to_config", {})
    commit = fields.get("commit", "auto")
    for key, wrong in (
        ("to", _wrong_topic(fields, topic, commit)),
        ("to_config", _wrong_config(fields, profile, config, transactional=commit == TRANSACTION)),
        ("commit", _wrong_commit(fields, profile) if commit == TRANSACTION else ""),
    ):
        if wrong:
            notes.problem(fields.at(key), fields.path(key), wrong)
    return {"to": topic, "to_config": config}


def _wrong_topic(fields: Fields, topic: str, commit: str) -> str:
    if topic and (topic in fields.get("topics", ()) or re.fullmatch(fields.get("pattern", ""), topic)):
        return f"found {topic!r}, which the group reads itself, allowed is another topic"
    if topic and fields.given("dead_letter"):
        return "found a topic for output and one for dead letters, allowed is one of them"
    if topic and commit == HANDED_OFF:
        return "found a topic for output with 'commit: handed_off', allowed where the poll loop waits for its output"
    return ""


def _wrong_config(fields: Fields, profile: Profile, config: dict[str, Any], *, transactional: bool) -> str:
    if not fields.given("to_config") or fields.bad("to_config"):
        return ""
    if not fields.given("to"):
        return "found a producer's configuration without a topic, allowed only with to"
    if "transactional.id" in config:
        return "found a transactional.id, allowed is none: with 'commit: transaction' each member's name is its own"
    try:
        ids = {"transactional.id": "a"} if transactional and profile.transactions else {}
        ProducerConfig.of(profile, {"acks": "all", **config, **ids})
    except ModelError as error:
        return f"found settings that exclude each other: {error}"
    return ""


def _wrong_commit(fields: Fields, profile: Profile) -> str:
    if not fields.given("to"):
        return "found 'transaction' without a topic to write to, allowed only with to"
    if not profile.transactions:
        return f"found 'transaction' with Kafka {profile.version}, allowed since 0.11"
    if not fields.get("coordinated", True):
        return "found 'transaction' in a group without a coordinator, allowed where it is coordinated"
    if fields.get("config", {}).get("enable.auto.commit") is True:
        return "found 'transaction' with enable.auto.commit, allowed is one of them"
    return ""

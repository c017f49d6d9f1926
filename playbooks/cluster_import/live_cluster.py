"""Reader of a live cluster through kafka-python, an optional dependency; it sends describing requests only.

TLS and SASL are set by the usual properties file of a Java client. Key stores of Java cannot be read here; PEM files
(KIP-651) can.
"""

import re
import ssl
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from playbooks.cluster_import.description import NO_LEADER, ClusterDescription, DescribedPartition, GivenValue, Place
from playbooks.cluster_import.server_properties import read_properties
from playbooks.errors import PlaybookError, Problem, shown
from playbooks.text import printable

_JAAS: Final = re.compile(r"\s*(?P<module>[\w.]+)\s+\w+\s+(?P<options>.*?);?\s*", re.DOTALL)
_JAAS_OPTION: Final = re.compile(r'(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|(\S+))')
_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_BATCH: Final = 200
"""Topics per request, so that no response is too large."""
_DYNAMIC_DEFAULT: Final = "dynamic_default_broker_config"
_TIMEOUT_MS: Final = 15_000


class LiveClusterError(Exception):
    """A cluster that cannot be asked; the message says why."""


def client_settings(path: str, text: str) -> dict[str, Any]:
    """Return the settings of a client's properties file, as kafka-python names them.

    Raises:
        PlaybookError: security settings that cannot be followed, with their lines; other settings are of no concern.
    """
    return _ClientProperties(path, read_properties(text, path)).settings()


class _ClientProperties:
    """Properties of a Java client; errors are collected."""

    def __init__(self, path: str, properties: Mapping[str, GivenValue]) -> None:
        self._path = path
        self._properties = properties
        self._problems: list[Problem] = []

    def settings(self) -> dict[str, Any]:
        protocol = self._choice("security.protocol", _PROTOCOLS) or "PLAINTEXT"
        settings: dict[str, Any] = {"security_protocol": protocol}
        if protocol.startswith("SASL"):
            settings |= self._sasl()
        if protocol.endswith("SSL"):
            settings["ssl_context"] = self._ssl_context()
        if "client.id" in self._properties:
            settings["client_id"] = self._properties["client.id"].value
        if self._problems:
            raise PlaybookError(self._problems)
        return settings

    def _sasl(self) -> dict[str, Any]:
        mechanism = self._choice("sasl.mechanism", _MECHANISMS)
        if mechanism is None and "sasl.mechanism" not in self._properties:
            self._problems.append(
                Place(self._path).problem(f"found no sasl.mechanism, expected {', '.join(_MECHANISMS)}")
            )
        given = self._properties.get("sasl.jaas.config")
        match = _JAAS.fullmatch(given.value) if given is not None else None
        options = {
            name: quoted or bare for name, quoted, bare in _JAAS_OPTION.findall(match["options"] if match else "")
        }
        if not options.get("username") or "password" not in options:
            place = given.place if given is not None else Place(self._path)
            allowed = 'a login module with username="..." and password="..."'
            self._problems.append(place.problem(f"found no login in sasl.jaas.config, expected {allowed}"))
            return {}
        names = {"username": "sasl_plain_username", "password": "sasl_plain_password"}
        return {"sasl_mechanism": mechanism, **{kafka: options[name] for name, kafka in names.items()}}

    def _ssl_context(self) -> ssl.SSLContext | None:
        """Return the context of the trust store and key store, both as PEM."""
        for store in ("truststore", "keystore"):
            kind, location = self._text(f"ssl.{store}.type") or "JKS", self._properties.get(f"ssl.{store}.location")
            if location is not None and kind.upper() != "PEM":
                allowed = (
                    f"ssl.{store}.type=PEM and a PEM file, as keytool -exportcert -rfc or openssl pkcs12 -nodes write"
                )
                found = f"found a {store} of type {shown(kind)}"
                self._problems.append(location.place.problem(f"{found}, expected {allowed}"))
        if self._problems:
            return None
        try:
            context = ssl.create_default_context(
                cafile=self._text("ssl.truststore.location"), cadata=self._text("ssl.truststore.certificates")
            )
            keystore = self._text("ssl.keystore.location")
            if keystore is not None:
                context.load_cert_chain(keystore, password=self._text("ssl.key.password") or "")
        except (OSError, ssl.SSLError, ValueError) as error:
            reason = getattr(error, "strerror", None) or getattr(error, "reason", None) or str(error)
            message = f"found certificates that cannot be read: {reason}"
            self._problems.append(Place(self._path).problem(message))
            return None
        if self._text("ssl.endpoint.identification.algorithm") == "":
            context.check_hostname = False
        return context

    def _text(self, name: str) -> str | None:
        given = self._properties.get(name)
        return given.value if given is not None else None

    def _choice(self, name: str, choices: tuple[str, ...]) -> str | None:
        given = self._properties.get(name)
        if given is None or given.value.upper() in choices:
            return given.value.upper() if given is not None else None
        allowed = f"{name} {', '.join(choices[:-1])} or {choices[-1]}"
        self._problems.append(given.place.problem(f"found {shown(given.value)}, expected {allowed}"))
        return None


def read_live_cluster(bootstrap: str, properties: str | None = None) -> ClusterDescription:
    """Ask a live cluster for its brokers, topics, configurations and quorum.

    ``properties`` is the path of a client's properties file.

    Raises:
        LiveClusterError: no client library, no connection, or a cluster that refuses to answer.
        PlaybookError: a properties file that cannot be read or followed.
    """
    settings: dict[str, Any] = {}
    if properties is not None:
        try:
            text = Path(properties).read_text("utf-8")
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise PlaybookError([Problem(properties, 0, 0, "", f"cannot be read: {reason or error}")]) from None
        settings = client_settings(properties, text)
    try:
        from kafka import KafkaAdminClient  # noqa: PLC0415 - optional
        from kafka.errors import KafkaError  # noqa: PLC0415 - optional
    except ImportError:
        message = "asking a live cluster needs kafka-python: pip install 'floodmark[live]'"
        raise LiveClusterError(message) from None
    where = Place(bootstrap)
    try:
        servers = [server.strip() for server in bootstrap.split(",")]
        admin = KafkaAdminClient(
            bootstrap_servers=servers, bootstrap_timeout_ms=_TIMEOUT_MS, request_timeout_ms=_TIMEOUT_MS, **settings
        )
        with closing(admin):
            return _ask(admin, where)
    except (KafkaError, OSError, ValueError) as error:
        raise LiveClusterError(
            f"{bootstrap} cannot be asked: {printable(str(error)) or type(error).__name__}"
        ) from None


def _ask(admin: Any, where: Place) -> ClusterDescription:
    description = ClusterDescription()
    for broker in _brokers(admin):
        description.broker(int(broker["broker_id"]), where).rack = broker.get("rack") or None
    for topic in admin.describe_topics():
        if topic.get("error_code"):
            message = f"found error {topic['error_code']} for topic {shown(topic['name'])}, expected its partitions"
            raise PlaybookError([where.problem(message)])
        described = description.topic(topic["name"], where)
        for partition in topic["partitions"]:
            leader = partition["leader_id"] if partition["leader_id"] >= 0 else NO_LEADER
            replicas, isr = tuple(partition["replica_nodes"]), tuple(partition["isr_nodes"])
            number = partition["partition_index"]
            described.partitions[number] = DescribedPartition(replicas, leader, isr, where)
            for replica in replicas:
                description.broker(replica, where)
        described.partition_count = len(described.partitions)
    _ask_configs(admin, description, where)
    _ask_quorum(admin, description, where)
    return description


def _brokers(admin: Any) -> list[dict[str, Any]]:
    try:
        return list(admin.describe_cluster()["brokers"])
    except KeyError:
        # kafka-python 3.0.12 fails on the answer of brokers before 3.7, which has no type of endpoint. It has a way for
        # brokers without that request, which all releases answer.
        nodes = admin._manager.run(admin._get_cluster_metadata, [])["brokers"]
        return [{**node, "broker_id": node["node_id"]} for node in nodes]


def _ask_configs(admin: Any, description: ClusterDescription, where: Place) -> None:
    from kafka.admin import ConfigResource, ConfigResourceType  # noqa: PLC0415 - optional

    topics = list(description.topics)
    for start in range(0, len(topics), _BATCH):
        names = topics[start : start + _BATCH]
        answers = admin.describe_configs(
            [ConfigResource(ConfigResourceType.TOPIC, name) for name in names], config_filter="all"
        )
        for name, entries in answers.get("topic", {}).items():
            for key, value, source in _entries(entries):
                if source == "dynamic_topic_config":
                    description.topics[name].configs[key] = GivenValue(value, where)
    for number in list(description.brokers):
        answers = admin.describe_configs([ConfigResource(ConfigResourceType.BROKER, str(number))], config_filter="all")
        for entries in answers.get("broker", {}).values():
            for key, value, source in _entries(entries):
                if source == _DYNAMIC_DEFAULT:
                    description.configs[key] = GivenValue(value, where)
                elif source != "default_config":
                    description.brokers[number].configs[key] = GivenValue(value, where)


def _entries(entries: Mapping[str, Any]) -> Iterable[tuple[str, str, str]]:
    """Yield name, value and source of each configuration that has a value."""
    for name, entry in entries.items():
        if entry.get("value") is not None:
            yield name, str(entry["value"]), str(entry["config_source"]).lower()


def _ask_quorum(admin: Any, description: ClusterDescription, where: Place) -> None:
    """Add the voters of a KRaft cluster; one that has no such API is of ZooKeeper, or older than 3.3."""
    from kafka.errors import KafkaError  # noqa: PLC0415 - optional

    try:
        quorum = admin.describe_metadata_quorum()
        partition = quorum["topics"][0]["partitions"][0]
        description.voters = tuple(sorted(voter["replica_id"] for voter in partition["current_voters"]))
        description.voters_place, description.mode = where, GivenValue("kraft", where)
    except (KafkaError, KeyError, IndexError, ValueError):
        description.notes.append("the quorum, which the cluster does not describe")

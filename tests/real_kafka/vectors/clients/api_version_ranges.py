"""APIs with their versions and listeners (``ApiKeys``), compared with the table of the gateway."""

from typing import Any, Final

from cluster_model.protocol.releases import parse_version
from cluster_model.protocol.versions import Mode, modes_of
from gateway.protocol.api_versions import CEILINGS, KRAFT_ONLY, offered
from tests.real_kafka.vectors.subject import Answers, Exemption, Subject

_BROKERS: Final[dict[str, Mode]] = {"BROKER": "kraft", "ZK_BROKER": "zookeeper"}
"""Listener → the mode of the brokers that have it (``ApiMessageType.ListenerType``)."""


def model_answers(release: str, kafka: Answers) -> Answers:
    """Return versions of every API that the gateway offers, and the brokers (by mode) that have it.

    The oldest version of the gateway may be newer than Kafka's, never older; then the answer is Kafka's.
    """
    number = parse_version(release)
    modes = modes_of(release)
    ranges = offered(number)
    found: dict[str, Any] = {}
    for api in CEILINGS:
        if api in ranges:
            oldest, newest = ranges[api]
            found[f"{api}/newest stable"] = newest
            found[f"{api}/oldest"] = min(oldest, kafka.get(f"{api}/oldest", oldest))
        listeners = kafka.get(f"{api}/listeners")
        if listeners and kafka[f"{api}/newest stable"] >= 0:
            unasked = [listener for listener in listeners if _BROKERS.get(listener) not in modes]
            having = [name for name, mode in _BROKERS.items() if mode in modes and _has(api, ranges, mode)]
            found[f"{api}/listeners"] = sorted((*unasked, *having))
    return found


def _has(api: int, ranges: dict[int, tuple[int, int]], mode: Mode) -> bool:
    return api in ranges and (mode == "kraft" or api not in KRAFT_ONLY)


API_VERSION_RANGES: Final = Subject(
    "api_version_ranges",
    "ApiVersionRanges",
    "ApiKeys: versions, the newest stable one, listeners",
    model_answers,
    modelled_since="1.0.2",
    stated=(
        Exemption(
            "24/newest stable", "only brokers send versions 4 and 5 (KIP-890); the gateway serves clients", "3.6.2"
        ),
    ),
)

"""Error codes, and whether a client retries after them or refreshes its metadata (``Errors``)."""

from typing import Any, Final

from cluster_model.protocol.errors import INVALID_METADATA, RETRIABLE, KafkaError
from cluster_model.protocol.versions import ClientProfile
from tests.real_kafka.vectors.subject import Answers, Exemption, Subject


def model_answers(release: str, kafka: Answers) -> Answers:
    """Return name, retriable and invalid metadata of each code of the model that the release has."""
    client = ClientProfile.of(release)
    found: dict[str, Any] = {}
    for error in KafkaError:
        if f"{error.value}/name" in kafka:
            found[f"{error.value}/name"] = error.name
            found[f"{error.value}/retriable"] = error in RETRIABLE
            found[f"{error.value}/invalid metadata"] = error in INVALID_METADATA and (
                error is not KafkaError.UNKNOWN_TOPIC_OR_PARTITION or client.unknown_topic_is_stale
            )
    return found


_NAMES: Final = "the model uses the newest name of a code in every release"
_NOT_SENT: Final = "no broker sends it to a producer of these releases, and only producers use the set"

ERROR_CODES: Final = Subject(
    "error_codes",
    "ErrorCodes",
    "Errors: code, name, exception, retriable, invalid metadata",
    model_answers,
    stated=(
        Exemption("-1/name", _NAMES, until="0.11.0.3"),
        Exemption("6/name", _NAMES, until="2.5.1"),
        Exemption("1[456]/name", _NAMES, since="0.9.0.1", until="0.10.2.2"),
        Exemption("1/retriable", _NOT_SENT, until="0.8.2.2"),
        Exemption("9/*", _NOT_SENT, since="0.9.0.1", until="2.5.1"),
        Exemption(
            "46/retriable", "the producer takes this code as success before it looks at the set", until="0.11.0.3"
        ),
        Exemption("51/retriable", _NOT_SENT, since="0.11.0.3", until="3.2.3"),
    ),
    fixed=(
        Exemption("3/invalid metadata", "a producer of 0.8.2 keeps its metadata (before KAFKA-2246)", until="0.8.2.2"),
        Exemption("41/retriable", "Errors.NOT_CONTROLLER is a RetriableException", since="0.10.1.1"),
        Exemption("7[01]/retriable", "errors of fetch sessions are retriable (KIP-227)", since="1.1.1"),
        Exemption(
            "80/[ri]*", "PreferredLeaderNotAvailableException is an InvalidMetadataException (KIP-183)", since="2.2.2"
        ),
        Exemption("8[34]/[ri]*", "errors of elections are InvalidMetadataExceptions (KIP-460)", since="2.4.1"),
    ),
)

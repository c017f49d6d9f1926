"""The errors that older versions of an API get in place of newer ones that they do not know.

Kafka does so wherever a response is made (``KafkaApis``); here it is one table, looked at for every response.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from cluster_model.protocol.errors import KafkaError as E
from gateway.protocol import api_versions as api


class Since(NamedTuple):
    """From which version on an API has an error, and the error that stands for it before."""

    version: int
    error: int
    before: int


_FENCED: Final = Since(2, E.PRODUCER_FENCED, E.INVALID_PRODUCER_EPOCH)
"""A producer from before 2.7 knows one error for both (KIP-588)."""

NEWER: Final[dict[int, tuple[Since, ...]]] = {
    api.PRODUCE: (Since(4, E.KAFKA_STORAGE_ERROR, E.NOT_LEADER_OR_FOLLOWER),),
    api.FETCH: (Since(6, E.KAFKA_STORAGE_ERROR, E.NOT_LEADER_OR_FOLLOWER),),
    api.LIST_OFFSETS: (Since(5, E.OFFSET_NOT_AVAILABLE, E.LEADER_NOT_AVAILABLE),),
    api.INIT_PRODUCER_ID: (Since(4, E.PRODUCER_FENCED, E.INVALID_PRODUCER_EPOCH),),
    api.ADD_PARTITIONS_TO_TXN: (_FENCED,),
    api.ADD_OFFSETS_TO_TXN: (_FENCED,),
    api.END_TXN: (_FENCED,),
    api.TXN_OFFSET_COMMIT: (Since(2, E.COORDINATOR_LOAD_IN_PROGRESS, E.COORDINATOR_NOT_AVAILABLE),),
}
"""TxnOffsetCommit before 2 is that of producers that end by the first error (KAFKA-7296)."""


def as_known(number: int, version: int, said: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields of a response of API ``number``, with errors that its version knows."""
    changes = {each.error: each.before for each in NEWER.get(number, ()) if version < each.version}
    return _changed(said, changes) if changes else said


def _changed(said: Mapping[str, Any], changes: Mapping[int, int]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in said.items():
        if name.endswith("error_code"):
            found[name] = changes.get(value, value)
        elif isinstance(value, list):
            found[name] = [_changed(each, changes) if isinstance(each, Mapping) else each for each in value]
        else:
            found[name] = value
    return found

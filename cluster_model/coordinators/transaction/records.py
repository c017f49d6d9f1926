"""Records of ``__transaction_state`` as named records: ``KEY=VALUE``, compact JSON arrays, and ``KEY=`` a tombstone.

A key begins with Kafka's key version 0 (``TransactionLogKey``, ``TransactionLogValue``).
"""

import json
from typing import Any, Final, NamedTuple

NO_ID: Final = -1
NO_EPOCH: Final = -1
_KEY_VERSION: Final = 0


class TxnValue(NamedTuple):
    """What is known of a transactional id. ``state`` is a :class:`~cluster_model.coordinators.transaction.transaction_metadata.TxnState`.

    ``start_us`` is when the open transaction began, -1 for none. ``client_version`` 2: the client knows that its epoch
    rises with every transaction (KIP-890).
    """

    producer_id: int
    producer_epoch: int
    timeout_us: int
    state: int
    partitions: tuple[str, ...] = ()
    last_update_us: int = -1
    start_us: int = -1
    previous_producer_id: int = NO_ID
    next_producer_id: int = NO_ID
    client_version: int = 0


def encode(transactional_id: str, value: TxnValue | None) -> str:
    """The record's text; without a value its tombstone."""
    return f"{_text([_KEY_VERSION, transactional_id])}={'' if value is None else _text(value)}"


def decode(text: str) -> tuple[str, TxnValue | None]:
    """Undo of :func:`encode`.

    Raises:
        ValueError: a record of something else.
    """
    key_text, _sign, value_text = text.partition("=")
    version, transactional_id = json.loads(key_text)
    if version != _KEY_VERSION:
        raise ValueError(f"no record of a transaction: {text!r}")
    if not value_text:
        return transactional_id, None
    producer_id, epoch, timeout_us, state, partitions, *more = json.loads(value_text)
    return transactional_id, TxnValue(producer_id, epoch, timeout_us, state, tuple(partitions), *more)


def _text(value: Any) -> str:
    # A record's key ends at its first "=", so there is none inside: the sign only ever stands in a JSON string.
    return json.dumps(value, separators=(",", ":")).replace("=", "\\u003d")

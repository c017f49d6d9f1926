"""What a replica reports when a produce that waited for the high watermark is settled."""

from typing import NamedTuple

from cluster_model.protocol.errors import KafkaError


class Completed(NamedTuple):
    """A produce with acks=all is settled; ``token`` is what the caller gave when it began to wait."""

    token: int
    error: KafkaError

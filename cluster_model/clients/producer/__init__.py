"""The producer, idempotent and transactional.

producer: its life and its records; config: its settings, with what changes between client releases.
record_accumulator: batches that wait; sender: the I/O thread, requests in flight, and what became of records.
partitioners and partition_selector: where records go.
transaction_manager: producer ids, sequences and transactions; transactional_producer: the producer that uses it.
application_producers: producers that a consuming application drives.
"""

from cluster_model.clients.producer.application_producers import SUFFIX
from cluster_model.clients.producer.config import ProducerConfig
from cluster_model.clients.producer.producer import Producer
from cluster_model.clients.producer.transactional_producer import TransactionalProducer

__all__ = [
    "SUFFIX",
    "Producer",
    "ProducerConfig",
    "TransactionalProducer",
]

"""Kafka's producer client, plain, idempotent and transactional.

producer: the process and its ``send``; config: its settings by client release.
record_accumulator: queued batches; sender: the I/O thread, in-flight requests and delivery statistics.
partitioners and partition_selector: the partition of each record.
transaction_manager: producer ids, sequences and transactions; transactional_producer: the producer that uses it.
application_producers: producers driven by a consuming application.
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

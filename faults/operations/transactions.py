"""``kafka-transactions.sh`` (KIP-664): list transactions, describe producers, find and abort hanging ones.

Hanging transactions are found in Kafka's order: partition leaders report transactions that are open for too long,
coordinators report their transactional ids, and the coordinator of each reports the partitions it still has to mark. A
transaction may end between two of these requests; only the last response shows it.
"""

from typing import Any

from cluster_model.clients import Answer, BrokerCall, DescribeMetadata
from cluster_model.coordinators.transaction import (
    OpenTransaction,
    abort_marker,
    candidates,
    hanging,
    hanging_table,
    list_table,
    open_at,
    producer_table,
)
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.transaction_messages import (
    NOTHING,
    ActiveProducer,
    DescribeProducersRequest,
    DescribeTransactionsRequest,
    ListedTransaction,
    ListTransactionsRequest,
    WriteTxnMarkersRequest,
)
from faults.operations.base import OperationContext, OperationJob, count_text
from faults.operations.consumer_groups import StagedOperation, partitions_in
from faults.operations.reassignment import ReassignmentError


class CoordinatorsOperation(StagedOperation):
    """Base of operations that query the coordinators on all brokers."""

    def check_metadata(self, context: OperationContext, job: OperationJob, answer: Any) -> bool:
        """Return whether a broker returned its metadata; if not, end the operation."""
        if not answer.brokers:
            context.end(job, "REQUEST_TIMED_OUT", "no broker returned its metadata in time")
        return bool(answer.brokers)

    def ask_everyone(
        self, context: OperationContext, job: OperationJob, answer: Any, producer_ids: tuple[int, ...] = ()
    ) -> None:
        """Have each broker list its transactional ids; stage ``listed``. ``answer`` is the metadata."""
        if not self.check_metadata(context, job, answer):
            return
        job.stage, job.memo["left"], job.memo["listed"] = "listed", len(answer.brokers), ()
        for broker in sorted(answer.brokers):
            context.send(job, BrokerCall(0, broker, ListTransactionsRequest(0, producer_ids)))

    def all_listed(self, job: OperationJob, answer: Any) -> bool:
        """Store one broker's list; return True when all have been received."""
        job.memo["left"] -= 1
        job.memo["listed"] += tuple((answer.broker, each) for each in answer.transactions)
        return not job.memo["left"]


class TransactionListing(CoordinatorsOperation):
    """The ``list`` command. Stages: metadata, then listed for every broker."""

    def begin(self, context: OperationContext, job: OperationJob) -> None:
        """Request the list of brokers."""
        self.ask_metadata(context, job)

    def _metadata(self, context: OperationContext, job: OperationJob, answer: Any) -> None:
        self.ask_everyone(context, job, answer)

    def _listed(self, context: OperationContext, job: OperationJob, answer: Any) -> None:
        if self.all_listed(job, answer):
            found: tuple[tuple[int, ListedTransaction], ...] = tuple(
                sorted(job.memo["listed"], key=lambda each: each[0])
            )
            self.report_table(context, job, list_table(found) if found else [])
            context.end(job, "", count_text(len(found), "transactional id"))


class ProducerDescription(StagedOperation):
    """The ``describe-producers`` command: the producer state of a partition's leader. Stage: producers."""

    def begin(self, context: OperationContext, job: OperationJob) -> None:
        """Query the leader."""
        job.stage = "producers"
        context.send(job, DescribeProducersRequest(0, job.params["partition"]))

    def _producers(self, context: OperationContext, job: OperationJob, answer: Any) -> None:
        found: tuple[ActiveProducer, ...] = answer.producers
        self.report_table(context, job, producer_table(found) if found else [])
        opened = sum(each.start_offset != NOTHING for each in found)
        context.end(job, "", f"{count_text(len(found), 'producer')}, {count_text(opened, 'open transaction')}")


class HangingTransactionSearch(CoordinatorsOperation):
    """The ``find-hanging`` command. Stages: metadata, producers; with suspects also brokers, listed, described."""

    def begin(self, context: OperationContext, job: OperationJob) -> None:
        """Request the list of partitions."""
        self.ask_metadata(context, job)

    def on_response(self, context: OperationContext, job: OperationJob, answer: Answer) -> None:
        """Continue if the coordinator has removed the id meanwhile: it will write no marker."""
        if getattr(answer, "error", 0) == KafkaError.TRANSACTIONAL_ID_NOT_FOUND:
            self._described(context, job, answer)
        else:
            super().on_response(context, job, answer)

    def _metadata(self, context: OperationContext, job: OperationJob, answer: Any) -> None:
        if not self.check_metadata(context, job, answer):
            return
        try:
            partitions = (
                (job.params["partition"],) if job.params["partition"] else partitions_in((job.params["topic"],), answer)
            )
        except ReassignmentError as wrong:
            context.end(job, wrong.error, str(wrong))
            return
        job.stage, job.memo["left"], job.memo["suspects"] = "producers", len(partitions), ()
        for partition in partitions:
            context.send(job, DescribeProducersRequest(0, partition))

    def _producers(self, context: OperationContext, job: OperationJob, answer: Any) -> None:
        memo, largest = job.memo, job.params["max_transaction_timeout"]
        memo["left"] -= 1
        memo["suspects"] += candidates(answer.partition, answer.producers, context.cluster.now_us, largest)
        if memo["left"]:
            return
        if not memo["suspects"]:
            self.on_transactions(context, job, ())
            return
        job.stage = "brokers"
        context.send(job, DescribeMetadata(0))

    def _brokers(self, context: OperationContext, job: OperationJob, answer: Any) -> None:
        suspects: tuple[OpenTransaction, ...] = job.memo["suspects"]
        self.ask_everyone(context, job, answer, tuple(dict.fromkeys(each.producer.producer_id for each in suspects)))

    def _listed(self, context: OperationContext, job: OperationJob, answer: Any) -> None:
        if not self.all_listed(job, answer):
            return
        memo = job.memo
        memo["ids"] = tuple((each.producer_id, each.transactional_id) for _broker, each in memo["listed"])
        names = tuple(dict.fromkeys(name for _producer_id, name in memo["ids"]))
        job.stage, memo["left"], memo["expected"] = "described", len(names), ()
        for name in names:
            context.send(job, DescribeTransactionsRequest(0, name))
        if not names:
            self.on_transactions(context, job, hanging(memo["suspects"], {}, {}))

    def _described(self, context: OperationContext, job: OperationJob, answer: Any) -> None:
        memo = job.memo
        memo["left"] -= 1
        memo["expected"] += ((answer.transactional_id, answer.partitions),)
        if not memo["left"]:
            self.on_transactions(context, job, hanging(memo["suspects"], dict(memo["ids"]), dict(memo["expected"])))

    def on_transactions(
        self, context: OperationContext, job: OperationJob, transactions: tuple[OpenTransaction, ...]
    ) -> None:
        """End with the hanging transactions."""
        self.report_table(context, job, hanging_table(transactions, context.cluster.now_us) if transactions else [])
        context.end(job, "", count_text(len(transactions), "hanging transaction"))


class TransactionAbort(HangingTransactionSearch):
    """The ``abort`` command. Stages: open if the start offset is given, else those of find-hanging; then aborted.

    Kafka has no error code for finding no transaction to abort: the tool exits with a message, which is INVALID_REQUEST
    here.
    """

    def begin(self, context: OperationContext, job: OperationJob) -> None:
        """Find the transaction's producer."""
        job.memo["others"] = 0
        if job.params["start_offset"] == NOTHING:
            super().begin(context, job)
            return
        job.stage = "open"
        context.send(job, DescribeProducersRequest(0, job.params["partition"]))

    def _open(self, context: OperationContext, job: OperationJob, answer: Any) -> None:
        start, partition = job.params["start_offset"], job.params["partition"]
        transaction = open_at(partition, answer.producers, start)
        if transaction is None:
            message = f"Could not find any open transactions starting at offset {start} on partition {partition}"
            context.end(job, "INVALID_REQUEST", message)
        else:
            self._abort(context, job, transaction)

    def on_transactions(
        self, context: OperationContext, job: OperationJob, transactions: tuple[OpenTransaction, ...]
    ) -> None:
        """Abort the first one, which blocks the last stable offset."""
        if not transactions:
            context.end(job, "INVALID_REQUEST", f"no hanging transaction in {job.params['partition']}")
            return
        job.memo["others"] = len(transactions) - 1
        self._abort(context, job, transactions[0])

    def _abort(self, context: OperationContext, job: OperationJob, transaction: OpenTransaction) -> None:
        job.stage, job.memo["aborting"] = "aborted", transaction
        context.send(job, WriteTxnMarkersRequest(0, abort_marker(transaction)))

    def _aborted(self, context: OperationContext, job: OperationJob, answer: Any) -> None:
        del answer
        producer = job.memo["aborting"].producer
        others = f"; {count_text(job.memo['others'], 'other')} left" if job.memo["others"] else ""
        context.end(
            job,
            "",
            f"producer {producer.producer_id}: aborted the transaction from offset {producer.start_offset}{others}",
        )

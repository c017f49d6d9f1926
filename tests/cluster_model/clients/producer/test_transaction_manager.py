"""A transactional producer's states and requests: what each answer and each failed batch makes of them (KIP-98)."""

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.clients.producer.config import ProducerConfig
from cluster_model.clients.producer.record_accumulator import ProducerBatch, add_to_heap, remove_from_heap
from cluster_model.clients.producer.transaction_manager import (
    ADD,
    COMMIT,
    END,
    FIRST_WAIT_US,
    INIT,
    OFFSETS,
    ProducerTransactionState,
    TransactionCall,
    TransactionManager,
    TransactionOffsets,
    TransactionRules,
    transaction_rules,
)
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.group_messages import CommittedOffset, TxnOffsetCommitRequest
from cluster_model.protocol.messages import InitProducerIdRequest
from cluster_model.protocol.transaction_messages import AddOffsetsToTxnRequest, AddPartitionsToTxnRequest, EndTxnRequest
from cluster_model.protocol.versions import ClientProfile, Profile

E = KafkaError
S = ProducerTransactionState
BACKOFF = 100_000
TIMEOUT = 60_000_000
OLD = TransactionRules(bumps=False, fenced_by_leaders=True, members=False)
USUAL = TransactionRules()
EPOCHS = TransactionRules(epochs=True, versions=(12, 5, 5))
ALL = (OLD, USUAL, EPOCHS)
OF_A_MEMBER = TransactionOffsets("g", (CommittedOffset("in-0", 7, 2),), 3, "g-1", "")


class Talk:
    """A manager and the other side of its requests."""

    def __init__(self, rules: TransactionRules = USUAL) -> None:
        self.manager = TransactionManager("tx", TIMEOUT, BACKOFF, rules)
        self.now = 0
        self.requests: list[object] = []

    def ask(self, *, idle: bool = True) -> str:
        """Make the next request; its kind, empty for none."""
        ask = self.manager.next(self.now, idle=idle)
        if ask is None:
            return ""
        self.requests.append(self.manager.sent(ask))
        return ask.kind

    def answer(self, error: KafkaError = E.NONE, producer_id: int = -1, epoch: int = -1) -> None:
        self.manager.on_response(error, self.now, producer_id, epoch)

    def does(self, *kinds: str) -> "Talk":
        """Requests of these kinds, each granted."""
        for kind in kinds:
            self.now += BACKOFF
            assert self.ask() == kind
            if kind == INIT or (kind == END and self.manager.rules.epochs):
                self.answer(E.NONE, 7_000, self.manager.epoch + 1)
            else:
                self.answer()
        return self


def ready(rules: TransactionRules = USUAL) -> Talk:
    talk = Talk(rules)
    talk.manager.initialize()
    return talk.does(INIT)


def writing(rules: TransactionRules = USUAL) -> Talk:
    """In a transaction that has written to orders-0."""
    talk = ready(rules)
    talk.manager.begin()
    talk.manager.add_partition("orders-0")
    return talk if rules.epochs else talk.does(ADD)


def test_it_begins_with_an_id_of_its_own() -> None:
    talk = Talk()
    assert talk.manager.state is S.UNINITIALIZED
    assert talk.ask() == ""
    talk.manager.initialize()
    assert talk.manager.state is S.INITIALIZING
    assert talk.ask() == INIT
    assert talk.requests == [InitProducerIdRequest(0, "tx", TIMEOUT, -1, -1)]
    assert talk.ask() == ""
    talk.answer(E.NONE, 7_000, 4)
    assert (talk.manager.state, talk.manager.producer_id, talk.manager.epoch) == (S.READY, 7_000, 4)


def test_a_partition_is_added_before_it_may_be_written_to() -> None:
    talk = ready()
    talk.manager.begin()
    talk.manager.add_partition("orders-0")
    talk.manager.add_partition("orders-1")
    talk.manager.add_partition("orders-0")
    assert not talk.manager.partitions
    assert talk.ask() == ADD
    talk.manager.add_partition("orders-1")
    talk.manager.add_partition("orders-2")
    assert talk.requests[-1] == AddPartitionsToTxnRequest(0, "tx", 7_000, 0, ("orders-0", "orders-1"))
    talk.answer()
    assert list(talk.manager.partitions) == ["orders-0", "orders-1"]
    assert talk.ask() == ADD
    assert talk.requests[-1] == AddPartitionsToTxnRequest(0, "tx", 7_000, 0, ("orders-2",))


def test_with_an_epoch_for_every_transaction_the_first_write_adds_the_partition() -> None:
    talk = writing(EPOCHS)
    assert list(talk.manager.partitions) == ["orders-0"]
    assert talk.ask() == ""


@pytest.mark.parametrize("rules", ALL)
@pytest.mark.parametrize("committed", [True, False])
def test_the_end_waits_for_the_last_batch(rules: TransactionRules, committed: bool) -> None:
    talk = writing(rules)
    (talk.manager.commit if committed else talk.manager.abort)()
    assert talk.manager.state is (S.COMMITTING if committed else S.ABORTING)
    assert talk.ask(idle=False) == ""
    assert not talk.manager.end_sent
    assert talk.ask() == END
    assert talk.manager.end_sent
    assert talk.requests[-1] == EndTxnRequest(0, "tx", 7_000, 0, committed, rules.versions[1])
    talk.answer(E.NONE, *((7_000, 1) if rules.epochs else (-1, -1)))
    assert (talk.manager.state, talk.manager.epoch) == (S.READY, int(rules.epochs))
    assert not talk.manager.partitions


def test_the_last_answer_of_an_id_that_is_used_up_names_the_next() -> None:
    talk = writing(EPOCHS)
    talk.manager.commit()
    assert talk.ask() == END
    talk.answer(E.NONE, 8_000, 0)
    assert (talk.manager.producer_id, talk.manager.epoch) == (8_000, 0)


@pytest.mark.parametrize("rules", ALL)
def test_an_empty_transaction_ends_without_a_request(rules: TransactionRules) -> None:
    talk = ready(rules)
    for end in (talk.manager.commit, talk.manager.abort):
        talk.manager.begin()
        end()
        assert talk.ask() == ""
        assert talk.manager.state is S.READY


def test_offsets_go_to_the_coordinator_of_transactions_and_then_to_that_of_the_group() -> None:
    talk = ready()
    talk.manager.begin()
    talk.manager.send_offsets(OF_A_MEMBER)
    talk.manager.commit()
    assert talk.ask() == OFFSETS
    assert talk.requests[-1] == AddOffsetsToTxnRequest(0, "tx", 7_000, 0, "g")
    talk.answer()
    ask = talk.manager.next(talk.now, idle=True)
    assert ask is not None
    assert (ask.kind, ask.group) == (COMMIT, "g")
    talk.requests.append(talk.manager.sent(ask))
    assert talk.requests[-1] == TxnOffsetCommitRequest(0, "tx", "g", 7_000, 0, OF_A_MEMBER.offsets, 3, "g-1", "", 3)
    talk.answer()
    assert talk.ask() == END


def test_before_kip_447_offset_commits_name_no_member() -> None:
    talk = ready(OLD)
    talk.manager.begin()
    talk.manager.send_offsets(OF_A_MEMBER)
    talk.does(OFFSETS)
    assert talk.ask() == COMMIT
    request = talk.requests[-1]
    assert isinstance(request, TxnOffsetCommitRequest)
    assert (request.generation_id, request.member_id) == (-1, "")


def test_with_an_epoch_for_every_transaction_offsets_add_their_partition_themselves() -> None:
    talk = ready(EPOCHS)
    talk.manager.begin()
    talk.manager.send_offsets(OF_A_MEMBER)
    talk.does(COMMIT)
    talk.manager.commit()
    assert talk.ask() == END


# --- what comes again -----------------------------------------------------------------------------------------------


def at_work(kind: str, rules: TransactionRules = USUAL) -> Talk:
    """A request of a kind is under way."""
    if kind == INIT:
        talk = Talk(rules)
        talk.manager.initialize()
    elif kind == ADD:
        talk = ready(rules)
        talk.manager.begin()
        talk.manager.add_partition("orders-0")
    else:
        talk = writing(rules)
        if kind == END:
            talk.manager.commit()
        else:
            talk.manager.send_offsets(OF_A_MEMBER)
            if kind == COMMIT and not rules.epochs:
                talk.does(OFFSETS)
    talk.now += BACKOFF
    assert talk.ask() == kind
    return talk


KINDS = (INIT, ADD, OFFSETS, COMMIT, END)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("error", [E.COORDINATOR_NOT_AVAILABLE, E.NOT_COORDINATOR])
def test_the_request_is_repeated_at_the_new_transaction_coordinator(kind: str, error: KafkaError) -> None:
    talk = at_work(kind)
    state, request = talk.manager.state, talk.requests[-1]
    talk.answer(error)
    assert talk.manager.lost_coordinator == ("g" if kind == COMMIT else "own")
    assert talk.ask() == ""
    assert talk.manager.next_action_us(talk.now) == talk.now + BACKOFF
    talk.now += BACKOFF
    assert talk.ask() == kind
    assert (talk.manager.state, talk.requests[-1]) == (state, request)


@pytest.mark.parametrize("kind", KINDS)
def test_requests_to_loading_or_silent_coordinators_are_repeated(kind: str) -> None:
    talk = at_work(kind)
    talk.answer(E.COORDINATOR_LOAD_IN_PROGRESS)
    assert talk.manager.lost_coordinator == ""
    talk.now += BACKOFF
    assert talk.ask() == kind
    talk.manager.unanswered(talk.now)
    assert talk.ask() == ""
    talk.now += BACKOFF
    assert talk.ask() == kind


@pytest.mark.parametrize("kind", [INIT, OFFSETS, END])
def test_concurrent_transactions_wait_for_the_back_off(kind: str) -> None:
    talk = at_work(kind)
    talk.answer(E.CONCURRENT_TRANSACTIONS)
    assert talk.manager.next_action_us(talk.now) == talk.now + BACKOFF


def test_the_first_partition_of_a_transaction_waits_less_for_the_one_before_to_be_completed() -> None:
    talk = at_work(ADD)
    talk.answer(E.CONCURRENT_TRANSACTIONS)
    assert talk.manager.next_action_us(talk.now) == talk.now + FIRST_WAIT_US
    talk.now += FIRST_WAIT_US
    assert talk.ask() == ADD
    talk.answer()
    talk.manager.add_partition("orders-1")
    assert talk.ask() == ADD
    talk.answer(E.CONCURRENT_TRANSACTIONS)
    assert talk.manager.next_action_us(talk.now) == talk.now + BACKOFF


@pytest.mark.parametrize("kind", [ADD, COMMIT])
def test_unknown_partitions_are_added_to_the_transaction_again(kind: str) -> None:
    talk = at_work(kind)
    talk.answer(E.UNKNOWN_TOPIC_OR_PARTITION)
    talk.now += BACKOFF
    assert talk.ask() == kind


# --- what ends the transaction, or the producer ---------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("error", [E.PRODUCER_FENCED, E.INVALID_PRODUCER_EPOCH])
@pytest.mark.parametrize("rules", [OLD, USUAL])
def test_a_producer_that_is_fenced_by_a_coordinator_is_so_for_good(
    kind: str, error: KafkaError, rules: TransactionRules
) -> None:
    talk = at_work(kind, rules)
    talk.answer(error)
    assert (talk.manager.state, talk.manager.error) == (S.FATAL_ERROR, E.PRODUCER_FENCED)
    assert talk.ask() == ""


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        (INIT, E.INVALID_TRANSACTION_TIMEOUT), (INIT, E.UNSUPPORTED_VERSION), (ADD, E.INVALID_TXN_STATE),
        (OFFSETS, E.INVALID_TXN_STATE), (END, E.INVALID_TXN_STATE), (COMMIT, E.INVALID_GROUP_ID),
    ],
)  # fmt: skip
def test_fatal_errors_of_the_transaction_manager(kind: str, error: KafkaError) -> None:
    talk = at_work(kind)
    talk.answer(error)
    assert (talk.manager.state, talk.manager.error) == (S.FATAL_ERROR, error)


@pytest.mark.parametrize("error", [E.ILLEGAL_GENERATION, E.UNKNOWN_MEMBER_ID, E.FENCED_INSTANCE_ID])
def test_offsets_of_a_producer_that_is_no_member_cost_the_transaction(error: KafkaError) -> None:
    talk = at_work(COMMIT)
    talk.answer(error)
    assert (talk.manager.state, talk.manager.error) == (S.ABORTABLE_ERROR, error)


@pytest.mark.parametrize("kind", KINDS)
def test_abortable_errors_of_the_transaction_manager(kind: str) -> None:
    talk = at_work(kind)
    talk.answer(E.TRANSACTION_ABORTABLE)
    assert talk.manager.state is S.ABORTABLE_ERROR


@pytest.mark.parametrize("kind", [ADD, OFFSETS, END])
@pytest.mark.parametrize("rules", [OLD, USUAL])
def test_an_unknown_mapping_is_abortable_if_the_epoch_can_be_raised(kind: str, rules: TransactionRules) -> None:
    talk = at_work(kind, rules)
    talk.answer(E.INVALID_PRODUCER_ID_MAPPING)
    if rules is OLD:
        assert talk.manager.state is S.FATAL_ERROR
        return
    assert talk.manager.state is S.ABORTABLE_ERROR
    talk.manager.abort()
    # There is nothing to abort at the coordinator: the next thing is a new id.
    assert talk.ask() == INIT
    assert talk.requests[-1] == InitProducerIdRequest(0, "tx", TIMEOUT, 7_000, 0)
    talk.answer(E.NONE, 9_000, 0)
    assert (talk.manager.state, talk.manager.producer_id) == (S.READY, 9_000)


@pytest.mark.parametrize("kind", [ADD, OFFSETS, END])
def test_since_4_0_an_unknown_mapping_is_fatal(kind: str) -> None:
    """KAFKA-18019: the expired id may have fenced this producer."""
    rules = USUAL._replace(recovers_expired_id=False)
    talk, other = at_work(kind, rules), at_work(kind, rules)
    talk.answer(E.INVALID_PRODUCER_ID_MAPPING)
    other.manager.batch_failed(E.INVALID_PRODUCER_ID_MAPPING)
    assert talk.manager.state is other.manager.state is S.FATAL_ERROR
    assert talk.manager.error is E.INVALID_PRODUCER_ID_MAPPING


def test_pending_requests_are_dropped_with_the_transaction() -> None:
    talk = at_work(OFFSETS)
    talk.manager.add_partition("orders-1")
    talk.answer(E.TRANSACTION_ABORTABLE)
    assert talk.ask() == ""
    talk.manager.abort()
    assert talk.ask() == END
    assert talk.requests[-1] == EndTxnRequest(0, "tx", 7_000, 0, False, 4)


def test_a_failed_batch_costs_the_transaction_and_then_an_epoch(snapshot: SnapshotAssertion) -> None:
    talk = writing()
    talk.manager.batch_failed(E.REQUEST_TIMED_OUT)
    assert (talk.manager.state, talk.manager.error) == (S.ABORTABLE_ERROR, E.REQUEST_TIMED_OUT)
    with pytest.raises(ValueError, match="needs IN_TRANSACTION") as caught:
        talk.manager.commit()
    assert str(caught.value) == snapshot
    talk.manager.abort()
    assert talk.manager.error is E.NONE
    talk.does(END)
    assert talk.manager.state is S.INITIALIZING
    assert talk.ask() == INIT
    assert talk.requests[-1] == InitProducerIdRequest(0, "tx", TIMEOUT, 7_000, 0)
    talk.answer(E.NONE, 7_000, 1)
    assert (talk.manager.state, talk.manager.epoch) == (S.READY, 1)
    talk.manager.begin()
    talk.manager.abort()
    assert talk.ask() == ""
    assert talk.manager.state is S.READY


@pytest.mark.parametrize("rules", [OLD, EPOCHS])
def test_no_epoch_bump_is_requested_if_unsupported_or_part_of_end_txn(rules: TransactionRules) -> None:
    talk = writing(rules)
    talk.manager.batch_failed(E.REQUEST_TIMED_OUT)
    talk.manager.abort()
    talk.does(END)
    assert talk.manager.state is S.READY
    assert talk.ask() == ""


def test_a_batch_that_fails_in_a_commit_ends_the_commit() -> None:
    talk = writing()
    talk.manager.commit()
    assert talk.ask(idle=False) == ""
    talk.manager.batch_failed(E.REQUEST_TIMED_OUT)
    assert talk.manager.state is S.ABORTABLE_ERROR
    assert talk.ask() == ""
    assert not talk.manager.end_sent
    talk.manager.abort()
    assert talk.ask() == END


@pytest.mark.parametrize(("rules", "state"), [(OLD, S.FATAL_ERROR), (USUAL, S.ABORTABLE_ERROR)])
def test_a_leaders_word_on_the_epoch_was_fatal_before_kip_588(
    rules: TransactionRules, state: ProducerTransactionState
) -> None:
    talk = writing(rules)
    talk.manager.batch_failed(E.INVALID_PRODUCER_EPOCH)
    assert talk.manager.state is state


@pytest.mark.parametrize(
    ("rules", "state"), [(OLD, S.FATAL_ERROR), (USUAL, S.ABORTABLE_ERROR), (EPOCHS, S.ABORTABLE_ERROR)]
)
def test_an_unresolved_sequence_needs_a_new_epoch(rules: TransactionRules, state: ProducerTransactionState) -> None:
    talk = writing(rules)
    talk.manager.unresolved()
    assert talk.manager.state is state


def test_a_gap_that_shows_during_the_abort_brings_an_epoch_after_it() -> None:
    talk = writing()
    talk.manager.abort()
    talk.manager.unresolved()
    assert talk.manager.state is S.ABORTING
    talk.does(END, INIT)
    assert (talk.manager.state, talk.manager.epoch) == (S.READY, 1)


def test_calls_at_the_wrong_time_are_refused(snapshot: SnapshotAssertion) -> None:
    talk = ready()
    for call in (talk.manager.commit, talk.manager.abort, lambda: talk.manager.send_offsets(OF_A_MEMBER)):
        with pytest.raises(ValueError, match="needs IN_TRANSACTION") as caught:
            call()
        assert str(caught.value) == snapshot
    talk.manager.begin()
    with pytest.raises(ValueError, match="needs READY") as caught:
        talk.manager.begin()
    assert str(caught.value) == snapshot


@pytest.mark.parametrize("kind", KINDS)
def test_its_state_can_be_saved_at_any_time(kind: str) -> None:
    talk = at_work(kind)
    talk.manager.add_partition("orders-9")
    other = TransactionManager("tx", TIMEOUT, BACKOFF, USUAL)
    other.load(talk.manager.save())
    assert other.save() == talk.manager.save()
    assert isinstance(other.in_flight, TransactionCall)
    for each in (talk.manager, other):
        each.on_response(E.NONE, talk.now, 7_000, 3)
    assert other.save() == talk.manager.save()


# --- who agrees on what ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kafka", "client", "expected"),
    [
        ("0.11", "", (False, False, True, False, (9, 3, 3))),
        ("2.4", "", (False, False, True, False, (9, 3, 3))),
        ("2.5", "", (True, False, True, True, (9, 3, 3))),
        ("2.7", "", (True, False, False, True, (9, 3, 3))),
        ("3.5", "", (True, False, False, True, (9, 3, 3))),
        ("3.8", "", (True, False, False, True, (11, 4, 4))),
        ("4.0", "", (True, True, False, True, (12, 5, 5))),
        ("4.0", "3.5", (True, False, False, True, (9, 3, 3))),
        ("3.5", "4.0", (True, False, False, True, (9, 3, 3))),
        ("3.5", "2.4", (False, False, True, False, (9, 3, 3))),
    ],
)
def test_client_and_cluster_agree_on_the_older_ones_rules(
    kafka: str, client: str, expected: tuple[bool, bool, bool, bool, tuple[int, int, int]]
) -> None:
    profile = Profile.of(kafka)
    given = {"transactional.id": "tx", **({"client.version": client} if client else {})}
    config = ProducerConfig.of(profile, given)
    assert config.client == ClientProfile.of(client or kafka)
    assert transaction_rules(profile, config) == TransactionRules(*expected, config.client.recovers_expired_id)


# --- batches in flight as a heap --------------------------------------------------------------------------------------


def test_batches_in_flight_are_in_the_order_of_javas_priority_queue() -> None:
    """KAFKA-8483: the order of iteration, in which they get new sequences, is that of the array."""
    heap: list[ProducerBatch] = []
    batches = [ProducerBatch("t-0", number, 1, 0) for number in range(5)]
    for batch in batches:
        batch.first = batch.sequence
        add_to_heap(heap, batch)
    orders = []
    for batch in batches[:3]:
        remove_from_heap(heap, batch)
        orders.append([each.first for each in heap])
    assert orders == [[1, 3, 2, 4], [2, 3, 4], [3, 4]]


def test_a_heap_stays_one_whatever_is_removed() -> None:
    for removed in range(7):
        heap: list[ProducerBatch] = []
        for number in (4, 1, 6, 0, 5, 2, 3):
            batch = ProducerBatch("t-0", number, 1, 0)
            batch.first = number
            add_to_heap(heap, batch)
        remove_from_heap(heap, next(each for each in heap if each.first == removed))
        assert sorted(each.first for each in heap) == [number for number in range(7) if number != removed]
        assert all(heap[(place - 1) // 2].first < heap[place].first for place in range(1, len(heap)))

"""Manually stepped requests of a follower to the leader it knows: fetches and truncations, whole or in parts."""

from dataclasses import dataclass
from typing import Final

from cluster_model.broker.fetch.fetch_reads import check_epoch, epoch_end, serve_fetch
from cluster_model.broker.partition.partition import FetcherAction, Replica
from cluster_model.broker.request_handler import list_offset
from cluster_model.manual.context import NOW, Handler, ManualContext, Params
from cluster_model.protocol.errors import KafkaError, ModelError
from cluster_model.protocol.messages import (
    EARLIEST,
    LATEST,
    NO_LEADER,
    EpochEnd,
    FetchData,
    FetchPartition,
    FetchRequest,
    ListOffsetsRequest,
)
from cluster_model.protocol.records import with_corruption

_UNLIMITED: Final = 1 << 40
_MAX_EPOCH_REQUESTS: Final = 1_000
"""Limit of repeated requests of a truncation: KIP-279 repeats once per epoch at most."""

_Key = tuple[str, int]


@dataclass(frozen=True, slots=True)
class ManualFetch:
    """A fetch in flight: its leader, partition, record limit, and the broker epoch of the follower."""

    leader: int
    partition: FetchPartition
    limit: int
    broker_epoch: int


class FollowerRequests:
    """Requests and responses in flight: at most one fetch and one OffsetsForLeaderEpoch per replica.

    A request arrives even if its sender has changed its role since; a response to a former role or process is dropped.
    """

    def __init__(self, context: ManualContext) -> None:
        self._context = context
        self._sent: dict[_Key, ManualFetch] = {}
        self._delayed: dict[_Key, ManualFetch] = {}
        self._answers: dict[_Key, tuple[FetchPartition, FetchData]] = {}
        self._epoch_requests: dict[_Key, tuple[int, tuple[str, int, int]]] = {}
        """Replica → (leader, request) of OffsetsForLeaderEpoch in flight."""
        self._epoch_answers: dict[_Key, EpochEnd] = {}
        self._outdated: dict[_Key, None] = {}
        """Replicas whose request in flight belongs to a former role or process: it arrives, its response is dropped."""
        self._failed: dict[_Key, KafkaError] = {}
        """Replica → error by which its last fetch failed."""
        self._failed_epoch_requests: dict[_Key, KafkaError] = {}
        """Replica → error by which its last OffsetsForLeaderEpoch failed."""
        self.handlers: dict[str, Handler] = {
            "fetch": lambda params: self.fetch(self._follower(params), params.get("records")),
            "fetch_send": self._send_step,
            "fetch_serve": self._serve_step,
            "fetch_wake": self._complete,
            "fetch_apply": self._apply_step,
            "fetch_lose": self._lose,
            "truncate_send": self._truncate_send,
            "truncate_serve": self._truncate_serve,
            "truncate_apply": self._truncate_apply,
            "truncate_lose": self._truncate_lose,
        }

    def _follower(self, params: Params) -> Replica:
        return self._context.replica(params, "follower")

    @staticmethod
    def _key(replica: Replica) -> _Key:
        return (replica.partition, replica.broker)

    def forget(self, replica: Replica) -> None:
        """Drop the responses in flight to a replica with a new role, or of a crashed broker."""
        key = self._key(replica)
        if key in self._sent or key in self._delayed:
            self._outdated[key] = None
        if self._answers.pop(key, None) is not None:
            self._failed[key] = KafkaError.INVALID_REQUEST
        if replica.profile.applies_old_responses and replica.following is not None:
            return  # The fetcher thread is the same and still waits for the response (KAFKA-7786).
        request, response = self._epoch_requests.pop(key, None), self._epoch_answers.pop(key, None)
        if request is not None or response is not None:
            self._failed_epoch_requests[key] = KafkaError.INVALID_REQUEST

    def stopped(self, broker: int) -> None:
        """Fail all requests in flight to a broker that stopped, or delayed on it."""
        for table in (self._sent, self._delayed):
            for key in [key for key, fetch in table.items() if fetch.leader == broker]:
                del table[key]
                self._failed[key] = KafkaError.NETWORK_EXCEPTION
        for key in [key for key, (leader, _request) in self._epoch_requests.items() if leader == broker]:
            del self._epoch_requests[key]
            self._failed_epoch_requests[key] = KafkaError.NETWORK_EXCEPTION

    def _no_fetch(self, replica: Replica, how: str) -> KafkaError:
        """Return the error by which the last fetch failed, for a step that finds no fetch.

        Raises:
            ModelError: there was no fetch.
        """
        reason = self._failed.get(self._key(replica))
        if reason is None:
            raise ModelError(f"no fetch of broker {replica.broker} for {replica.partition} is {how}", code="no_fetch")
        return reason

    def _no_epoch_request(self, replica: Replica, how: str) -> KafkaError:
        reason = self._failed_epoch_requests.pop(self._key(replica), None)
        if reason is None:
            which = f"OffsetsForLeaderEpoch of broker {replica.broker} for {replica.partition}"
            raise ModelError(f"no {which} is {how}", code="no_epoch_request")
        return reason

    def _leader(self, replica: Replica) -> Replica | KafkaError:
        """Return the leader that a follower knows, or an error if it cannot be reached."""
        up = self._context.up
        if not up[replica.broker]:
            return KafkaError.NETWORK_EXCEPTION
        if replica.following is None or replica.leader == NO_LEADER:
            return KafkaError.LEADER_NOT_AVAILABLE
        if not up[replica.leader]:
            return KafkaError.NETWORK_EXCEPTION
        return self._context.parts.replicas[replica.partition][replica.leader]

    def fetch(self, replica: Replica, records: int | None) -> KafkaError:
        """Run a whole fetch round trip."""
        following = replica.following
        if following is not None and (following.truncating or following.seek is not None):
            error = self.truncate(replica) if following.truncating else self.seek(replica)
            if error is not KafkaError.NONE:
                return error
        error = self.send(replica, records)
        if error is not KafkaError.NONE:
            return error
        if self._key(replica) not in self._sent:
            return self._no_fetch(replica, "in flight")
        error = self.serve(replica)
        applied = self.apply(replica)
        return error if error is not KafkaError.NONE else applied

    def send(self, replica: Replica, records: int | None) -> KafkaError:
        """Send the follower's fetch."""
        leader = self._leader(replica)
        following = replica.following
        if isinstance(leader, KafkaError) and leader is not KafkaError.NETWORK_EXCEPTION:
            return leader
        if following is None or not self._context.up[replica.broker]:
            return KafkaError.NETWORK_EXCEPTION
        if following.failed:
            return KafkaError.FENCED_LEADER_EPOCH
        if following.truncating:
            return KafkaError.OFFSET_NOT_AVAILABLE
        if following.seek is not None:
            return KafkaError.OFFSET_OUT_OF_RANGE
        key = self._key(replica)
        self._answers.pop(key, None)
        self._delayed.pop(key, None)
        self._outdated.pop(key, None)
        self._failed.pop(key, None)
        if isinstance(leader, KafkaError):
            self._sent.pop(key, None)
            self._failed[key] = leader
            return KafkaError.NONE
        epoch = self._context.registered[replica.broker] if replica.profile.fetch_broker_epoch else -1
        limit = _UNLIMITED if records is None else records
        self._sent[key] = ManualFetch(replica.leader, following.next_fetch(), limit, epoch)
        return KafkaError.NONE

    def _send_step(self, params: Params) -> KafkaError:
        """Send a fetch; if it fails, later steps of this fetch fail with the same error."""
        replica = self._follower(params)
        error = self.send(replica, params.get("records"))
        if error is not KafkaError.NONE and self._key(replica) not in self._sent:
            self._failed[self._key(replica)] = error
        return error

    def _serve_step(self, params: Params) -> KafkaError:
        replica = self._follower(params)
        if self._key(replica) not in self._sent:
            return self._no_fetch(replica, "in flight; fetch_send sends one")
        return self._delay(replica) if params.get("answer", "now") == "later" else self.serve(replica)

    def _arrived(self, replica: Replica) -> tuple[ManualFetch, Replica]:
        fetch = self._sent.pop(self._key(replica))
        return fetch, self._context.parts.replicas[replica.partition][fetch.leader]

    def serve(self, replica: Replica) -> KafkaError:
        """Handle the fetch on its target broker, by the current state of that broker."""
        fetch, leader = self._arrived(replica)
        return self._answer(replica, fetch, leader, book=True)

    def _answer(self, replica: Replica, fetch: ManualFetch, leader: Replica, *, book: bool) -> KafkaError:
        data = self._read(replica, fetch, leader, book=book)
        if data.records.end - data.records.start > fetch.limit:
            start = fetch.partition.offset
            data = data._replace(
                records=with_corruption(leader.log.read(start, start + fetch.limit, _UNLIMITED), leader.damages)
            )
        key = self._key(replica)
        if key in self._outdated:
            del self._outdated[key]
            self._failed[key] = KafkaError.INVALID_REQUEST
        else:
            self._answers[key] = (fetch.partition, data)
        self._context.answer_completed(leader)
        return KafkaError(data.error)

    @staticmethod
    def _read(replica: Replica, fetch: ManualFetch, leader: Replica, *, book: bool) -> FetchData:
        request = FetchRequest(0, replica.broker, fetch.broker_epoch, 0, _UNLIMITED, (fetch.partition,))
        return serve_fetch(leader, request, fetch.partition, NOW, (), book=book)

    def _delay(self, replica: Replica) -> KafkaError:
        """Delay a fetch without new records, after the leader updated its state; answer errors at once."""
        fetch, leader = self._arrived(replica)
        data = self._read(replica, fetch, leader, book=True)
        if data.error or data.diverging is not None or data.records.end > data.records.start:
            return self._answer(replica, fetch, leader, book=False)
        self._delayed[self._key(replica)] = fetch
        self._context.answer_completed(leader)
        return KafkaError.NONE

    def _complete(self, params: Params) -> KafkaError:
        """Complete a delayed fetch: it reads again, without another update of the leader's state."""
        replica = self._follower(params)
        fetch = self._delayed.pop(self._key(replica), None)
        if fetch is None:
            return self._no_fetch(replica, "delayed; fetch_serve delays one with answer: later")
        leader = self._context.parts.replicas[replica.partition][fetch.leader]
        return self._answer(replica, fetch, leader, book=False)

    def _apply_step(self, params: Params) -> KafkaError:
        replica = self._follower(params)
        if self._key(replica) not in self._answers:
            return self._no_fetch(replica, "answered yet; fetch_serve answers one")
        return self.apply(replica)

    def apply(self, replica: Replica) -> KafkaError:
        """Deliver the fetch response to the follower."""
        answer = self._answers.pop(self._key(replica))
        assert replica.following is not None  # A new role drops responses in flight.
        replica.following.apply_fetch(NOW, *answer)
        replica.observer.check_follower(NOW, replica)
        return self.seek(replica)

    def seek(self, replica: Replica) -> KafkaError:
        """Look up the end and, if needed, the start of the leader's log for a follower that is out of range."""
        following = replica.following
        while following is not None and following.seek is not None:
            leader = self._leader(replica)
            if isinstance(leader, KafkaError):
                return leader
            seek = following.seek
            timestamp = EARLIEST if seek.earliest else LATEST
            request = ListOffsetsRequest(0, replica.partition, timestamp, seek.epoch, replica.broker)
            epoch_error = check_epoch(leader, request.current_leader_epoch)
            error, offset, _timestamp = list_offset(leader, epoch_error, request, NOW)
            if following.apply_offset(NOW, error, offset) is FetcherAction.EXIT:
                self._context.stop(replica.broker, following.exit_reason)
                return KafkaError.NETWORK_EXCEPTION
            if error is not KafkaError.NONE:
                return error
        return KafkaError.NONE

    def _lose(self, params: Params) -> KafkaError:
        replica = self._follower(params)
        key = self._key(replica)
        self._outdated.pop(key, None)
        if all(table.pop(key, None) is None for table in (self._sent, self._delayed, self._answers)):
            return self._no_fetch(replica, "in flight")
        return KafkaError.NONE

    def truncate(self, replica: Replica) -> KafkaError:
        """Run the whole truncation, if the version truncates by OffsetsForLeaderEpoch.

        Raises:
            ModelError: it does not end (KAFKA-10706).
        """
        for _question in range(_MAX_EPOCH_REQUESTS):
            following = replica.following
            if following is None or not following.truncating:
                return KafkaError.NONE
            error = self.ask_epoch(replica)
            if error is KafkaError.NONE:
                error = self.answer_epoch(replica)
                self.apply_epoch(replica)
            if error is not KafkaError.NONE:
                return error
        raise ModelError(
            f"broker {replica.broker} requests the end of the same epoch of {replica.partition} again and again: Kafka "
            f"{replica.profile.version} keeps epochs without records (KAFKA-10706)",
            code="endless_truncation",
        )

    def _truncate_send(self, params: Params) -> KafkaError:
        replica = self._follower(params)
        error = self.ask_epoch(replica)
        if error is KafkaError.NONE and params.get("answer", "now") == "now":
            return self.answer_epoch(replica)
        return error

    def ask_epoch(self, replica: Replica) -> KafkaError:
        """Send the OffsetsForLeaderEpoch of a truncating follower."""
        leader = self._leader(replica)
        if isinstance(leader, KafkaError):
            return leader
        following = replica.following
        if following is None or not following.truncating:
            return KafkaError.INVALID_REQUEST
        if following.failed:
            return KafkaError.FENCED_LEADER_EPOCH
        self._epoch_answers.pop(self._key(replica), None)
        self._failed_epoch_requests.pop(self._key(replica), None)
        self._epoch_requests[self._key(replica)] = (replica.leader, following.epoch_request())
        return KafkaError.NONE

    def _truncate_serve(self, params: Params) -> KafkaError:
        replica = self._follower(params)
        if self._key(replica) not in self._epoch_requests:
            return self._no_epoch_request(replica, "in flight; truncate_send sends one")
        return self.answer_epoch(replica)

    def answer_epoch(self, replica: Replica) -> KafkaError:
        """Handle the OffsetsForLeaderEpoch on its target broker, by the current state of that broker."""
        leader, request = self._epoch_requests.pop(self._key(replica))
        answer = epoch_end(self._context.parts.replicas[replica.partition][leader], *request)
        self._epoch_answers[self._key(replica)] = answer
        return KafkaError(answer.error)

    def _truncate_apply(self, params: Params) -> KafkaError:
        replica = self._follower(params)
        if self._key(replica) not in self._epoch_answers:
            return self._no_epoch_request(replica, "answered yet; truncate_serve answers one")
        return self.apply_epoch(replica)

    def apply_epoch(self, replica: Replica) -> KafkaError:
        """Deliver that response to the follower."""
        answer = self._epoch_answers.pop(self._key(replica))
        if replica.following is None:
            return KafkaError.INVALID_REQUEST
        replica.following.apply_epoch_end(NOW, answer)
        return KafkaError.NONE

    def _truncate_lose(self, params: Params) -> KafkaError:
        replica = self._follower(params)
        key = self._key(replica)
        if self._epoch_requests.pop(key, None) is None and self._epoch_answers.pop(key, None) is None:
            return self._no_epoch_request(replica, "in flight")
        return KafkaError.NONE

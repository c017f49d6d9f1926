"""Hand-stepped round trips between a follower and the leader it believes in, whole or in parts."""

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
    NOBODY,
    EpochEnd,
    FetchData,
    FetchPartition,
    FetchRequest,
    ListOffsetsRequest,
)
from cluster_model.protocol.records import as_stored

_UNLIMITED: Final = 1 << 40
_MOST_QUESTIONS: Final = 1_000
"""KIP-279 asks again once per epoch at most; more means that the rule does not settle."""

_Key = tuple[str, int]


@dataclass(frozen=True, slots=True)
class ManualFetch:
    """A fetch on its way: to whom, what, how many records at most, and as which life of the follower's broker."""

    leader: int
    partition: FetchPartition
    limit: int
    broker_epoch: int


class RoundTrips:
    """Requests and answers under way, at most one fetch and one question per replica.

    What was sent arrives even if its sender has moved on since; an answer to a former role or life comes to nothing.
    """

    def __init__(self, ground: ManualContext) -> None:
        self._ground = ground
        self._sent: dict[_Key, ManualFetch] = {}
        self._parked: dict[_Key, ManualFetch] = {}
        self._answers: dict[_Key, tuple[FetchPartition, FetchData]] = {}
        self._questions: dict[_Key, tuple[int, tuple[str, int, int]]] = {}
        """(leader, question) of OffsetsForLeaderEpoch."""
        self._epoch_answers: dict[_Key, EpochEnd] = {}
        self._deaf: dict[_Key, None] = {}
        """Whose request under way belongs to a former role or life: it arrives, and its answer comes to nothing."""
        self._void: dict[_Key, KafkaError] = {}
        """Why the last fetch of a replica came to nothing."""
        self._void_questions: dict[_Key, KafkaError] = {}
        self.handlers: dict[str, Handler] = {
            "fetch": lambda params: self.fetch(self._follower(params), params.get("records")),
            "fetch_send": self._send_step,
            "fetch_serve": self._serve_step,
            "fetch_wake": self._wake,
            "fetch_apply": self._apply_step,
            "fetch_lose": self._lose,
            "truncate_send": self._truncate_send,
            "truncate_serve": self._truncate_serve,
            "truncate_apply": self._truncate_apply,
            "truncate_lose": self._truncate_lose,
        }

    def _follower(self, params: Params) -> Replica:
        return self._ground.replica(params, "follower")

    @staticmethod
    def _key(replica: Replica) -> _Key:
        return (replica.partition, replica.broker)

    def forget(self, replica: Replica) -> None:
        """A new role or a crash: answers under way belong to the past."""
        key = self._key(replica)
        if key in self._sent or key in self._parked:
            self._deaf[key] = None
        if self._answers.pop(key, None) is not None:
            self._void[key] = KafkaError.INVALID_REQUEST
        asked, answered = self._questions.pop(key, None), self._epoch_answers.pop(key, None)
        if asked is not None or answered is not None:
            self._void_questions[key] = KafkaError.INVALID_REQUEST

    def stopped(self, broker: int) -> None:
        """A broker's process is gone: whatever was on its way to it, or parked at it, is gone with the connection."""
        for table in (self._sent, self._parked):
            for key in [key for key, asked in table.items() if asked.leader == broker]:
                del table[key]
                self._void[key] = KafkaError.NETWORK_EXCEPTION
        for key in [key for key, (leader, _question) in self._questions.items() if leader == broker]:
            del self._questions[key]
            self._void_questions[key] = KafkaError.NETWORK_EXCEPTION

    def _nothing(self, replica: Replica, how: str) -> KafkaError:
        """The answer to a step that finds no fetch: why the last one is gone, else the step makes no sense."""
        reason = self._void.get(self._key(replica))
        if reason is None:
            raise ModelError(f"no fetch of broker {replica.broker} for {replica.partition} is {how}", code="no_fetch")
        return reason

    def _no_question(self, replica: Replica, how: str) -> KafkaError:
        reason = self._void_questions.pop(self._key(replica), None)
        if reason is None:
            which = f"OffsetsForLeaderEpoch of broker {replica.broker} for {replica.partition}"
            raise ModelError(f"no {which} is {how}", code="no_epoch_request")
        return reason

    def _leader(self, replica: Replica) -> Replica | KafkaError:
        """The leader that a follower believes in, if it can be talked to."""
        up = self._ground.up
        if not up[replica.broker]:
            return KafkaError.NETWORK_EXCEPTION
        if replica.following is None or replica.leader == NOBODY:
            return KafkaError.LEADER_NOT_AVAILABLE
        if not up[replica.leader]:
            return KafkaError.NETWORK_EXCEPTION
        return self._ground.parts.replicas[replica.partition][replica.leader]

    def fetch(self, replica: Replica, records: int | None) -> KafkaError:
        """The whole round trip."""
        following = replica.following
        if following is not None and (following.truncating or following.seek is not None):
            error = self.truncate(replica) if following.truncating else self.seek(replica)
            if error is not KafkaError.NONE:
                return error
        error = self.send(replica, records)
        if error is not KafkaError.NONE:
            return error
        if self._key(replica) not in self._sent:
            return self._nothing(replica, "on its way")
        error = self.serve(replica)
        applied = self.apply(replica)
        return error if error is not KafkaError.NONE else applied

    def send(self, replica: Replica, records: int | None) -> KafkaError:
        """The follower asks."""
        leader = self._leader(replica)
        following = replica.following
        if isinstance(leader, KafkaError) and leader is not KafkaError.NETWORK_EXCEPTION:
            return leader
        if following is None or not self._ground.up[replica.broker]:
            return KafkaError.NETWORK_EXCEPTION
        if following.failed:
            return KafkaError.FENCED_LEADER_EPOCH
        if following.truncating:
            return KafkaError.OFFSET_NOT_AVAILABLE
        if following.seek is not None:
            return KafkaError.OFFSET_OUT_OF_RANGE
        key = self._key(replica)
        self._answers.pop(key, None)
        self._parked.pop(key, None)
        self._deaf.pop(key, None)
        self._void.pop(key, None)
        if isinstance(leader, KafkaError):
            self._sent.pop(key, None)
            self._void[key] = leader
            return KafkaError.NONE
        epoch = self._ground.registered[replica.broker] if replica.profile.fetch_broker_epoch else -1
        limit = _UNLIMITED if records is None else records
        self._sent[key] = ManualFetch(replica.leader, following.question(), limit, epoch)
        return KafkaError.NONE

    def _send_step(self, params: Params) -> KafkaError:
        """A fetch that the follower does not send now is refused at its later steps as it was here."""
        replica = self._follower(params)
        error = self.send(replica, params.get("records"))
        if error is not KafkaError.NONE and self._key(replica) not in self._sent:
            self._void[self._key(replica)] = error
        return error

    def _serve_step(self, params: Params) -> KafkaError:
        replica = self._follower(params)
        if self._key(replica) not in self._sent:
            return self._nothing(replica, "on its way; fetch_send sends one")
        return self._park(replica) if params.get("answer", "now") == "later" else self.serve(replica)

    def _arrived(self, replica: Replica) -> tuple[ManualFetch, Replica]:
        asked = self._sent.pop(self._key(replica))
        return asked, self._ground.parts.replicas[replica.partition][asked.leader]

    def serve(self, replica: Replica) -> KafkaError:
        """The leader that was asked answers, as what it is by now."""
        asked, leader = self._arrived(replica)
        return self._answer(replica, asked, leader, book=True)

    def _answer(self, replica: Replica, asked: ManualFetch, leader: Replica, *, book: bool) -> KafkaError:
        data = self._read(replica, asked, leader, book=book)
        if data.records.end - data.records.start > asked.limit:
            start = asked.partition.offset
            data = data._replace(
                records=as_stored(leader.log.read(start, start + asked.limit, _UNLIMITED), leader.damages)
            )
        key = self._key(replica)
        if key in self._deaf:
            del self._deaf[key]
            self._void[key] = KafkaError.INVALID_REQUEST
        else:
            self._answers[key] = (asked.partition, data)
        self._ground.settle(leader)
        return KafkaError(data.error)

    @staticmethod
    def _read(replica: Replica, asked: ManualFetch, leader: Replica, *, book: bool) -> FetchData:
        request = FetchRequest(0, replica.broker, asked.broker_epoch, 0, _UNLIMITED, (asked.partition,))
        return serve_fetch(leader, request, asked.partition, NOW, (), book=book)

    def _park(self, replica: Replica) -> KafkaError:
        """It arrives and is counted, but waits for its answer; an error or a divergence is answered at once."""
        asked, leader = self._arrived(replica)
        data = self._read(replica, asked, leader, book=True)
        if data.error or data.diverging is not None or data.records.end > data.records.start:
            return self._answer(replica, asked, leader, book=False)
        self._parked[self._key(replica)] = asked
        self._ground.settle(leader)
        return KafkaError.NONE

    def _wake(self, params: Params) -> KafkaError:
        """A parked fetch is answered: it reads again, and is not counted again."""
        replica = self._follower(params)
        asked = self._parked.pop(self._key(replica), None)
        if asked is None:
            return self._nothing(replica, "parked; fetch_serve parks one with answer: later")
        leader = self._ground.parts.replicas[replica.partition][asked.leader]
        return self._answer(replica, asked, leader, book=False)

    def _apply_step(self, params: Params) -> KafkaError:
        replica = self._follower(params)
        if self._key(replica) not in self._answers:
            return self._nothing(replica, "answered yet; fetch_serve answers one")
        return self.apply(replica)

    def apply(self, replica: Replica) -> KafkaError:
        """The answer arrives."""
        answer = self._answers.pop(self._key(replica))
        assert replica.following is not None  # a new role forgets what was under way
        replica.following.answer(NOW, *answer)
        replica.observer.look(NOW, replica)
        return self.seek(replica)

    def seek(self, replica: Replica) -> KafkaError:
        """A follower out of range asks where its leader's log ends and, if need be, begins."""
        following = replica.following
        while following is not None and following.seek is not None:
            leader = self._leader(replica)
            if isinstance(leader, KafkaError):
                return leader
            asked = following.seek
            which = EARLIEST if asked.earliest else LATEST
            question = ListOffsetsRequest(0, replica.partition, which, asked.epoch, replica.broker)
            refused = check_epoch(leader, question.current_leader_epoch)
            error, offset, _timestamp = list_offset(leader, refused, question, NOW)
            if following.offset_answer(NOW, error, offset) is FetcherAction.EXIT:
                self._ground.stop(replica.broker, following.exit_reason)
                return KafkaError.NETWORK_EXCEPTION
            if error is not KafkaError.NONE:
                return error
        return KafkaError.NONE

    def _lose(self, params: Params) -> KafkaError:
        replica = self._follower(params)
        key = self._key(replica)
        self._deaf.pop(key, None)
        if all(table.pop(key, None) is None for table in (self._sent, self._parked, self._answers)):
            return self._nothing(replica, "under way")
        return KafkaError.NONE

    def truncate(self, replica: Replica) -> KafkaError:
        """Ask and truncate until it is settled, if this generation asks at all."""
        for _question in range(_MOST_QUESTIONS):
            following = replica.following
            if following is None or not following.truncating:
                return KafkaError.NONE
            error = self.ask_epoch(replica)
            if error is KafkaError.NONE:
                error = self.answer_epoch(replica)
                self.apply_epoch(replica)
            if error is not KafkaError.NONE:
                return error
        raise RuntimeError(f"truncation of {replica.partition} on broker {replica.broker} does not settle")

    def _truncate_send(self, params: Params) -> KafkaError:
        replica = self._follower(params)
        error = self.ask_epoch(replica)
        if error is KafkaError.NONE and params.get("answer", "now") == "now":
            return self.answer_epoch(replica)
        return error

    def ask_epoch(self, replica: Replica) -> KafkaError:
        """The question of a truncating follower leaves."""
        leader = self._leader(replica)
        if isinstance(leader, KafkaError):
            return leader
        following = replica.following
        if following is None or not following.truncating:
            return KafkaError.INVALID_REQUEST
        if following.failed:
            return KafkaError.FENCED_LEADER_EPOCH
        self._epoch_answers.pop(self._key(replica), None)
        self._void_questions.pop(self._key(replica), None)
        self._questions[self._key(replica)] = (replica.leader, following.epoch_question())
        return KafkaError.NONE

    def _truncate_serve(self, params: Params) -> KafkaError:
        replica = self._follower(params)
        if self._key(replica) not in self._questions:
            return self._no_question(replica, "on its way; truncate_send sends one")
        return self.answer_epoch(replica)

    def answer_epoch(self, replica: Replica) -> KafkaError:
        """The leader that was asked answers, as what it is by now."""
        leader, question = self._questions.pop(self._key(replica))
        answer = epoch_end(self._ground.parts.replicas[replica.partition][leader], *question)
        self._epoch_answers[self._key(replica)] = answer
        return KafkaError(answer.error)

    def _truncate_apply(self, params: Params) -> KafkaError:
        replica = self._follower(params)
        if self._key(replica) not in self._epoch_answers:
            return self._no_question(replica, "answered yet; truncate_serve answers one")
        return self.apply_epoch(replica)

    def apply_epoch(self, replica: Replica) -> KafkaError:
        """That answer arrives."""
        answer = self._epoch_answers.pop(self._key(replica))
        assert replica.following is not None  # a new role forgets what was under way
        replica.following.epoch_answer(NOW, answer)
        return KafkaError.NONE

    def _truncate_lose(self, params: Params) -> KafkaError:
        replica = self._follower(params)
        key = self._key(replica)
        if self._questions.pop(key, None) is None and self._epoch_answers.pop(key, None) is None:
            return self._no_question(replica, "under way")
        return KafkaError.NONE

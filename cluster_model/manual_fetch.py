"""Hand-stepped round trips between a follower and the leader it believes in, whole or in parts."""

from collections.abc import Callable, Mapping
from typing import Final

from cluster_model.errors import KafkaError
from cluster_model.messages import (
    EARLIEST,
    LATEST,
    NOBODY,
    EpochEnd,
    FetchData,
    FetchPartition,
    FetchRequest,
    ListOffsetsRequest,
)
from cluster_model.replication.following import Outcome
from cluster_model.replication.offsets import list_offset
from cluster_model.replication.replica import Replica
from cluster_model.replication.serving import check_epoch, epoch_end, serve_fetch

NOW: Final = 0
"""Time stands still."""
_UNLIMITED: Final = 1 << 40
_MOST_QUESTIONS: Final = 1_000
"""KIP-279 asks again once per epoch at most; more means that the rule does not settle."""

_Key = tuple[str, int]


class RoundTrips:
    """Requests and answers under way, at most one fetch and one question per replica."""

    def __init__(
        self,
        replicas: Mapping[str, Mapping[int, Replica]],
        up: Mapping[int, bool],
        settle: Callable[[Replica], None],
        stop: Callable[[int, str], KafkaError],
    ) -> None:
        """``stop`` ends a broker's process, with the reason."""
        self._stop = stop
        self._replicas = replicas
        self._up = up
        self._settle = settle
        self._sent: dict[_Key, tuple[int, FetchPartition, int]] = {}
        """(leader, what was asked, most records)."""
        self._answers: dict[_Key, tuple[FetchPartition, FetchData]] = {}
        self._epoch_answers: dict[_Key, EpochEnd] = {}

    @staticmethod
    def _key(replica: Replica) -> _Key:
        return (replica.partition, replica.broker)

    def forget(self, replica: Replica) -> None:
        """A new role or a crash: what was under way belongs to the past."""
        key = self._key(replica)
        for table in (self._sent, self._answers, self._epoch_answers):
            table.pop(key, None)

    def _leader(self, replica: Replica) -> Replica | KafkaError:
        """The leader that a follower believes in, if it can be talked to."""
        if not self._up[replica.broker]:
            return KafkaError.NETWORK_EXCEPTION
        if replica.following is None or replica.leader == NOBODY:
            return KafkaError.LEADER_NOT_AVAILABLE
        if not self._up[replica.leader]:
            return KafkaError.NETWORK_EXCEPTION
        return self._replicas[replica.partition][replica.leader]

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
        error = self.serve(replica)
        applied = self.apply(replica)
        return error if error is not KafkaError.NONE else applied

    def send(self, replica: Replica, records: int | None) -> KafkaError:
        """The follower asks."""
        leader = self._leader(replica)
        following = replica.following
        if isinstance(leader, KafkaError) and leader is not KafkaError.NETWORK_EXCEPTION:
            return leader
        if following is None or not self._up[replica.broker]:
            return KafkaError.NETWORK_EXCEPTION
        if following.failed:
            return KafkaError.FENCED_LEADER_EPOCH
        if following.truncating:
            return KafkaError.OFFSET_NOT_AVAILABLE
        if following.seek is not None:
            return KafkaError.OFFSET_OUT_OF_RANGE
        self._answers.pop(self._key(replica), None)
        limit = _UNLIMITED if records is None else records
        self._sent[self._key(replica)] = (replica.leader, following.question(), limit)
        return KafkaError.NONE

    def serve(self, replica: Replica) -> KafkaError:
        """The leader that was asked answers, as what it is by now."""
        sent = self._sent.pop(self._key(replica), None)
        if sent is None:
            return KafkaError.INVALID_REQUEST
        leader_id, asked, limit = sent
        if not self._up[leader_id]:
            return KafkaError.NETWORK_EXCEPTION
        leader = self._replicas[replica.partition][leader_id]
        request = FetchRequest(0, replica.broker, -1, 0, _UNLIMITED, (asked,))
        data = serve_fetch(leader, request, asked, NOW, book=True)
        if data.records.end - data.records.start > limit:
            records = leader.log.read(asked.offset, asked.offset + limit, _UNLIMITED)
            data = data._replace(records=records)
        self._answers[self._key(replica)] = (asked, data)
        self._settle(leader)
        return KafkaError(data.error)

    def apply(self, replica: Replica) -> KafkaError:
        """The answer arrives."""
        answer = self._answers.pop(self._key(replica), None)
        if answer is None or replica.following is None or not self._up[replica.broker]:
            return KafkaError.INVALID_REQUEST
        replica.following.answer(NOW, *answer)
        return self.seek(replica)

    def seek(self, replica: Replica) -> KafkaError:
        """A follower out of range asks where its leader's log ends and, if need be, begins."""
        following = replica.following
        while following is not None and following.seek is not None:
            leader = self._leader(replica)
            if isinstance(leader, KafkaError):
                return leader
            which = EARLIEST if following.seek.earliest else LATEST
            question = ListOffsetsRequest(0, replica.partition, which, following.seek.epoch, replica.broker)
            refused = check_epoch(leader, question.current_leader_epoch)
            error, offset, _timestamp = list_offset(leader, refused, question, NOW)
            if following.offset_answer(NOW, error, offset) is Outcome.EXIT:
                self._stop(replica.broker, following.exit_reason)
                return KafkaError.NETWORK_EXCEPTION
            if error is not KafkaError.NONE:
                return error
        return KafkaError.NONE

    def truncate(self, replica: Replica) -> KafkaError:
        """Ask and truncate until it is settled, if this generation asks at all."""
        for _question in range(_MOST_QUESTIONS):
            following = replica.following
            if following is None or not following.truncating:
                return KafkaError.NONE
            error = self.ask_epoch(replica)
            if error is not KafkaError.NONE:
                return error
            self.apply_epoch(replica)
        raise RuntimeError(f"truncation of {replica.partition} on broker {replica.broker} does not settle")

    def ask_epoch(self, replica: Replica) -> KafkaError:
        """The question of a truncating follower, and the leader's answer."""
        leader = self._leader(replica)
        if isinstance(leader, KafkaError):
            return leader
        if replica.following is None or not replica.following.truncating:
            return KafkaError.INVALID_REQUEST
        answer = epoch_end(leader, *replica.following.epoch_question())
        if not answer.error:
            self._epoch_answers[self._key(replica)] = answer
        return KafkaError(answer.error)

    def apply_epoch(self, replica: Replica) -> KafkaError:
        """That answer arrives."""
        answer = self._epoch_answers.pop(self._key(replica), None)
        if answer is None or replica.following is None or not self._up[replica.broker]:
            return KafkaError.INVALID_REQUEST
        replica.following.epoch_answer(NOW, answer)
        return KafkaError.NONE

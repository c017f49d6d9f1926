"""The verdict on clients' own histories: their logs, and nothing that the model knows, by the rules for anomalies."""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from cluster_model.checker.anomalies.history_checker import HistoryChecker
from cluster_model.checker.anomalies.operations import (
    ASSIGN,
    INFO,
    OK,
    POLL,
    SEND,
    SUBSCRIBE,
    Op,
    ReadOperation,
    Run,
    Send,
)
from tests.gateway.running import AckedMessage, Log
from tests.gateway.stock import TOPIC

LAST: Final = "last"
"""Who reads everything from the beginning when all is over."""


class OwnHistory:
    """Of several clients of one topic. A record's value is ``client/number``."""

    def __init__(self, writers: Mapping[str, Log], readers: Mapping[str, Log], last: list[AckedMessage]) -> None:
        self._log_branches: dict[tuple[str, int], dict[int, bytes]] = {}
        self.anomalies = HistoryChecker(self._payload)
        for name, log in writers.items():
            self._sends(name, log)
        for name, log in readers.items():
            self._reads(name, log.read, SUBSCRIBE)
        self._reads(LAST, last, ASSIGN)
        self.anomalies.close(0)
        self.last = {each.value for each in last}
        """What is there in the end."""

    @property
    def found(self) -> Counter[str]:
        """How often, by name."""
        found: Counter[str] = Counter()
        for case in self.anomalies.cases(0):
            found[case.name] += case.found
        return found

    def _log_branch(self, key: str, offset: int, value: bytes) -> int:
        """The first that has nothing else there."""
        log_branch = 0
        while self._log_branches.setdefault((key, log_branch), {}).setdefault(offset, value) != value:
            log_branch += 1
        return log_branch

    def _payload(self, key: str, log_branch: int, start: int, end: int) -> list[Run]:
        found = ((offset, *_value(self._log_branches[key, log_branch][offset])) for offset in range(start, end))
        return [(offset, client, number, 1) for offset, client, number in found]

    def _sends(self, name: str, log: Log) -> None:
        acked = {_value(each.value)[1]: each for each in log.acked}
        for number in range(log.sent):
            told = acked.get(number)
            if told is None:
                key = f"{TOPIC}-{log.partition}"
                self.anomalies.take(Op(name, INFO, SEND, (Send(key, name, number, 1),)))
                continue
            key = f"{TOPIC}-{told.partition}"
            log_branch = self._log_branch(key, told.offset, told.value)
            self.anomalies.take(Op(name, OK, SEND, (Send(key, name, number, 1, log_branch, told.offset),)))

    def _reads(self, name: str, read: list[AckedMessage], manner: str) -> None:
        for each in read:
            key = f"{TOPIC}-{each.partition}"
            log_branch = self._log_branch(key, each.offset, each.value)
            self.anomalies.take(
                Op(name, OK, POLL, reads=(ReadOperation(key, log_branch, each.offset, each.offset + 1),)), manner
            )


def _value(data: bytes) -> tuple[str, int]:
    name, _slash, number = data.decode().rpartition("/")
    return name, int(number)

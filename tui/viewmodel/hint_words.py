"""Which word of the glossary stands under the pointer, or belongs to the cell under the cursor."""

import re
from typing import Final

from cluster_model.observation.views import PartitionView

_ON_SCREEN: Final = """
acks: acks
broker: broker brokers
committed: committed
controlled shutdown: shutdown
controller: controller ctrl
coordinator: coordinator
diverged: diverged differs
ELR: elr eligible
epoch: epoch epochs
fencing: fenced fences
generation: generation
group: group groups
HW: hw
idempotence: idempotent idempotence
ISR: isr
lag: lag
leader: leader leads lead
LEO: leo
LSO: lso
metadata: metadata stale
min.insync.replicas: min.isr min.insync.replicas
missing: missing miss
offset: offset offsets
partition: partitions partition
quorum: quorum
rebalance: rebalance rebalances rebalancing
replica: replica replicas
transaction: transaction transactions
truncation: truncates truncated truncate cut
unclean election: unclean
under-replicated: under-replicated urp
zombie: zombie
"""
"""Word of the glossary: how it stands on the screen."""

TOKENS: Final = {
    token: word
    for word, _colon, tokens in (line.partition(": ") for line in _ON_SCREEN.strip().splitlines())
    for token in tokens.split()
}
_TOKEN: Final = re.compile(r"[A-Za-z][A-Za-z0-9.-]*", re.ASCII)
_OF_STATUS: Final = {"lagging": "ISR", "diverged": "diverged", "truncating": "truncation"}


def word_at(line: str, column: int) -> str:
    """The glossary's word for what stands at a column of a line, empty where it has none."""
    for found in _TOKEN.finditer(line):
        if found.start() <= column < found.end():
            return TOKENS.get(found[0].rstrip(".-").lower(), "")
    return ""


def word_of(partition: PartitionView, broker: int) -> str:
    """What most needs explaining about the cell of a broker, empty where nothing is amiss."""
    status = next((each.status for each in partition.replicas if each.broker == broker), "")
    if status in _OF_STATUS:
        return _OF_STATUS[status]
    if partition.missing:
        return "missing"
    return "under-replicated" if partition.under_replicated else ""

"""What the words of Kafka, and of this program, mean: one or two plain sentences each."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Term:
    """A word and what it means."""

    word: str
    meaning: str


_TEXT: Final = """
acks: What a producer waits for: 0 nothing, 1 that the leader has written it, all that every in-sync replica has.
broker: A server that keeps replicas of partitions and answers clients.
committed: Below the high watermark: consumers may read it, and no clean election loses it.
controlled shutdown: A broker that stops hands its leaderships over first, so that nobody has to find out.
controller: The node that elects leaders and keeps the ISR of every partition; its epoch counts controllers.
coordinator: The broker that keeps a group's members and offsets, or a producer's transactions.
diverged: A replica that holds other records than its leader at the same offsets; it must cut its log back.
ELR: Eligible leader replicas: out of the ISR, but known to hold all that is committed, so good to lead (KIP-966).
epoch: A number that grows with every new leader of a partition; a record carries the one it was written in.
fencing: Refusing somebody who was replaced, known by an old epoch: a zombie leader, producer or group member.
generation: A number that grows with every rebalance of a group; what an older one commits is refused.
group: Consumers that share the partitions of topics; each partition belongs to one member at a time.
HW: High watermark: up to where every in-sync replica has the log. Each replica learns it late, by fetching.
idempotence: A producer numbers its batches, so that a retry of what is there already is not written twice.
ISR: In-sync replicas: those that keep up with the leader. All of them must have a record before acks=all answers.
lag: How many records a group has yet to read; of a replica, how far it is behind its leader.
leader: The one replica of a partition that takes writes and decides what is committed.
LEO: Log end offset: where the next record of a replica goes.
LSO: Last stable offset: up to where every transaction has ended; read_committed consumers stop there.
metadata: What brokers and clients have been told about leaders. It may be old, and they act on it all the same.
min.insync.replicas: How small the ISR may be for a write with acks=all; below it producers get an error instead.
missing: Acknowledged, and not in the leader's log at its place now. It may come back; what does not is lost.
offset: The place of a record in a partition's log, counted from 0.
partition: One log of a topic, kept by several brokers as replicas.
preferred leader: The first replica of the assignment, which leads where nothing is wrong.
quorum: The controllers, of which more than half must agree; ZooKeeper's ensemble in older clusters.
rebalance: The members of a group share the partitions out anew; some of them are read by nobody meanwhile.
replica: A broker's copy of a partition.
session timeout: So long a broker or a member may be silent before it is taken for dead.
split view: Two brokers take themselves to lead one partition, because one has not heard that it was replaced.
transaction: Records of several partitions that are all committed or all aborted, with offsets of a group.
truncation: A follower cuts off what its leader does not have. What was acknowledged among that is gone.
unclean election: A replica that was not in sync is made leader to be able to serve at all; what it lacks is lost.
under-replicated: A partition whose ISR lacks some of its replicas.
zombie: Somebody who was replaced and does not know it yet.
"""

GLOSSARY: Final = tuple(Term(*line.split(": ", 1)) for line in _TEXT.strip().splitlines())
"""By word, as people look for it."""


def found(typed: str) -> tuple[Term, ...]:
    """The terms whose word begins so, then those that only speak of it; all for nothing."""
    wanted = typed.strip().lower()
    first = tuple(each for each in GLOSSARY if each.word.lower().startswith(wanted))
    return first + tuple(each for each in GLOSSARY if wanted in each.meaning.lower() and each not in first and wanted)


def term(word: str) -> Term:
    """The one of a word; KeyError: there is none."""
    return {each.word: each for each in GLOSSARY}[word]

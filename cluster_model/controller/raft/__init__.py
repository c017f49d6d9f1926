"""The Raft quorum of the metadata log (KIP-595).

raft: one quorum member: roles, elections, votes and replication, without input or output.
raft_client: a quorum member on the kernel, its fetches, delayed fetches, and the interface to its users.
raft_log: the metadata log of a quorum member.
messages: messages between quorum members.

It is independent of the content of the records.
"""

__all__ = [
    "messages",
    "raft",
    "raft_client",
    "raft_log",
]

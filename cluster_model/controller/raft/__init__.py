"""The Raft quorum of the metadata log (KIP-595).

raft: one member: roles, elections, votes and replication, without input or output.
raft_client: a member on the kernel, its fetches, delayed fetches, and the interface that its users see.
raft_log: the metadata log of a member.
messages: what members exchange.

It knows nothing of what the records mean.
"""

__all__ = [
    "messages",
    "raft",
    "raft_client",
    "raft_log",
]

"""The rules of who leads and who is in sync: pure functions from a partition's decided state to its next one.

Whoever controls (a KRaft quorum's leader, a ZooKeeper-mode controller, a step by hand) asks them, and commits what they
return. They know no time, no messages and no node; who is alive is told by the caller.
"""

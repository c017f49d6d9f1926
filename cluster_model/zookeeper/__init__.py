"""A ZooKeeper ensemble: a replicated tree of small nodes with sessions, ephemeral nodes, versions and watches."""

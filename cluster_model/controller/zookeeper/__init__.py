"""ZooKeeper mode: the controller is one of the brokers, elected by a node in ZooKeeper, and decides by messages."""

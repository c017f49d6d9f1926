"""ZooKeeper mode: the service that holds the cluster's state, and the controller that one broker is."""

"""Only says what is compiled, when asked to: with FLOODMARK_COMPILE set, the model's hot modules become C by mypyc.

FLOODMARK_OPTIMIZE is how much the C compiler optimizes, 0 to 3: 0 is compiled in a fraction of the time, and slower.

Everything else about the package stands in pyproject.toml. The modules themselves are the same either way.
"""

import os
import sys

from setuptools import setup

COMPILED = {
    "cluster_model/broker": ["broker", "purgatory", "replica_manager", "request_handler"],
    "cluster_model/broker/fetch": ["fetch_reads", "replica_fetcher"],
    "cluster_model/broker/partition": ["fetch_sessions", "partition", "producer_state_manager", "replication_rules"],
    "cluster_model/checker/anomalies": ["history_checker", "index", "order_rules", "rules"],
    "cluster_model/checker": ["checker"],
    "cluster_model/checker/history": ["partition_history"],
    "cluster_model/checker/invariants": ["invariant_checker"],
    "cluster_model/checker/ledger": ["ack_evidence", "consumption", "delivery_tracker", "duplicates", "ledger"],
    "cluster_model/clients/consumer": ["record_handler"],
    "cluster_model/clients": ["metadata"],
    "cluster_model/clients/producer": [
        "application_producers",
        "producer",
        "record_accumulator",
        "sender",
        "transaction_manager",
        "transactional_producer",
    ],
    "cluster_model/connections": ["network_client", "process_connections"],
    "cluster_model/kernel": ["event_loop", "link", "long_poll", "network", "node_context", "process", "rng"],
    "cluster_model/log": ["batch_store", "leader_epoch_cache", "replica_log", "segments"],
    "cluster_model/observation": ["event_log"],
    "cluster_model/protocol": ["messages", "records"],
    "cluster_model/util": ["ranges"],
}
"""Folder to modules: what every batch passes through."""

# Whoever installs asks several times: what is needed to build, what it will be, and then for the thing itself.
if os.environ.get("FLOODMARK_COMPILE") and "bdist_wheel" in sys.argv:
    from mypyc.build import mypycify

    paths = [f"{folder}/{module}.py" for folder, modules in COMPILED.items() for module in modules]
    setup(ext_modules=mypycify(paths, opt_level=os.environ.get("FLOODMARK_OPTIMIZE", "3")))
else:
    setup()

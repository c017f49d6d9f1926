"""Only says what is compiled, when asked to: with FLOODMARK_COMPILE set, the model's hot modules become C by mypyc.

FLOODMARK_OPTIMIZE is how much the C compiler optimizes, 0 to 3: 0 is compiled in a fraction of the time, and slower.

Everything else about the package stands in pyproject.toml. The modules themselves are the same either way.
"""

import os
import sys

from setuptools import setup

COMPILED = {
    "cluster_model/kernel": ["exchanges", "kernel", "port", "process", "processes", "streams", "wires"],
    "cluster_model/log": ["batch", "epochs", "lineage", "past", "replica_log", "segments"],
    "cluster_model/replication": [
        "broker", "fetcher", "following", "idempotence", "leadership", "purgatory", "replica", "rules", "service",
        "serving", "session_cache", "session_handle", "sessions", "touched",
    ],
    "cluster_model/clients": [
        "accumulator", "books", "in_flight", "io_thread", "lifetime", "metadata", "producer", "readiness", "sender",
        "sequences",
    ],
    "cluster_model/checker": [
        "acked", "books", "checker", "exposed", "history", "ledger", "readings", "repeats", "vouched",
    ],
    "cluster_model/checker/anomalies": [
        "consume_dup", "facts", "history", "listening", "poll_order", "realtime_lag", "realtime_order", "send_order",
        "spans",
    ],
    "cluster_model/checker/safety": ["glance", "safety"],
    "cluster_model": ["messages", "trace"],
}  # fmt: skip
"""Folder to modules: what every batch passes through."""

# Whoever installs asks several times: what is needed to build, what it will be, and then for the thing itself.
if os.environ.get("FLOODMARK_COMPILE") and "bdist_wheel" in sys.argv:
    from mypyc.build import mypycify

    paths = [f"{folder}/{module}.py" for folder, modules in COMPILED.items() for module in modules]
    setup(ext_modules=mypycify(paths, opt_level=os.environ.get("FLOODMARK_OPTIMIZE", "3")))
else:
    setup()

"""Benchmark of storms: whole runs from the random schedule to the result row, checker on, in one process."""

import time

from playbooks.campaign.workloads.fuzz_workload import plan_of
from playbooks.parser.loader import loads

TEXT = """
floodmark: 1
name: storms
cluster: {{kafka: "3.9", brokers: 3}}
topics:
  - {{name: orders, partitions: {partitions}, replication: 3, config: {{min.insync.replicas: 2}}}}
clients:
  producers:
    - {{name: checkout, topic: orders, rate: {rate}/s, config: {{acks: all}}}}
settle: {settle}s
storm: {{chaos: {chaos}s}}
"""


def runs_per_cpu_second(partitions: int, rate: int, seconds: int, runs: int) -> float:
    """Return runs of this many virtual seconds per CPU second; a third of each is the time after healing."""
    settle = seconds // 3
    text = TEXT.format(partitions=partitions, rate=rate, settle=settle, chaos=seconds - settle)
    plan = plan_of(loads(text.lstrip(), "storms.yaml"), 1)
    plan.row(1)
    began = time.process_time()
    for run in range(2, runs + 2):
        plan.row(run)
    return runs / (time.process_time() - began)

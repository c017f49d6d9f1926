"""A first playbook on the cluster of a cluster file, with comments: to be read, run and changed."""

import json
import os
from pathlib import Path
from typing import Final

from playbooks.cluster_risks.failure_playbooks import RATE, busiest_broker, loaded_topics
from playbooks.cluster_risks.placement_risks import Placement
from playbooks.parser.loader import load_cluster, loads

_TEXT: Final = """\
# yaml-language-server: $schema=floodmark.schema.json
# The line above completes and checks keys in editors: floodmark schema > floodmark.schema.json
#
# check it:  floodmark check {file}
# run it:    floodmark run {file}
# watch it:  floodmark --playbook {file}
# all keys:  floodmark keys
floodmark: 1
name: {name}
title: The broker that leads the most partitions of {cluster} crashes under load

cluster:
  from: {cluster_file}  # brokers and topics; values given here take precedence, such as kafka: "4.4"

clients:
  producers:{producers}
  groups:
    - name: readers
      topics: [{topics}]
      members: 2
      # processing: 5ms  # time that the application takes for the records of a poll

# Faults: floodmark faults. Targets: broker(1), rack(a), leader(TOPIC-0), controller, random(2, brokers).
steps:
  - at: 20s
    inject: crash
    target: broker({broker})  # it leads {leads} of {partitions} partitions
    for: 30s  # then the broker starts again
  # - after: 60s  # after the step before
  #   inject: gc_pause
  #   target: controller
  #   for: 15s

settle: 30s  # quiet time after the last fault, before the verdict

# Conditions: docs/reference/conditions.md of floodmark. floodmark run {file} --plain shows what happens.
expect:
  - acked_lost() == 0  # no acknowledged record is lost
  - eventually: under_replicated() == 0
    within: 30s
    since: heal
"""

_PRODUCER: Final = """
    - name: writer-{number}
      topic: {topic}
      rate: {rate}  # records per second; also a ramp, steps, or bursts
      config: {{acks: all}}  # by Kafka's names: floodmark configs producer"""


def first_playbook(cluster_file: str | Path, file: str | Path) -> str:
    """Return the text of a commented playbook for a cluster file; ``file`` is where it will be written.

    Raises:
        PlaybookError: the cluster file has errors.
    """
    path, target = Path(cluster_file), Path(file)
    cluster = load_cluster(path)
    placement = Placement(cluster.spec, cluster.seed)
    broker, leads = busiest_broker(placement)
    topics = [json.dumps(name) for name in loaded_topics(cluster.spec)]
    text = _TEXT.format(
        file=target.name,
        name=json.dumps(f"{cluster.name}-broker-crash"),
        cluster=cluster.name,
        cluster_file=json.dumps(_relative(path, target)),
        producers="".join(
            _PRODUCER.format(number=number, topic=topic, rate=RATE) for number, topic in enumerate(topics, 1)
        ),
        topics=", ".join(topics),
        broker=broker,
        leads=leads,
        partitions=len(placement.partitions),
    )
    loads(text, str(target), {_relative(path, target): path.read_text("utf-8-sig")})
    return text


def _relative(path: Path, target: Path) -> str:
    """Return the path of the cluster file from the directory of the playbook."""
    relative = os.path.relpath(path.resolve(), target.resolve().parent)
    return Path(relative).as_posix()

"""Playbooks of typical failures on the cluster of a cluster file: crash, pause, isolation, loss of a rack, restart.

They have the placement of the file and a small load of their own, as a cluster file has no clients: a producer with
``acks=all`` on each of the topics with the most partitions, and one group that reads them.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from cluster_model.spec import INTERNAL, ClusterSpec
from playbooks.cluster_risks.placement_risks import Placement
from playbooks.model.playbook import Playbook
from playbooks.parser.loader import load_cluster, loads

MAX_LOADED_TOPICS: Final = 3
RATE: Final = "20/s"
"""Records of each producer."""
_FAULT_S: Final = 30


def failure_playbooks(cluster_file: str | Path) -> list[Playbook]:
    """Return a playbook for each failure; the faults are at the broker, or rack, that leads the most partitions.

    Raises:
        PlaybookError: the cluster file has errors.
    """
    file = Path(cluster_file)
    cluster = load_cluster(file)
    return [
        loads(
            _text(file, cluster.spec, f"{cluster.name}-{name}", step), str(file.parent / f"{cluster.name}-{name}.yaml")
        )
        for name, step in _steps(Placement(cluster.spec, cluster.seed)).items()
    ]


def busiest_broker(placement: Placement) -> tuple[int, int]:
    """Return the broker that leads the most partitions, and how many it leads."""
    leads = placement.leads
    broker = max(placement.brokers, key=lambda each: (leads[each], -each))
    return broker, leads[broker]


def loaded_topics(spec: ClusterSpec) -> list[str]:
    """Return the topics with the most partitions, without internal ones where there are others."""
    own = [topic for topic in spec.topics if topic.name not in INTERNAL] or list(spec.topics)
    ordered = sorted(own, key=lambda topic: -(len(topic.placement) or topic.partitions))
    return [topic.name for topic in ordered[:MAX_LOADED_TOPICS]]


def _steps(placement: Placement) -> Mapping[str, str]:
    """Return the step of each failure by its name."""
    broker, _leads = busiest_broker(placement)
    steps = {
        "broker-crash": f"{{at: 10s, inject: crash, target: broker({broker}), for: {_FAULT_S}s}}",
        "broker-paused": f"{{at: 10s, inject: gc_pause, target: broker({broker}), for: {_FAULT_S}s}}",
        "broker-isolated": f"{{at: 10s, inject: isolate, target: broker({broker}), for: {_FAULT_S}s}}",
        "controller-crash": f"{{at: 10s, inject: crash, target: controller, for: {_FAULT_S}s}}",
    }
    if len(placement.racks) > 1:
        of_rack = {rack: sum(placement.leads[each] for each in brokers) for rack, brokers in placement.racks.items()}
        rack = max(sorted(of_rack), key=lambda each: of_rack[each])
        steps["rack-lost"] = f"{{at: 10s, inject: crash, target: rack({rack}), for: {_FAULT_S}s}}"
    steps["rolling-restart"] = "{include: rolling-restart}"
    return steps


def _text(file: Path, spec: ClusterSpec, name: str, step: str) -> str:
    topics = [json.dumps(name) for name in loaded_topics(spec)]
    producers = [
        f"    - {{name: writer-{number}, topic: {topic}, rate: {RATE}, config: {{acks: all}}}}"
        for number, topic in enumerate(topics, 1)
    ]
    lines = ["floodmark: 1", f"name: {json.dumps(name)}", f"cluster: {{from: {json.dumps(file.name)}}}"]
    lines += ["clients:", "  producers:", *producers, "  groups:"]
    lines += [f"    - {{name: readers, topics: [{', '.join(topics)}]}}", "steps:", f"  - {step}"]
    return "\n".join([*lines, "settle: 30s", "expect:", "  - acked_lost() == 0"]) + "\n"

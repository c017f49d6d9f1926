"""Reads what somebody asks of a cluster that runs already, with the same checks and words as in a playbook."""

from collections.abc import Mapping as Values
from dataclasses import replace
from typing import Any

import yaml

from cluster_model.cluster import Cluster
from cluster_model.spec.cluster_spec import ClusterSpec
from playbooks.conditions.conditions import Condition, parse
from playbooks.conditions.types import ConditionError
from playbooks.errors import PlaybookError, Problem
from playbooks.model.playbook import Step
from playbooks.parser.document.context import Facts, Notes
from playbooks.parser.document.references import wrong_names
from playbooks.parser.document.yaml_source import Mapping, compose
from playbooks.parser.steps.timed_steps import TimedSteps


class Asking:
    """What one cluster can be asked for. Topics that operations create are known from then on."""

    def __init__(self, spec: ClusterSpec, path: str) -> None:
        """``path`` stands in messages."""
        self._path = path
        self._facts = facts_of(spec)

    def step(self, asked: Values[str, Any]) -> Step:
        """A step as its keys say: a verb, its name, and whatever belongs to it, plain values all of them.

        Raises:
            PlaybookError: with everything that is wrong with it.
        """
        try:
            text = yaml.safe_dump(dict(asked), sort_keys=False, allow_unicode=True)
        except yaml.YAMLError as error:
            problem = Problem(self._path, 1, 1, "", f"found a value that is no number, text, list or mapping: {error}")
            raise PlaybookError([problem]) from None
        node, problems = compose(text, self._path)
        notes = Notes(self._path, problems, self._facts)
        verb, name = next(iter(asked.items()))
        step = TimedSteps().read(node, 0, f"{verb} {name}", notes) if isinstance(node, Mapping) else None
        if notes.problems or step is None:
            raise PlaybookError(notes.problems)
        self._facts = notes.facts
        return step

    def condition(self, text: str) -> Condition:
        """A condition, or any other expression of that language.

        Raises:
            PlaybookError: it is none, or speaks of what there is not.
        """
        try:
            condition = parse(text)
        except ConditionError as error:
            raise PlaybookError([Problem(self._path, 1, error.column, text, error.message)]) from None
        wrong = [
            Problem(self._path, 1, column, text, message) for column, message in wrong_names(condition, self._facts)
        ]
        if wrong:
            raise PlaybookError(wrong)
        return condition


def facts_in(cluster: Cluster) -> Facts:
    """The same of a cluster that runs, with what its clients outside are known by."""
    outside = cluster.outside
    return replace(
        facts_of(cluster.spec),
        outside_groups=outside.groups,
        outside_producers=tuple(outside.manners.transactional_ids),
    )


def facts_of(spec: ClusterSpec) -> Facts:
    """The names that a cluster's parts have."""
    racks: dict[str, int] = {}
    for broker in spec.brokers:
        if broker.rack:
            racks[broker.rack] = racks.get(broker.rack, 0) + 1
    return Facts(
        kafka=spec.kafka,
        brokers=tuple(broker.id for broker in spec.brokers),
        racks=racks,
        topics={topic.name: len(topic.placement) or topic.partitions for topic in spec.topics},
        replication={
            topic.name: len(topic.placement[0]) if topic.placement else topic.replication for topic in spec.topics
        },
        replicas={f"{topic.name}-{number}": row for topic in spec.topics for number, row in enumerate(topic.placement)},
        mode=spec.mode,
        voters=spec.voters if spec.mode == "kraft" else (),
        zookeepers=spec.zookeepers,
        producers=tuple(producer.name for producer in spec.producers),
        groups={group.name: group.members for group in spec.groups},
    )

"""Reader of Strimzi's resources ``Kafka``, ``KafkaNodePool`` and ``KafkaTopic``, as written or as kubectl prints them.

Resources say how many partitions and replicas a topic has, not where they are: without another input that does they are
placed as Kafka places new topics. The ids of nodes are those of ``status.nodeIds``; where the operator has not written
them yet, those it would choose: of ``strimzi.io/next-node-ids``, else the lowest free ones.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import yaml

from cluster_model.util.quantities import listed
from playbooks.cluster_import.description import ClusterDescription, DescribedTopic, GivenValue, Place
from playbooks.errors import PlaybookError, Problem, shown

_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_CLUSTER_LABEL: Final = "strimzi.io/cluster"
_NEXT_IDS: Final = "strimzi.io/next-node-ids"
_RANGE: Final = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)
MAX_NODES: Final = 1_000
"""Maximum number of nodes of a pool."""
MAX_DEPTH: Final = 60


def is_strimzi(text: str) -> bool:
    """Return whether a text looks like resources of Kubernetes."""
    return re.search(r"^\s*[\"']?apiVersion[\"']?:", text, re.MULTILINE) is not None


def read_strimzi(text: str, path: str) -> ClusterDescription:
    """Return what the resources say.

    Raises:
        PlaybookError: text that is not YAML, values of a wrong type, or resources of several clusters, with lines.
    """
    try:
        _check_depth(text, path)
        documents = list(yaml.compose_all(text, Loader=_LOADER))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        why = getattr(error, "problem", None) or str(error)
        line, column = (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)
        raise PlaybookError([Problem(path, line, column, "", f"found {why}, expected YAML")]) from None
    reader = _StrimziReader(path)
    description = reader.read([document for document in documents if document is not None])
    if reader.problems:
        raise PlaybookError(reader.problems)
    return description


def _check_depth(text: str, path: str) -> None:
    """Refuse a file whose nesting would exhaust the stack of the parser."""
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            message = f"found values nested more than {MAX_DEPTH} deep, the most allowed"
            line = event.start_mark.line + 1 if event.start_mark is not None else 1
            raise PlaybookError([Problem(path, line, 1, "", message)])


@dataclass(frozen=True, slots=True)
class _Pool:
    """Nodes with the same roles: ids that are known, and how many more there are."""

    ids: tuple[int, ...]
    count: int
    roles: frozenset[str]
    place: Place


class _StrimziReader:
    """Reader of the resources of one file; errors are collected."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.problems: list[Problem] = []
        self._description = ClusterDescription()

    def read(self, documents: list[yaml.Node]) -> ClusterDescription:
        kafkas: list[yaml.Node] = []
        pools: list[_Pool] = []
        clusters: dict[str, Place] = {}
        for resource in _resources(documents):
            kind = self._text(resource, "kind")
            label = self._text(resource, "metadata", "name") if kind == "Kafka" else ""
            label = label or self._text(resource, "metadata", "labels", _CLUSTER_LABEL)
            if kind in ("Kafka", "KafkaNodePool", "KafkaTopic") and label:
                clusters.setdefault(label, self._place(resource))
            if kind == "Kafka":
                kafkas.append(resource)
            elif kind == "KafkaNodePool":
                pools += self._pool(resource)
            elif kind == "KafkaTopic":
                self._topic(resource)
            else:
                self._note(f"resources of kind {kind or 'unknown'}")
        if len(clusters) > 1:
            place = list(clusters.values())[1]
            message = f"found resources of the clusters {listed(map(shown, clusters), 'and')}, expected one cluster"
            self.problems.append(place.problem(message))
        for kafka in kafkas:
            self._kafka(kafka, pools)
        self._nodes(pools)
        return self._description

    def _kafka(self, resource: yaml.Node, pools: list[_Pool]) -> None:
        version = _at(resource, "spec", "kafka", "version")
        if version is not None:
            self._description.kafka = GivenValue(str(version.value), self._place(version))
        protocol = _at(resource, "spec", "kafka", "metadataVersion")
        if protocol is not None:
            self._description.protocol = GivenValue(str(protocol.value), self._place(protocol))
        self._description.configs |= self._configs(_at(resource, "spec", "kafka", "config"), "spec.kafka.config")
        if _at(resource, "spec", "kafka", "rack") is not None:
            self._note("the rack awareness of the cluster: racks are labels of Kubernetes nodes; give them with --rack")
        zookeepers = self._number(resource, "spec", "zookeeper", "replicas")
        if zookeepers is not None and not any("controller" in pool.roles for pool in pools):
            self._description.zookeepers = zookeepers
            self._description.mode = GivenValue("zookeeper", self._place(resource))
        elif pools:
            self._description.mode = GivenValue("kraft", self._place(resource))
        replicas = self._number(resource, "spec", "kafka", "replicas")
        if not pools and replicas is not None:
            pools.append(_Pool((), min(replicas, MAX_NODES), frozenset({"broker"}), self._place(resource)))

    def _pool(self, resource: yaml.Node) -> list[_Pool]:
        count = self._number(resource, "spec", "replicas")
        roles = _at(resource, "spec", "roles")
        names = (
            frozenset(str(each.value) for each in roles.value) if isinstance(roles, yaml.SequenceNode) else frozenset()
        )
        if not names or not names <= {"broker", "controller"}:
            self._refuse(roles or resource, "spec.roles", "a list of broker, controller or both")
            return []
        if count is None or count > MAX_NODES:
            if not self.problems:
                self._refuse(resource, "spec.replicas", f"a number of nodes up to {MAX_NODES}")
            return []
        known = _at(resource, "status", "nodeIds")
        ids = [str(each.value) for each in known.value] if isinstance(known, yaml.SequenceNode) else []
        if not ids:
            ids = list(_ranges(self._text(resource, "metadata", "annotations", _NEXT_IDS)))[:count]
            self._note("node pools without status.nodeIds: their ids are those that the operator would choose")
        if not all(_RANGE.fullmatch(each) for each in ids):
            self._refuse(known or resource, "status.nodeIds", "a list of node ids")
            return []
        return [_Pool(tuple(map(int, ids)), max(count, len(ids)), names, self._place(resource))]

    def _nodes(self, pools: list[_Pool]) -> None:
        """Give each node its id: known ones first, then the lowest that is free."""
        used = {number for pool in pools for number in pool.ids}
        free = (number for number in range(len(pools) * MAX_NODES + len(used) + 1) if number not in used)
        voters: list[int] = []
        for pool in pools:
            ids = [*pool.ids, *[next(free) for _ in range(pool.count - len(pool.ids))]]
            if "controller" in pool.roles:
                voters += ids
                self._description.voters_place = pool.place
            if "broker" in pool.roles:
                for number in ids:
                    self._description.broker(number, pool.place)
        self._description.voters = tuple(sorted(voters)) or None

    def _topic(self, resource: yaml.Node) -> None:
        name = self._text(resource, "spec", "topicName") or self._text(resource, "metadata", "name")
        if not name:
            self._refuse(resource, "metadata.name", "the name of a topic")
            return
        topic = DescribedTopic(name, self._place(resource))
        topic.partition_count = self._number(resource, "spec", "partitions")
        topic.replication = self._number(resource, "spec", "replicas")
        topic.configs = self._configs(_at(resource, "spec", "config"), "spec.config")
        self._description.topics[name] = topic

    def _configs(self, node: yaml.Node | None, key: str) -> dict[str, GivenValue]:
        configs: dict[str, GivenValue] = {}
        if node is None:
            return configs
        if not isinstance(node, yaml.MappingNode):
            self._refuse(node, key, "a mapping of configurations")
            return configs
        for name, value in node.value:
            if isinstance(value, yaml.ScalarNode):
                configs[str(name.value)] = GivenValue(str(value.value), self._place(value))
            else:
                self._refuse(value, f"{key}.{name.value}", "a single value")
        return configs

    def _text(self, node: yaml.Node, *keys: str) -> str:
        found = _at(node, *keys)
        return str(found.value) if isinstance(found, yaml.ScalarNode) else ""

    def _number(self, node: yaml.Node, *keys: str) -> int | None:
        found = _at(node, *keys)
        if found is None:
            return None
        if isinstance(found, yaml.ScalarNode) and re.fullmatch(r"[1-9]\d{0,8}", found.value, re.ASCII):
            return int(found.value)
        if not (isinstance(found, yaml.ScalarNode) and found.value == "0"):
            self._refuse(found, ".".join(keys), "a whole number from 1")
        return None

    def _refuse(self, node: yaml.Node, key: str, allowed: str) -> None:
        found = shown(node.value) if isinstance(node, yaml.ScalarNode) else "nothing that fits"
        place = Place(self._path, node.start_mark.line + 1, key)
        self.problems.append(place.problem(f"found {found}, expected {allowed}"))

    def _place(self, node: yaml.Node) -> Place:
        return Place(self._path, node.start_mark.line + 1)

    def _note(self, ignored: str) -> None:
        if ignored not in self._description.notes:
            self._description.notes.append(ignored)


def _resources(documents: list[yaml.Node]) -> Iterator[yaml.Node]:
    """Yield every resource, also those of a list as kubectl prints it."""
    for document in documents:
        items = _at(document, "items")
        if isinstance(items, yaml.SequenceNode):
            yield from items.value
        else:
            yield document


def _at(node: yaml.Node | None, *keys: str) -> yaml.Node | None:
    for key in keys:
        pairs = node.value if isinstance(node, yaml.MappingNode) else []
        node = next((value for name, value in pairs if name.value == key), None)
    if isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:null":
        return None
    return node


def _ranges(text: str) -> Iterator[str]:
    """Yield the ids of an annotation such as ``[0-2, 7]``, at most as many as a pool may have."""
    for part in text.strip("[] ").split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is not None:
            first, last = int(match[1]), int(match[2] or match[1])
            step = 1 if last >= first else -1
            yield from map(str, range(first, last + step, step)[:MAX_NODES])

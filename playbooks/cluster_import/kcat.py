"""Reader of ``kcat -L -J``: the metadata of a cluster as librdkafka has it, in JSON.

It has no racks, no configurations and no release: other inputs say those.
"""

import json
from typing import Any, Final

from playbooks.cluster_import.description import NO_LEADER, ClusterDescription, DescribedPartition, Place
from playbooks.errors import PlaybookError, Problem, shown

_EXPECTED: Final = "the output of kcat -L -J"


def is_kcat_output(text: str) -> bool:
    """Return whether a text looks like the JSON of kcat."""
    return text.lstrip()[:1] == "{"


def read_kcat_output(text: str, path: str) -> ClusterDescription:
    """Return what the metadata says.

    Raises:
        PlaybookError: text that is not JSON, with its line; JSON that is not of kcat, with the path of each value.
    """
    try:
        document = json.loads(text)
    except ValueError as error:
        line, column, why = getattr(error, "lineno", 1), getattr(error, "colno", 1), getattr(error, "msg", str(error))
        problem = Problem(path, line, column, "", f"found text that is not JSON ({why}), expected {_EXPECTED}")
        raise PlaybookError([problem]) from None
    except RecursionError:
        message = f"found JSON that is nested too deep, expected {_EXPECTED}"
        raise PlaybookError([Problem(path, 1, 1, "", message)]) from None
    reader = _KcatReader(path)
    description = reader.read(document)
    if reader.problems:
        raise PlaybookError(reader.problems)
    return description


class _KcatReader:
    """Reader of one document; errors are collected."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.problems: list[Problem] = []

    def read(self, document: Any) -> ClusterDescription:
        description = ClusterDescription()
        for key, broker in self._items(document, "", "brokers"):
            number = self._value(broker, key, "id", int)
            if number is not None:
                description.broker(number, self._place(f"{key}.id"))
        for key, entry in self._items(document, "", "topics"):
            name = self._value(entry, key, "topic", str)
            if isinstance(entry, dict) and entry.get("error"):
                self._refuse(f"{key}.error", entry["error"], "a topic without an error")
            elif name is not None:
                topic = description.topic(name, self._place(f"{key}.topic"))
                partitions = self._items(entry, key, "partitions")
                for each_key, each in partitions:
                    self._partition(topic.partitions, each, each_key)
                topic.partition_count = len(partitions)
                missing = set(range(len(partitions))) - topic.partitions.keys()
                if missing and not self.problems:
                    allowed = f"the partitions 0 to {len(partitions) - 1} once each"
                    self._refuse(f"{key}.partitions", f"no partition {min(missing)}", allowed)
                for partition in topic.partitions.values():
                    for number in partition.replicas:
                        description.broker(number, partition.place)
        return description

    def _partition(self, partitions: dict[int, DescribedPartition], entry: Any, key: str) -> None:
        number, leader = self._value(entry, key, "partition", int), self._value(entry, key, "leader", int)
        ids = [
            tuple([self._value(each, each_key, "id", int) for each_key, each in self._items(entry, key, name)])
            for name in ("replicas", "isrs")
        ]
        if number is None or leader is None or None in ids[0] or None in ids[1]:
            return
        replicas, isr = [tuple([each for each in row if each is not None]) for row in ids]
        if not replicas or len(set(replicas)) < len(replicas):
            self._refuse(f"{key}.replicas", str(list(replicas)), "broker ids, each once")
            return
        leader = NO_LEADER if leader < 0 else leader
        partitions[number] = DescribedPartition(replicas, leader, isr, self._place(key))

    def _items(self, node: Any, key: str, name: str) -> list[tuple[str, Any]]:
        """Return the elements of a list with their paths."""
        path = f"{key}.{name}" if key else name
        found = node.get(name) if isinstance(node, dict) else None
        if isinstance(found, list):
            return [(f"{path}[{number}]", each) for number, each in enumerate(found, 1)]
        self._refuse(path, "nothing" if found is None else type(found).__name__, f"a list, as in {_EXPECTED}")
        return []

    def _value(self, node: Any, key: str, name: str, kind: type) -> Any:
        """Return a value of a kind, None with an error."""
        found = node.get(name) if isinstance(node, dict) else None
        if isinstance(found, kind) and not isinstance(found, bool):
            return found
        self._refuse(f"{key}.{name}", found, "a number" if kind is int else "text")
        return None

    def _refuse(self, key: str, found: Any, allowed: str) -> None:
        text = found if isinstance(found, str) and found.startswith(("no ", "nothing", "[")) else shown(str(found))
        self.problems.append(self._place(key).problem(f"found {text}, expected {allowed}"))

    def _place(self, key: str) -> Place:
        return Place(self._path, 0, key)

"""Fewer records and clients: what the decisions were made on, down to what the finding needs."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from playbooks.shrink.candidate import Draft
from playbooks.shrink.search import Best, Site
from playbooks.shrink.tree import Path, Tree, Word, at, put, without

_COUNT: Final = re.compile(r"[0-9]{1,9}", re.ASCII)
_RATE: Final = re.compile(r"([0-9]{1,9})(/[a-z]+)", re.ASCII)
_PLAIN_RATE: Final = Word("10/s")
_STAYS: Final = frozenset(
    {"kafka", "mode", "brokers", "replication", "rate", "name", "topic", "topics", "placement", "id"}
)
"""Keys that are never left out: without them there would be another story, or more of something."""
_LISTS: Final = (("clients", "groups"), ("clients", "producers"), ("topics",))


def smaller(best: Best) -> Iterator[Site]:
    """Clients and topics that nothing needs, then less of everything, then what is set for nothing."""
    draft = best.draft
    for path in _LISTS:
        yield from _whole(draft, path)
    yield from _topics(draft)
    yield from _less(draft)
    yield from _settings(draft)


def coarser(best: Best) -> Iterator[Site]:
    """What makes a session cheaper to run at one stroke: no readers, one partition each, few records."""
    draft = best.draft
    yield from _whole(draft, ("clients", "groups"))
    yield from _topics(draft)
    for place, topic in _named(draft, ("topics",)):
        if isinstance(topic.get("partitions"), Word):
            yield Site(f"topic {_name(topic)} partitions", [_put(draft, ("topics", place, "partitions"), Word("1"))])
    for place, producer in _named(draft, ("clients", "producers")):
        path: Path = ("clients", "producers", place, "rate")
        rate = producer.get("rate")
        if isinstance(rate, Word) and (found := _RATE.fullmatch(rate.text)) and int(found[1]) > 20:
            yield Site(f"producer {_name(producer)} rate", [_put(draft, path, _PLAIN_RATE)])


def _named(draft: Draft, path: Path) -> list[tuple[int, Mapping[str, Tree]]]:
    """The elements of a list, the last first, each with its place."""
    try:
        found = at(draft.head, path)
    except LookupError:
        return []
    items = found if isinstance(found, tuple) else ()
    return [(place, item) for place, item in reversed(list(enumerate(items))) if isinstance(item, Mapping)]


def _name(item: Mapping[str, Tree]) -> str:
    value = item.get("name", item.get("id"))
    return value.text if isinstance(value, Word) else ""


def _put(draft: Draft, path: Path, value: Tree) -> Draft:
    head = put(draft.head, path, value)
    assert isinstance(head, Mapping)
    return replace(draft, head=head)


def _without(draft: Draft, path: Path) -> Draft:
    """Without what stands there, and without what is empty then."""
    head = without(draft.head, path)
    while len(path) > 1 and not at(head, path := path[:-1]):
        head = without(head, path)
    assert isinstance(head, Mapping)
    return replace(draft, head=head)


def _whole(draft: Draft, path: Path) -> Iterator[Site]:
    """All of a list at once, then one after the other."""
    items = _named(draft, path)
    if len(items) > 1 and path != ("topics",):
        yield Site(f"{path[-1]}", [_without(draft, path)])
    for place, item in items:
        if path == ("topics",) and len(items) == 1:
            return
        yield Site(f"{path[-1]} {_name(item)}", [_without(draft, (*path, place))])


def _topics(draft: Draft) -> Iterator[Site]:
    """A topic with everybody who writes to it or reads it."""
    topics = _named(draft, ("topics",))
    if len(topics) < 2:
        return
    for place, topic in topics:
        fewer = draft
        for number, producer in _named(draft, ("clients", "producers")):
            if producer.get("topic") == Word(_name(topic)) or _says(producer.get("topic"), _name(topic)):
                fewer = _without(fewer, ("clients", "producers", number))
        for number, group in _named(fewer, ("clients", "groups")):
            read = group.get("topics")
            if isinstance(read, tuple):
                rest = tuple([each for each in read if not _says(each, _name(topic))])
                path: Path = ("clients", "groups", number)
                fewer = _put(fewer, (*path, "topics"), rest) if rest else _without(fewer, path)
        yield Site(f"all of topic {_name(topic)}", [_without(fewer, ("topics", place))])


def _says(value: Tree | None, text: str) -> bool:
    return isinstance(value, Word) and value.text == text


def _less(draft: Draft) -> Iterator[Site]:
    """Smaller numbers, and fewer elements."""
    for path, value in _leaves(draft.head):
        if isinstance(value, Word):
            if "config" not in path and path[-1] not in ("id", "name"):
                yield Site(f"less {_words(draft, path)}", [_put(draft, path, each) for each in fewer_of(value)])
        elif path[-1] == "rate":
            yield Site(f"rate {_words(draft, path)}", [_put(draft, path, _PLAIN_RATE)])
    for place, topic in _named(draft, ("topics",)):
        yield from _placement(draft, ("topics", place, "placement"), topic.get("placement"))
    brokers = at(draft.head, ("cluster",)) if "cluster" in draft.head else {}
    listed = brokers.get("brokers") if isinstance(brokers, Mapping) else None
    if isinstance(listed, tuple) and len(listed) > 1:
        for number in reversed(range(len(listed))):
            yield Site(f"broker {number}", [_without(draft, ("cluster", "brokers", number))])


def _placement(draft: Draft, path: Path, value: Tree | None) -> Iterator[Site]:
    if not isinstance(value, tuple):
        return
    if len(value) > 1:
        yield Site(f"{path} first", [_put(draft, path, value[:1])])
        yield Site(f"{path} shorter", [_put(draft, path, value[:-1])])
    shorter: Tree = tuple([each[:-1] if isinstance(each, tuple) and len(each) > 1 else each for each in value])
    yield Site(f"{path} fewer", [_put(draft, path, shorter)])


def fewer_of(value: Word) -> list[Word]:
    """Smaller numbers in place of one, the smallest first; none for what is no number or rate."""
    found = _RATE.fullmatch(value.text) or (_COUNT.fullmatch(value.text) if value.plain else None)
    if found is None:
        return []
    unit = found[2] if found.re is _RATE else ""
    number = int(found[1] if unit else found[0])
    tried = sorted({1, number // 10, number // 4, number // 2, number - 1 if number <= 10 else 1})
    return [Word(f"{each}{unit}", value.plain) for each in tried if 0 < each < number]


def _leaves(tree: Tree, path: Path = ()) -> Iterator[tuple[Path, Tree]]:
    """Every word with its path, and every mapping in which a rate is told."""
    if isinstance(tree, Word):
        yield path, tree
    elif isinstance(tree, Mapping):
        if path and path[-1] == "rate":
            yield path, tree
        for key, value in tree.items():
            yield from _leaves(value, (*path, key))
    elif not path or path[-1] != "placement":
        for place, value in enumerate(tree):
            yield from _leaves(value, (*path, place))


def _settings(draft: Draft) -> Iterator[Site]:
    """Everything that need not be said, whole sections before what is in them."""
    if "guards" in draft.head:
        yield Site("guards", [_without(draft, ("guards",))])
    places: list[Path] = [("cluster",)]
    for each in _LISTS:
        places += [(*each, place) for place, _item in _named(draft, each)]
    for path in places:
        found = at(draft.head, path) if path[0] in draft.head else {}
        if isinstance(found, Mapping):
            yield from _optional(draft, path, found)


def _optional(draft: Draft, path: Path, found: Mapping[str, Tree]) -> Iterator[Site]:
    for key, value in found.items():
        if key not in _STAYS:
            yield Site(f"set {_words(draft, (*path, key))}", [_without(draft, (*path, key))])
        if isinstance(value, Mapping) and len(value) > 1 and key != "rate":
            for name in value:
                yield Site(f"set {_words(draft, (*path, key, name))}", [_without(draft, (*path, key, name))])


def _words(draft: Draft, path: Path) -> str:
    """A path with names in place of numbers, which stays so as elements before it go."""
    words = []
    for length, part in enumerate(path, 1):
        there = at(draft.head, path[:length])
        name = _name(there) if isinstance(part, int) and isinstance(there, Mapping) else ""
        words.append(name or str(part))
    return ".".join(words)

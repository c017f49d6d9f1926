"""The manual's page of safety properties, made from the registry: ``python -m docs.generate.invariant_page``.

It is kept as ``docs/invariants.md``.
"""

from typing import Final

from cluster_model.checker.invariants.base import Promise
from cluster_model.checker.invariants.invariant_checker import PROMISES
from playbooks.reference_text import mends_words, promised_words, special_words
from playbooks.text import safe, table_text

_INTRODUCTION: Final = """# Invariants

What the protocol promises, each looked at by the checker at the first event that can break it. This page is made from
the checker's own registry (`python -m docs.generate.invariant_page > docs/invariants.md`), as is
`floodmark invariants`.

All of them are checked under every version. A version that never promised one is known for breaking it: such a
violation says which KIP mended it, and in which version. What no version is known for must not happen. In a
[playbook](playbooks.md), `violations(NAME)` counts both kinds, and `unexpected_violations(NAME)` only what must not
happen; without a name they count all properties. A violation makes nothing fail by itself.

A violation tells the event's time, the partition, the broker, the offsets that it concerns, the leader epoch, and one
sentence. A fault is told when it is first seen, and once for a partition, a broker and a leader epoch, however much it
goes on to harm there; of stable reads once for every reader besides.

A crash is lossy if it takes records that were on no disk: a power loss, a lost disk, a damaged batch. A process that
crashes loses nothing, for the operating system has its pages. What excuses a loss is counted per partition, for records
of the leader epochs up to then and no later ones: an unclean election; the last in-sync replica losing what was on no
disk; with eligible leader replicas, as many replicas as `min.insync.replicas` losing it.

Where a person decides step by step (`stepping: manual`), what only a replica without its log explains is no violation
under a version whose controller would have seen to it.
"""


def page() -> str:
    """The whole page, in Markdown."""
    rows = [(f"[{each.name}](#{each.name})", each.title, promised_words(each)) for each in PROMISES.values()]
    parts = [_INTRODUCTION, table_text(("name", "what it is about", "promised by"), rows, str)]
    parts += [section(each) for each in PROMISES.values()]
    return "\n".join(parts)


def section(promise: Promise) -> str:
    """All about one property."""
    rows = [
        ("Promised by", promised_words(promise)),
        *((where[0].upper() + where[1:], words) for where, words in special_words(promise)),
        ("Mended by", ", ".join(mends_words(promise))),
        ("No violation", promise.exceptions),
        ("Source", promise.source),
    ]
    lines = [f"## {promise.name}", "", safe(promise.text), ""]
    lines += [f"- {head}: {safe(text)}" for head, text in rows if text]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    print(page(), end="")

# ruff: noqa: E501 - a page of prose and tables
"""The page of liveness properties, ``docs/liveness.md``, made from them: ``python -m docs.generate.liveness_page``."""

from typing import Final

from cluster_model.checker.liveness.liveness_checker import OFTEN_US, PROPERTIES, QUIET_US, SELDOM_US
from cluster_model.checker.liveness.partition_state import Property
from playbooks.text import safe, table_text

_HEAD: Final = """# What must come true in time

A safety property ([invariants](invariants.md)) is broken by one bad event. A liveness property is broken by time: something
that had to happen has not. This page is made from the properties (`python -m docs.generate.liveness_page`).

Each property is an obligation that opens when something is not as it must become, and closes when it is. Its clock
starts when nothing disturbs those concerned any more: the last fault on them is healed, their process is back, the link
between them is whole. A broker that stays down, or a fault on others, stops no clock. What is not met within its bound
is an event, `liveness_overdue`, one line of `floodmark run`, an entry of `overdue` in the JSON document, and counts in the
conditions `overdue()`, `overdue(NAME)` and `unexpected_overdue()`, which leaves out what the version is known for.

```
overdue  leader-elected: orders-0: broker 1, which leads, is gone, ..., since 12s, bound 10s
```

Bounds are whole microseconds, added up from the configuration in force and the version in one place
(`cluster_model/checker/liveness/deadlines.py`). Waits that can follow one another are added, and in doubt the longer one is
taken. Where nobody was told that a connection died the longest of all timeouts is waited for besides, as peers find out
only then: after a link was cut, slowed or lost messages, after a pause, and after a power loss; `leader-elected` counts
from a power loss at once. A killed process's peers are told by resets, and a slow one answers: nothing is added then.

What is still owed at the end, and not yet due, is neither kept nor broken. It is told apart, as `unjudged` in the JSON
document and in one line of `floodmark run`: property, partition, broker, for how long it has been owed (`owed_us`), and how
much longer the session would have had to go on undisturbed to judge it (`missing_us`, -1 where no time is enough). So
`overdue() == 0` is no proof that all came true; a longer `settle:` gives one. A high watermark that has been behind for
less than {seldom} ms is not told: after every record it is.

Obligations are looked at when an event of the model comes by: at most every {often} ms after a rare one, at most every
{seldom} ms otherwise, every {quiet} ms while nothing disturbs anybody and nothing falls due, and at the end. Nothing is
scheduled for it, so what is told and when does not depend on how a session is advanced. In a cluster in which nothing happens at all the end is the next moment.

## The properties

"""

_STUCK: Final = """
## Stuck, and rightly so

Kafka stands still on purpose, too. That is no broken promise but told apart, as `stuck` in the result and at the end of
`floodmark run`, with why and what sets it free:

| state | what it looks like | what releases it |
|---|---|---|
| nobody of the ISR (and ELR) is up, unclean election is off | leader -1, for ever | one of them back, or an unclean election by hand |
| fewer replicas up than `min.insync.replicas` | acks=all is refused: NOT_ENOUGH_REPLICAS | replicas back, or a lower minimum |
| up to 3.6, `min.insync.replicas` above the number of replicas | the same, always | a lower minimum, or more replicas |
| no majority of controllers, or of the ensemble | no elections and no ISR changes; leaders go on | a majority |
| the same with a dead member in the ISR | acks=all waits in vain | a majority, or that member back |
| a fetcher that was fenced | its partition is not fetched | metadata with a newer leader epoch |
| a damaged batch at the leader | its follower asks for it again and again | another leader |
| ZooKeeper mode from 2.7 on: a proposed ISR was taken, and its answer lost | the leader proposes no more | a newer leader epoch |
"""


def page() -> str:
    """All of it, in Markdown."""
    rows = [(f"[{each.name}](#{each.name})", each.promise) for each in PROPERTIES]
    head = _HEAD.format(often=OFTEN_US // 1_000, seldom=SELDOM_US // 1_000, quiet=QUIET_US // 1_000)
    return head + "\n".join([table_text(("property", "promise"), rows), *map(_section, PROPERTIES)]) + _STUCK


def _section(each: Property) -> str:
    """When it is due, what puts that off, and which versions are known to break it."""
    return (
        f"### {each.name}\n\n"
        f"- **Due within:** {safe(each.bound)}\n"
        f"- **What stops its clock:** {safe(each.disturbed_by)}\n"
        f"- **Known not to keep it:** {safe(each.known)}\n"
    )


if __name__ == "__main__":
    print(page(), end="")

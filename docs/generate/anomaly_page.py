"""docs/anomalies.md, made from the registry: ``python -m docs.generate.anomaly_page > docs/anomalies.md``."""

from cluster_model.checker.anomalies.definitions import KINDS, Kind

HEAD = """\
# Anomalies that clients can see

A session tells what its own clients could have noticed: from what producers were told of their records and from what
consumers were handed, and from nothing else that the model knows. The names are those of Jepsen's checker for Kafka.
`floodmark run` prints those that the clients' settings do not allow, one a line, and sums the others up in one; the
JSON document has all of them under `anomalies`. In a condition `anomalies()` counts what must not be, and
`anomalies("lost-write")` all of that name, legal or not. A playbook that is stepped by hand has no clients, and so
no anomalies. What brought them about is told as [causes](causes.md), from all that the model knows.

| anomaly | found where | legal when |
|---|---|---|
"""

TAIL = """
## How they are counted

- A value is one record by its client and number, a key is one partition. `duplicate`, `lost-write`, `unseen`, `G1a`,
  `precommitted-read`, `phantom`, `realtime-order` and `consume-dup` count values, `inconsistent-offsets` offsets,
  `G0` and `G1c` components of transactions that depend on each other, the others operations.
- A process is one life of a client: after a restart it is another. Every record sent outside of a transaction is an
  operation by itself. A hand-out counts as read as soon as the application has it, also if its transaction fails.
- The *log* of a partition is what was seen at each offset, by a poll or in an acknowledgement; holes in it skip
  nothing. `lost-write`: the bound is the highest offset at which a value that was read stands first; lost is what
  stands last at or below it, is committed, and was never read. An acknowledged record above the bound is `unseen`.
- At the end a fresh reader is handed every partition from its log start to its high watermark, without aborted data.
  What is below the log start then was deleted on purpose, and is missed by nobody.
- The order of two values is that of the offsets at which they were read, or acknowledged. A value that stands at two
  offsets is told as a `duplicate` alone, and not once more as a skip and a step back of every reader.
- A reader of committed data that steps over aborted records skips nothing.
- `G0` and `G1c` are about transactions: a send by itself is one value, so that it cannot be torn.
- Where an application goes back by itself, because a handler or a transaction failed, nothing is out of order.
- Until the session ends `lost-write`, `unseen`, `G0`, `G1c`, `realtime-lag` and skips over what nobody had seen by
  then are not counted: they depend on what is read later.
"""


def page() -> str:
    """The whole page."""
    jepsen = [kind for kind in KINDS.values() if not kind.own]
    own = [kind for kind in KINDS.values() if kind.own]
    more = "\nThree more are this model's own:\n\n| anomaly | found where | legal when |\n|---|---|---|\n"
    return HEAD + "".join(map(_row, jepsen)) + more + "".join(map(_row, own)) + TAIL


def _row(kind: Kind) -> str:
    return f"| `{kind.name}` | {kind.rule} | {kind.legal} |\n"


if __name__ == "__main__":
    print(page(), end="")

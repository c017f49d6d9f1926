"""The manual's page of causes, made from the registry: ``python -m docs.generate.cause_page > docs/causes.md``."""

import re
from typing import Final

from cluster_model.checker.root_cause.findings import CAUSES, KINDS, Cause
from playbooks.text import safe

_INTRODUCTION: Final = """# Causes

What went wrong with records is told as *findings*. A finding is records of one kind and one cause, brought about by
the same events: a thousand records with one cause are one finding, over however many partitions. It has a sentence
(what was promised by whom, what happened, who took over without it, where it was dropped), its places (which records,
where), and the chain of events in order of time. `floodmark run` prints them, `--json` has them under `findings`, and a
playbook may ask for them: `findings() == 0`, `findings(unclean-election) == 1`.

Where the events that were kept do not bear a cause out, it is `unexplained`, and the sentence says what is known. When
it was too late, and what would have kept the records, [`floodmark why`](why.md) tells. What clients could have noticed
of it are [anomalies](anomalies.md).

This page is made from the list of causes (`python -m docs.generate.cause_page`).
"""

_KINDS: Final = {
    "lost": "Acknowledged, and in no log any more, or missing as the session ended.",
    "missing": "Acknowledged and not in the leader's log, while another replica's still has it; only before the end.",
    "duplicate": "At two offsets of the leader's log.",
    "reordered": "Behind later records of its producer in the leader's log.",
    "skipped": "Passed over by a group.",
    "abandoned": "Handed to an application that ended without processing it, and to nobody since.",
    "undone": "Acknowledged, and aborted in the log with a transaction that was not its own.",
    "leaked": "Aborted as its producer was told, and committed in the log.",
}

_SETTING: Final = re.compile(r"[a-z.]+=")
"""A meaning that begins with a configuration of Kafka's is not written large: its name has no capitals."""


def page() -> str:
    """The whole page, in Markdown."""
    kinds = ["| kind | meaning |", "|---|---|", *(f"| `{kind}` | {_KINDS[kind]} |" for kind in KINDS)]
    causes = ["| cause | of what | meaning | see |", "|---|---|---|---|", *(_row(cause) for cause in CAUSES)]
    return "\n".join([_INTRODUCTION, "## Kinds", "", *kinds, "", "## Causes", "", *causes, ""])


def _row(cause: Cause) -> str:
    meaning = cause.meaning if _SETTING.match(cause.meaning) else cause.meaning[0].upper() + cause.meaning[1:]
    return f"| `{cause.code}` | {', '.join(cause.kinds)} | {safe(meaning)}. | {cause.see or '-'} |"


if __name__ == "__main__":
    print(page(), end="")

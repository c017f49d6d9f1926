"""What an application of a playbook does with records that its handler cannot process."""

import re

from cluster_model.spec.application import HANDED_OFF
from playbooks.parser.document.context import Notes
from playbooks.parser.document.field_types import Fields


def dead_letter(fields: Fields, notes: Notes) -> str:
    """The topic for such records, by ``fails`` or by a fault: only where the application waits for its handler."""
    topic = str(fields.get("dead_letter", ""))
    wrong = ""
    if topic and (topic in fields.get("topics", ()) or re.fullmatch(fields.get("pattern", ""), topic)):
        wrong = f"found {topic!r}, which the group reads itself, allowed is another topic"
    elif topic and fields.get("commit", "auto") == HANDED_OFF:
        wrong = "found a dead-letter topic with 'commit: handed_off', allowed where the poll loop waits for the handler"
    if wrong:
        notes.problem(fields.at("dead_letter"), fields.path("dead_letter"), wrong)
    return topic

"""A run written down: a playbook that does at the same places what the storm did, and is run like any other."""

from typing import Final

from playbooks.campaign.store import SESSIONS, Campaign, Kept
from playbooks.campaign.workloads.fuzz_workload import Plan
from playbooks.engine.session import ENDINGS, Session
from playbooks.export.playbook_writer import replaced
from playbooks.fuzz.protocol_states import NOTHING
from playbooks.fuzz.runner import Driven, Own
from playbooks.fuzz.swarm import Swarm
from playbooks.model.playbook import Trigger
from playbooks.model.step_text import action_lines, block, scalar, step_lines, trigger_lines
from playbooks.parser.loader import load
from playbooks.parser.written_out import rewritten, written_out
from playbooks.parser.yaml_edit import EditError, put, without
from playbooks.recording.recorder import Recorder
from playbooks.session_format.filesystem import put_in_place
from playbooks.version import VERSION

_INDENT: Final = 2


class WritingError(Exception):
    """A run that no playbook comes to the same as; the message says which."""


def keep_run(plan: Plan, run: int, campaign: Campaign) -> Kept:
    """Run it again, write its playbook, and record that playbook's session, unless that was done before.

    Raises:
        WritingError: the playbook does not come to the same.
        RecordingError, OSError: something cannot be written.
    """
    before = campaign.kept.get(run)
    if before is not None and before.playbook is not None and before.playbook.is_file() and before.session.is_dir():
        return before
    driven, swarm, session = plan.drive(run)
    path = campaign.path / f"run-{run}.yaml"
    put_in_place(path, playbook_text(plan, swarm, driven, session.playbook.name))
    recorder = Recorder(campaign.path / SESSIONS)
    recorded = Session.start(load(path), recorder=recorder)
    digest = recorded.finish().digest
    if digest != driven.result.digest:
        raise WritingError(
            f"{path}: the playbook of run {run} comes to the digest {digest}, not {driven.result.digest}"
        )
    kept = campaign.kept[run] = Kept(run, path, recorder.path)
    return kept


def playbook_text(plan: Plan, swarm: Swarm, driven: Driven, name: str) -> str:
    """The whole file."""
    text = written_out(plan.text_of(swarm.cell), plan.path, dict(plan.fragments))
    try:
        return _edited(text, plan, swarm, driven, name)
    except EditError:
        return _edited(rewritten(text, plan.path, {}), plan, swarm, driven, name)


def _edited(text: str, plan: Plan, swarm: Swarm, driven: Driven, name: str) -> str:
    head = (
        f"# Run {swarm.run} of a storm over {name} with the seed {plan.seed}, by floodmark {VERSION}.\n"
        "# Beside each step: the states of the cluster that it met.\n"
    )
    text = put(text, "name", scalar(f"{name[:80]}-storm-{swarm.run}"))
    text = put(text, "title", scalar(f"Run {swarm.run} of a storm over {name}"))
    text = put(text, "seed", str(swarm.seed))
    for key in ("vary", "profiles", "storm"):
        text = without(text, key, "Of the playbook that the storm was over:")
    return head + replaced(text, "steps", ["steps:", *_steps(driven)])


def _steps(driven: Driven) -> list[str]:
    lines: list[str] = []
    ends = False
    for each in driven.acts:
        if isinstance(each, Own):
            if each.step.verb != "round":
                lines += block(step_lines(each.step, each.trigger), _INDENT)
            ends = each.step.verb in ENDINGS
            continue
        remark = ", ".join(each.states) if each.states != (NOTHING,) else ""
        lines += block([*trigger_lines(each.trigger), *action_lines(each.action)], _INDENT, remark)
    if not ends:
        settle = [*trigger_lines(Trigger("at", driven.settled_us)), ("settle", "now")]
        lines += block(settle, _INDENT, "everything heals")
    return lines

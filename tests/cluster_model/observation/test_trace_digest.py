"""Content of a trace's digest."""

from cluster_model.observation.event_log import PLAYBOOK_KINDS, EventLog
from cluster_model.protocol.events import AdminAnswered, AdminRequested, ExpectationChecked, FaultSkipped, StepTaken


def digest(*events):
    trace = EventLog()
    for event in events:
        trace.emit(event)
    return trace.digest(5, 7)


def test_playbook_events_are_not_in_the_digest():
    step = StepTaken(3, "step 1", "leader(orders-0)", "inject crash", "")
    checked = ExpectationChecked(4, "acked_lost() == 0", True, "")
    assert {step.kind, checked.kind} == PLAYBOOK_KINDS
    skipped = FaultSkipped(3, "crash", "leader(orders-0)", "nobody")
    assert digest(step, skipped, checked) == digest(skipped)
    assert digest(skipped) != digest()


def test_the_requester_of_an_operation_is_not_in_the_digest():
    def operation(by, detail="partition=orders-0"):
        return (
            AdminRequested(3, 1, "elect_leaders", by, detail),
            AdminAnswered(4, 1, "elect_leaders", by, "", "done", 1),
        )

    assert digest(*operation("operator")) == digest(*operation("step 7"))
    assert digest(*operation("operator")) != digest(*operation("operator", "partition=orders-1"))
    assert digest(*operation("operator")) != digest()

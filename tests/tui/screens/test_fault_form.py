"""The form of a fault, and faults that wait for time to go on."""

import pytest

from faults.catalogue import CATALOGUE
from faults.declarations.fault import Action, FaultError
from playbooks.engine.session import Session
from playbooks.parser.steps.timed_steps import facts_of
from tests.tui import fake_views
from tests.tui.driving import driving, trimmed
from tui.screens.fault_forms import FaultForm, FormFieldError, fields, read_fields
from tui.session.session_controller import SessionController
from tui.session.typed_commands import CommandContext
from tui.terminal.frame_clock import StepClock
from tui.viewmodel import side_panes, status_bar

SIZES = {"80x24": (80, 24), "120x40": (120, 40), "200x60": (200, 60)}
PLACE = CommandContext(facts_of(fake_views.playbook().spec), ("checkout",))
LAG = CATALOGUE["lag"]
TARGETS = {"consumers": "client(billing/0)", "producers": "client(checkout)", "clients": "client(checkout)"}


def filled(fault, target="broker(1)", **more):
    return {each.name: each.value for each in fields(fault, target)} | more


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, fault in CATALOGUE.items() if fault.at_least <= 3])
def test_a_form_as_it_opens_is_what_the_letter_does(name):
    fault = CATALOGUE[name]
    target = fault.target or TARGETS.get(fault.accepts, "broker(1)")
    needed = {each.name: "orders-0" for each in fault.params if each.default is None and each.type == "partition"}
    needed |= {each.name: "broker(2)" for each in fault.params if each.default is None and each.type == "target"}
    action = read_fields(fault, filled(fault, target) | needed, PLACE)
    assert action == Action("inject", name, target, needed, fault.default_duration_us if fault.is_lasting else -1)


def test_form_fields_are_parsed_like_playbooks():
    values = filled(LAG, "b2", latency="300ms", to="leader(orders-0) + b3", **{"for": "8s"})
    assert read_fields(LAG, values, PLACE) == Action(
        "inject", "lag", "broker(2)", {"latency": 300_000, "to": "leader(orders-0) + broker(3)"}, 8_000_000
    )


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"latency": "300"}, "latency"),
        ({"latency": "2h"}, "latency"),
        ({"direction": "up"}, "direction"),
        ({"target": "b9"}, "target"),
        ({"target": ""}, ""),
        ({"for": "long"}, "for"),
    ],
    ids=lambda each: str(each) if isinstance(each, dict) else "",
)
def test_form_errors_name_their_field(changed, field, snapshot):
    with pytest.raises(FormFieldError) as caught:
        read_fields(LAG, filled(LAG) | changed, PLACE)
    assert caught.value.field == field
    assert str(caught.value) == snapshot


def test_every_field_says_what_it_takes(snapshot):
    for fault in CATALOGUE.values():
        assert all(each.words for each in fields(fault, ""))
    assert next(each for each in fields(LAG, "") if each.name == "latency").words == snapshot


# -- waiting ------------------------------------------------------------------------------------------------------


def waiting(*actions):
    clock = StepClock()
    session_controller = SessionController(
        Session.start(fake_views.playbook(orders=1, payments=1), open_ended=True), clock
    )
    session_controller.pause(True)
    for action in actions:
        session_controller.queue(action)
    return session_controller, clock


CRASH, LATER = Action("inject", "crash", "broker(1)"), Action("inject", "lag", "broker(2)", for_us=1_000_000)


def test_queued_actions_run_in_order_at_the_paused_time(snapshot):
    session_controller, clock = waiting(CRASH, LATER, CRASH)
    clock.tick(5)
    session_controller.frame()
    assert (session_controller.view.faults, session_controller.queued) == ((), (CRASH, LATER, CRASH))
    session_controller.pause(False)
    clock.tick(0.1)
    session_controller.frame()
    assert [(each.name, each.since_us) for each in session_controller.view.faults] == [("crash", 0), ("lag", 0)]
    assert [good for _text, good in session_controller.queued_results] == [True, True, False]
    assert [text for text, _good in session_controller.queued_results] == snapshot
    assert session_controller.queued == ()


@pytest.mark.parametrize("go_on", ["step", "seek"])
def test_one_event_on_is_time_going_on_too(go_on):
    session_controller, clock = waiting(CRASH)
    getattr(session_controller, go_on)()
    clock.tick(0.1)
    session_controller.frame()
    assert [each.name for each in session_controller.view.faults] == ["crash"]


def test_queued_actions_have_the_same_outcome_as_direct_ones():
    queued, _clock = waiting(CRASH, LATER)
    queued.step()
    acted, _clock = waiting()
    acted.act(CRASH)
    acted.act(LATER)
    acted.step()
    assert queued.session.cluster.digest() == acted.session.cluster.digest()


def test_nothing_waits_in_the_past(snapshot):
    session_controller, _clock = waiting()
    while session_controller.session.cluster.now_us == 0:
        session_controller.step()
    session_controller.to_time(0)
    assert session_controller.session.in_past
    with pytest.raises(FaultError) as caught:
        session_controller.queue(CRASH)
    assert str(caught.value) == snapshot
    assert session_controller.queued == ()


def test_queued_actions_are_listed_and_counted(snapshot):
    rows = side_panes.faults(fake_views.view(), 10, (CRASH, LATER))
    assert ["".join(text for text, _role in row.pieces) for row in rows] == snapshot
    running = status_bar.RunStatus("sandbox", 7, True, False, False, 1.0, 1.0, queued=2)
    told = "".join(text for text, _role in status_bar.build(fake_views.view(), running, 80).fields)
    still = status_bar.RunStatus("sandbox", 7, True, False, False, 1.0, 1.0)
    assert "‖ 2 WAIT" in told
    assert len(told) == len("".join(text for text, _role in status_bar.build(fake_views.view(), still, 80).fields))


# -- the screen ---------------------------------------------------------------------------------------------------


def mark(driver, name):
    driver.main.whichkey.chosen = list(CATALOGUE).index(name)


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
async def test_the_form(size, golden):
    async with driving(SIZES[size], session=fake_views.session()) as driver:
        await driver.press("space", "f")
        mark(driver, "lag")
        await driver.press("enter")
        assert trimmed(driver.text()) == golden(f"form-{size}")


@pytest.mark.slow
async def test_a_fault_is_set_up_queued_taken_back_and_injected(snapshot):
    async with driving((80, 24)) as driver:
        await driver.press("f", "space")
        assert driver.session_controller.queued == ()
        assert driver.toasts() == snapshot
        await driver.press("escape", "space", "f")
        mark(driver, "gc_pause")
        await driver.press("space", "space", "backspace")
        assert [each.name for each in driver.session_controller.queued] == ["gc_pause"]
        assert "1 WAIT" in driver.text()
        mark(driver, "lag")
        await driver.press("enter", "backspace", "9", "enter")
        assert isinstance(driver.app.screen, FaultForm)
        assert driver.shown("#form-page") == snapshot
        await driver.press("s", "ctrl+n")
        assert driver.session_controller.queued[1] == Action("inject", "lag", "broker(1)", for_us=9_000_000)
        await driver.press("enter", "down", *["backspace"] * 5, *"1s", "enter")
        assert [(each.name, each.detail.split()[0]) for each in driver.session_controller.view.faults] == [
            ("lag", "latency=1000000")
        ]
        await driver.press("space")
        await driver.frames(1)
        assert [each.name for each in driver.session_controller.view.faults] == ["lag", "gc_pause", "lag"]

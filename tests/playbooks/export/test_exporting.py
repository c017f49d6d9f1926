"""Sessions become playbooks that come to the same events."""

import re
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from cluster_model.observation.event_log import PLAYBOOK_KINDS
from faults.declarations.fault import Action, FaultError
from playbooks.engine.manual_session import ManualSession
from playbooks.engine.replay import recover
from playbooks.engine.session import Session
from playbooks.engine.session_runner import start_session
from playbooks.export import playbook_writer
from playbooks.export.playbook_writer import ExportedPlaybook, export
from playbooks.library.bundled import path_of
from playbooks.model.playbook import Playbook, Trigger
from playbooks.parser.loader import changed, load, loads
from playbooks.recording.event_codec import decode, encode
from playbooks.recording.reader import read_session
from playbooks.recording.recorder import Recorder
from playbooks.results.result import SessionResult
from playbooks.session_format import session_files
from playbooks.version import VERSION
from tests.support.breadth import sample_count
from tests.support.playbooks import CLUSTER as BUSY
from tests.support.playbooks import CRASH as BUSY_CRASH
from tests.support.playbooks import MANUAL
from tests.support.playbooks import timed as of_cluster

pytestmark = pytest.mark.slow


SECOND = 1_000_000
CLUSTER, CRASH = (text.replace("rate: 100/s", "rate: 20/s") for text in (BUSY, BUSY_CRASH))


def timed(steps: str = "", expect: str = "", settle: str = "1s", cluster: str = CLUSTER) -> Playbook:
    return of_cluster(steps, expect, settle, cluster)


def exported(result: SessionResult) -> ExportedPlaybook:
    return export(read_session(Path(result.session)))


def again(found: ExportedPlaybook) -> SessionResult:
    return start_session(loads(found.text, "exported.yaml")).finish()


def same(result: SessionResult) -> tuple[ExportedPlaybook, SessionResult]:
    """The playbook of a session, which has to come to the same, and what it comes to."""
    found = exported(result)
    rerun = again(found)
    assert rerun.digest == result.digest == found.digest
    inferred = rerun.expectations[len(result.expectations) - sum(each.by_step for each in result.expectations) :]
    assert all(each.ok for each in inferred), [each for each in inferred if not each.ok]
    return found, rerun


def part(found: ExportedPlaybook, key: str) -> list[str]:
    """The lines of an exported playbook from a key of the first level to the next, with the comments between them."""
    lines = found.text.splitlines()
    begin = next(number for number, line in enumerate(lines) if line.startswith(f"{key}:"))
    more = [number for number, line in enumerate(lines) if number > begin and line[:1].isalpha()]
    return lines[begin : more[0] if more else len(lines)]


def head(found: ExportedPlaybook) -> str:
    """The comment in front of it as one line, without what is another each time."""
    comment = found.text[: found.text.index("floodmark: 1")].replace("#", "")
    told = re.sub(r"session \S+", "session <id>", " ".join(comment.split()).replace(VERSION, "<version>"))
    return re.sub(r" at \d{4}-[-\d]+T[:.\d]+\+00:00", " at <time>", told)


def live(playbook: Playbook, parent: Path, seed: int | None = None) -> Session:
    return Session.start(playbook, seed=seed, recorder=Recorder(parent, live=True), open_ended=True)


def tried(session: Session, action: Action) -> None:
    with suppress(FaultError):
        session.act(action)


def test_a_session_without_an_operator_keeps_its_own_lines(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    commented = CRASH.replace("  - at: 2s\n", "  # the leader goes first\n  - at: 2s   # early\n")
    found, rerun = same(Session.start(loads(commented, "x.yaml"), recorder=Recorder(tmp_path)).finish())
    assert part(found, "steps") == snapshot
    assert (found.operator, rerun.verdict) == (0, "pass")
    assert loads(found.text, "x.yaml").name == "small-exported"


def test_every_verb_of_an_operator_is_a_step(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    session = live(timed("- at: 3s\n  inject: lag\n  target: random(all)\n  for: 1s", settle="3s"), tmp_path, seed=12)
    session.advance(1_000_000, 100)
    session.act(Action("inject", "crash", "leader(orders-0)", {}, 2_000_000))
    session.advance(5_000_000)
    with pytest.raises(FaultError):
        session.act(Action("inject", "restart", "broker(3)"))
    session.act(Action("inject", "lag", "random(isr(orders-0))", {"latency": 5_000}))
    session.act(Action("inject", "lag", "broker(2)", {"latency": 70_000}))
    session.act(Action("admin", "create_topic", "", {"topic": "more", "partitions": 2, "replication": 3}))
    session.advance(7_777_777)
    session.act(Action("heal", "3"))
    session.act(Action("admin", "alter_topic_config", "", {"topic": "more", "set": (("min.insync.replicas", 2),)}))
    session.advance(9_000_000, 50)
    session.act(Action("heal", "all"))
    session.advance(11_000_000)
    session.settle()
    found, rerun = same(session.finish())
    playbook = loads(found.text, "x.yaml")
    assert playbook.seed == 12
    assert [step.verb for step in playbook.steps] == [
        "inject", "inject", "inject", "inject", "admin", "heal", "admin", "heal", "settle",
    ]  # fmt: skip
    assert [step.name for step in playbook.steps if step.verb == "heal"] == ["3", "all"]
    assert part(found, "steps") == snapshot
    assert found.operator == 8
    assert rerun.verdict == "pass"


def test_a_fault_that_is_the_only_one_of_its_kind_is_healed_by_name(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    session = live(timed(settle="1s"), tmp_path)
    session.act(Action("inject", "lag", "broker(2)"))
    session.act(Action("inject", "gc_pause", "broker(3)"))
    session.advance(2 * SECOND)
    session.act(Action("heal", "1"))
    found, _ = same(session.finish())
    assert part(found, "steps") == snapshot


def test_steps_that_counted_from_the_step_before_get_their_times(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    steps = """
- at: 2s
  inject: lag
  target: broker(2)
  for: 1s
- after: 2s   # of the first one
  inject: gc_pause
  target: broker(3)
  for: 1s
- inject: lag
  target: broker(1)
  for: 1s
- when: sent() > 140
  within: 30s
  heal: all
"""
    session = live(timed(steps, settle="1s"), tmp_path)
    session.advance(3 * SECOND)
    session.act(Action("inject", "lag", "broker(3)"))
    session.advance(6 * SECOND)
    session.act(Action("inject", "lag", "broker(3)"))
    session.advance(12 * SECOND)
    found, _ = same(session.finish())
    triggers = [
        (step.trigger.kind, step.trigger.time_us, step.trigger.within_us) for step in loads(found.text, "").steps
    ]
    assert triggers[:2] == [("at", 2 * SECOND, -1), ("at", 3 * SECOND, -1)]
    assert triggers[2:4] == [("at", 4 * SECOND, -1), ("after", 0, -1)]
    assert triggers[4:6] == [("at", 6 * SECOND, -1), ("when", 0, 28 * SECOND)]
    assert part(found, "steps") == snapshot


def test_an_action_between_two_events_of_an_time_keeps_its_place(tmp_path: Path) -> None:
    session = live(timed(settle="1s"), tmp_path)
    session.advance(2 * SECOND)
    for _ in range(400):
        session.advance(10 * SECOND, 1)
        if session.cluster.next_event_us() == session.cluster.now_us:
            break
    else:
        pytest.fail("no two events of one instant")
    executed = session.cluster.executed
    session.act(Action("inject", "crash", "broker(2)"))
    session.act(Action("inject", "restart", "broker(2)"))
    session.advance(5 * SECOND)
    found, _ = same(session.finish())
    steps = loads(found.text, "").steps
    assert [step.trigger.executed for step in steps[:2]] == [executed, executed]


def test_steps_that_never_ran_are_exported_as_comments(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    steps = "- when: acked_lost() > 0\n  within: 2s\n  heal: all\n- after: 5s\n  heal: all"
    result = Session.start(timed(steps, settle="1s"), recorder=Recorder(tmp_path)).finish()
    assert result.verdict == "inconclusive"
    found, rerun = same(result)
    assert [step.verb for step in loads(found.text, "").steps] == ["settle"]
    assert part(found, "steps") == snapshot
    assert rerun.verdict == "pass"


@pytest.mark.parametrize("until_us", [1_500_000, 6_000_000, 14_200_000])
def test_a_session_that_was_cut_off_ends_where_it_ended(tmp_path: Path, until_us: int) -> None:
    result = Session.start(loads(CRASH, "x.yaml"), until_us=until_us, recorder=Recorder(tmp_path)).finish()
    assert result.verdict in ("inconclusive", "fail")
    _, rerun = same(result)
    assert rerun.virtual_us == until_us


def test_a_session_that_the_operator_leaves_early_is_left_there(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    session = live(loads(CRASH, "x.yaml"), tmp_path)
    session.advance(3 * SECOND)
    found, _ = same(session.finish())
    assert part(found, "steps") == snapshot


def test_settings_and_another_seed_are_written_in(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    text = CRASH.replace('kafka: "3.9"', 'kafka: "2.8"')
    recorder = Recorder(tmp_path, settings={"cluster.kafka": "2.8"})
    found, _ = same(Session.start(loads(text, "x.yaml"), seed=99, recorder=recorder).finish())
    playbook = loads(found.text, "x.yaml")
    assert (playbook.seed, playbook.spec.kafka) == (99, "2.8")
    assert head(found) == snapshot


def test_a_session_stepped_by_hand(tmp_path: Path) -> None:
    found, rerun = same(ManualSession.start(loads(MANUAL, "m.yaml"), recorder=Recorder(tmp_path)).finish())
    assert rerun.verdict == "pass"
    assert found.steps == 6


def test_groups_of_steps_are_unrolled_when_an_operator_comes_between(tmp_path: Path) -> None:
    steps = """
- at: 2s
  repeat: 3
  every: 3s
  steps:
    - {at: 500ms, inject: lag, target: broker(2), for: 1s}
    - {when: sent() > 0, inject: gc_pause, target: broker(3), for: 200ms}
"""
    session = live(timed(steps, settle="1s"), tmp_path)
    session.advance(6 * SECOND)
    session.act(Action("inject", "lag", "broker(1)", {}, SECOND))
    session.advance(14 * SECOND)
    found, _ = same(session.finish())
    assert [step.verb for step in loads(found.text, "").steps] == ["inject"] * 7 + ["settle"]


def test_a_group_that_nothing_came_between_stays_one(tmp_path: Path) -> None:
    steps = "- at: 1s\n  repeat: 2\n  every: 2s\n  steps:\n    - {inject: lag, target: broker(2), for: 1s}"
    found, _ = same(Session.start(timed(steps, settle="1s"), recorder=Recorder(tmp_path)).finish())
    assert "repeat: 2" in found.text


def test_a_torn_session_goes_as_far_as_it_was_written(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    session = live(timed(settle="2s"), tmp_path)
    session.advance(2_345_678)
    session.act(Action("inject", "crash", "leader(orders-0)"))
    session.advance(8 * SECOND)
    assert session.recorder is not None
    session.recorder.flush()
    torn = Path(shutil.copytree(session.recorder.path, tmp_path / "torn"))
    events = torn / session_files.EVENTS
    events.write_bytes(events.read_bytes()[:-700])
    recorded = read_session(torn)
    found = export(recorded)
    assert [re.sub(r"\d+ bytes", "<n> bytes", note) for note in found.notes] == snapshot(name="notes")
    rerun = start_session(loads(found.text, "x.yaml"))
    result = rerun.finish()
    assert result.verdict == "pass"
    wanted = [line for line in decode(recorded.events) if line.kind not in PLAYBOOK_KINDS]
    happened: list[Any] = [event for event in rerun.drain() if event.kind not in PLAYBOOK_KINDS]
    happened = decode(encode(0, happened[: len(wanted)]))
    assert [msgspec.structs.replace(line, seq=0) for line in wanted] == [
        msgspec.structs.replace(line, seq=0) for line in happened
    ]
    assert part(found, "steps") == snapshot(name="steps")


@pytest.mark.parametrize("sealed", [False, True])
def test_export_of_a_torn_session_with_another_outcome_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sealed: bool, snapshot: SnapshotAssertion
) -> None:
    session = live(timed(settle="2s"), tmp_path)
    session.advance(2 * SECOND)
    session.act(Action("admin", "create_topic", "", {"topic": "more", "partitions": 1, "replication": 3}))
    session.act(Action("inject", "lag", "broker(2)"))
    session.advance(4 * SECOND)
    assert session.recorder is not None
    session.recorder.flush()
    torn = Path(shutil.copytree(session.recorder.path, tmp_path / "torn"))
    events = torn / session_files.EVENTS
    events.write_bytes(events.read_bytes()[:-70])
    if sealed:
        recover(torn)
    found = export(read_session(torn))
    assert head(found) == snapshot(name="head")
    late = lambda self, action, pending: Trigger("at", action.at_us + 1)  # noqa: E731
    monkeypatch.setattr("playbooks.export.session_steps._Entries._exact_trigger", late)
    with pytest.raises(playbook_writer.ExportError) as refused:
        export(read_session(torn))
    assert str(refused.value).replace(str(torn), "<session>") == snapshot(name="refused")


def test_a_refusal_by_a_guard_stays_a_step(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    playbook = timed(settle="1s", cluster=_guarded())
    session = live(playbook, tmp_path)
    session.advance(SECOND)
    session.act(Action("inject", "crash", "broker(1)"))
    tried(session, Action("inject", "crash", "broker(2)"))
    session.advance(3 * SECOND)
    found, rerun = same(session.finish())
    assert part(found, "steps") == snapshot
    assert rerun.verdict == "pass"


def _guarded() -> str:
    return CLUSTER + "guards: {max_brokers_down: 1}\n"


def test_a_failed_expectation_is_exported_with_a_comment(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    playbook = timed(expect="- acked() == 5   # no\n- violations() == 0", settle="1s")
    result = Session.start(playbook, recorder=Recorder(tmp_path)).finish()
    found = exported(result)
    assert part(found, "expect") == snapshot
    assert "sent()" not in found.text
    assert found.text.count("violations() == 0") == 1
    assert again(found).verdict == result.verdict == "fail"


def test_expectations_on_one_line_become_a_list(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    text = timed(settle="1s").source + "expect: [acked_lost() == 0, {always: under_min_isr() == 0}]\n"
    found, rerun = same(Session.start(loads(text, "x.yaml"), recorder=Recorder(tmp_path)).finish())
    assert part(found, "expect") == snapshot
    assert rerun.verdict == "pass"


def test_fragments_are_written_into_the_one_file(tmp_path: Path) -> None:
    (tmp_path / "load.yaml").write_text(
        "floodmark: 1\nfragment: load\nvars: {rate: }\nclients:\n  producers:\n"
        "    - {name: checkout, topic: orders, rate: '${rate}', config: {acks: all}}\n"
        "steps:\n  - {at: 1s, inject: lag, target: broker(2), for: 1s}\n"
    )
    text = (
        "floodmark: 1\nname: whole\ntitle: 'Costs $${rate}: much'\ninclude: load.yaml\nvars: {rate: 50/s, pause: 2s}\n"
        "topics: [{name: orders, placement: [[1, 2, 3]]}]\n"
        "steps:\n  - {after: '${pause}', inject: gc_pause, target: broker(3), for: 1s}\nsettle: 1s\n"
    )
    (tmp_path / "whole.yaml").write_text(text)
    session = live(load(tmp_path / "whole.yaml"), tmp_path / "sessions")
    session.advance(2 * SECOND)
    session.act(Action("inject", "lag", "broker(1)", {}, SECOND))
    session.advance(6 * SECOND)
    found, _ = same(session.finish())
    playbook = loads(found.text, "elsewhere/x.yaml")
    assert not playbook.fragments
    assert playbook.title == "Costs ${rate}: much"
    assert [step.trigger.time_us for step in playbook.steps] == [SECOND, 2 * SECOND, 3 * SECOND, 6 * SECOND]


def test_variables_stay_where_nothing_has_to_change(tmp_path: Path) -> None:
    source = timed(settle="1s").source.replace("settle:", "vars: {long: 2s}\nsettle:")
    source += "steps:\n  - {at: 1s, inject: lag, target: broker(2), for: '${long}'}\n"
    session = live(loads(source, "x.yaml"), tmp_path)
    session.advance(6 * SECOND)
    found, _ = same(session.finish())
    assert "'${long}'" in found.text


def test_variables_and_comments_stay_beside_what_an_operator_did(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    source = timed(settle="1s").source.replace("settle:", "# how long\nvars: {long: 2s, least: 3s}\nsettle:")
    source += (
        "steps:\n  # first\n  - {at: 1s, inject: lag, target: broker(2), for: '${long}', given: {long: 2s}}\n"
        "  - {at: 2s, inject: crash, target: broker(1), given: {long: 3s}}\n"
        "  - {after: '${least}', heal: all}\n"
    )
    session = live(loads(source, "x.yaml"), tmp_path)
    session.advance(2 * SECOND)
    session.act(Action("inject", "lag", "broker(1)", {}, SECOND))
    session.advance(6 * SECOND)
    found, _ = same(session.finish())
    # Nothing uses 'least' any more, for its step has a time of its own now: so the file is written out.
    assert "vars" not in found.text
    assert "given" not in found.text
    assert [step.verb for step in loads(found.text, "x.yaml").steps] == ["inject", "inject", "heal", "settle"]
    kept = live(loads(source.replace("after: '${least}'", "at: '${least}'"), "x.yaml"), tmp_path)
    kept.advance(2 * SECOND)
    kept.act(Action("inject", "lag", "broker(1)", {}, SECOND))
    kept.advance(6 * SECOND)
    found, _ = same(kept.finish())
    assert part(found, "vars") == snapshot(name="vars")
    assert "# how long\nvars:" in found.text
    assert part(found, "steps") == snapshot(name="steps")


def test_a_playbook_in_one_line_is_written_as_keys(tmp_path: Path) -> None:
    fault = "{at: 1s, inject: lag, target: broker(2), for: 1s}"
    text = (
        "{floodmark: 1, name: flowy, cluster: {brokers: 3}, topics: [{name: orders, placement: [[1, 2, 3]]}], "
        f"clients: {{producers: [{{name: p, topic: orders, rate: 50/s}}]}}, steps: [{fault}], settle: 1s}}\n"
    )
    same(Session.start(loads(text, "x.yaml"), seed=5, recorder=Recorder(tmp_path)).finish())
    session = live(loads(text, "x.yaml"), tmp_path)
    session.advance(2 * SECOND)
    session.act(Action("inject", "lag", "broker(1)", {}, SECOND))
    found, _ = same(session.finish())
    assert "\nname: flowy-exported\n" in found.text
    assert [step.verb for step in loads(found.text, "x.yaml").steps] == ["inject", "inject", "settle"]


def test_a_name_on_a_line_of_its_own_is_no_hindrance(tmp_path: Path) -> None:
    text = timed(settle="1s").source.replace("\nname: ", "\nname: >-\n  ")
    found, _ = same(Session.start(loads(text, "x.yaml"), recorder=Recorder(tmp_path)).finish())
    assert loads(found.text, "x.yaml").name == loads(text, "x.yaml").name + "-exported"


# -- what is found ------------------------------------------------------------------------------------------------


LOST = """\
floodmark: 1
name: lost
seed: 3
cluster: {brokers: 3}
topics:
  - {name: orders, placement: [[1, 2, 3]]}
clients:
  producers:
    - {name: checkout, topic: orders, rate: 50/s, config: {acks: 1}}
settle: 5s
"""


def losing(parent: Path) -> SessionResult:
    session = live(loads(LOST, "lost.yaml"), parent)
    session.advance(5 * SECOND)
    session.act(Action("inject", "lag", "broker(1)", {"latency": 400_000, "to": "broker(2) + broker(3)"}))
    session.advance(8 * SECOND)
    session.act(Action("inject", "power_loss", "broker(1)"))
    session.advance(20 * SECOND)
    session.act(Action("inject", "restart", "broker(1)"))
    session.act(Action("heal", "all"))
    session.advance(30 * SECOND)
    return session.finish()


@pytest.fixture(scope="module")
def lost(tmp_path_factory: pytest.TempPathFactory) -> tuple[SessionResult, ExportedPlaybook, SessionResult]:
    """The session, its playbook, and what that comes to."""
    result = losing(tmp_path_factory.mktemp("lost"))
    return result, *same(result)


def test_losses_and_recoveries_are_found(
    lost: tuple[SessionResult, ExportedPlaybook, SessionResult], snapshot: SnapshotAssertion
) -> None:
    result, found, rerun = lost
    assert result.ledger.acked_lost > 0
    assert f"- acked_lost() == {result.ledger.acked_lost} " in found.text
    assert "always: under_replicated" not in found.text
    assert part(found, "expect") == snapshot
    assert rerun.verdict == "pass"


def test_exported_expectations_fail_if_nothing_recovers(
    lost: tuple[SessionResult, ExportedPlaybook, SessionResult],
) -> None:
    _result, found, rerun = lost
    assert rerun.verdict == "pass"
    gone = found.text.replace("inject: restart", "inject: gc_pause").replace("settle: 5s", "settle: 100ms")
    rerun = start_session(loads(gone.replace("    heal: all\n", "    heal: lag\n"), "x.yaml")).finish()
    assert any("under_replicated() == 0" in each.text and not each.ok for each in rerun.expectations)


def test_a_change_of_the_configuration_makes_what_was_found_fail(
    lost: tuple[SessionResult, ExportedPlaybook, SessionResult],
) -> None:
    _result, found, _rerun = lost
    rerun = start_session(loads(found.text.replace("acks: 1", "acks: all"), "x.yaml")).finish()
    assert rerun.verdict == "fail"
    assert any(each.text.startswith("acked_lost() == ") and not each.ok for each in rerun.expectations)


def test_export_with_another_outcome_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    session = live(timed(settle="1s"), tmp_path)
    session.advance(2 * SECOND)
    session.act(Action("inject", "lag", "broker(2)"))
    result = session.finish()
    late = lambda self, action, pending: Trigger("at", action.at_us + 1)  # noqa: E731
    monkeypatch.setattr("playbooks.export.session_steps._Entries._exact_trigger", late)
    with pytest.raises(playbook_writer.ExportError) as refused:
        exported(result)
    told = str(refused.value).replace(result.session, "<session>")
    assert re.sub(r"\b[0-9a-f]{32}\b", "<digest>", told) == snapshot


# -- anything at any instant -------------------------------------------------------------------------------------


ACTIONS: tuple[Action, ...] = (
    Action("inject", "crash", "leader(orders-0)", {}, 2 * SECOND),
    Action("inject", "crash", "random(all)"),
    Action("inject", "restart", "broker(2)"),
    Action("inject", "gc_pause", "2", {}, SECOND),
    Action("inject", "lag", "random(2, all)", {"latency": 30_000}),
    Action("inject", "partition", "broker(1)", {"to": "broker(3)"}, 3 * SECOND),
    Action("inject", "gc_pause", "client(checkout)", {}, SECOND),
    Action("heal", "all"),
    Action("heal", "1"),
    Action("heal", "lag"),
    Action("admin", "elect_leaders", "", {"partition": "orders-0", "unclean": True}),
    Action("admin", "reassign", "", {"partition": "orders-0", "brokers": (2, 3, 1)}),
    Action("admin", "describe_group", "", {"group": "billing"}),
    Action("admin", "rolling_restart"),
)
MOVES = st.lists(
    st.tuples(st.integers(0, 2 * SECOND), st.integers(0, 60), st.sampled_from(ACTIONS)), min_size=1, max_size=6
)
STEPS = """
- {at: 1s, inject: lag, target: random(all), for: 2s}
- {after: 1500ms, inject: gc_pause, target: leader(orders-0), for: 1s}
- {when: sent() > 60, within: 20s, inject: crash, target: random(all), for: 1s}
- {admin: elect_leaders, partition: orders-0}
- {after: 1s, heal: all}
"""


def played(playbook: Playbook, moves: list[Any], parent: Path) -> SessionResult:
    session = live(playbook, parent)
    for pause_us, events, action in moves:
        session.advance(session.cluster.now_us + pause_us)
        for _ in range(events):
            session.advance(session.cluster.now_us + 5 * SECOND, 1)
        tried(session, action)
    return session.finish()


@settings(max_examples=sample_count(6, 40), deadline=None)
@given(moves=MOVES)
def test_whatever_an_operator_does_can_be_done_again(
    moves: list[Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    same(played(timed(STEPS, settle="1s"), moves, tmp_path_factory.mktemp("played")))


@settings(max_examples=sample_count(2, 60), deadline=None)
@given(moves=MOVES, seed=st.integers(0, 1_000))
def test_whatever_is_done_in_the_sandbox_can_be_done_again(
    moves: list[Any], seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    playbook = changed(load(path_of("sandbox")), {f"producers.{name}.rate": "20/s" for name in ("checkout", "clicks")})
    session = live(playbook, tmp_path_factory.mktemp("sandbox"), seed=seed)
    for pause_us, events, action in moves:
        session.advance(session.cluster.now_us + pause_us)
        session.advance(session.cluster.now_us + 5 * SECOND, events) if events else None
        tried(session, action)
    same(session.finish())

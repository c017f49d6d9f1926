"""Variables: what ``${name}`` becomes, where mistakes with it are told, and that it cannot grow out of proportion."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from playbooks.engine.session_runner import start_session
from playbooks.errors import Problem
from playbooks.model.playbook import Playbook
from playbooks.parser.document.variables import substitute
from playbooks.parser.document.yaml_source import Mapping, Scalar, Sequence, compose
from playbooks.parser.loader import changed, load, loads
from playbooks.parser.settings import SettingError
from tests.support.mistakes import messages, mistakes_of, places

S = 1_000_000
HEAD = "floodmark: 1\ntopics: [{name: orders, placement: [[1, 2, 3]]}]\n"
"""Two lines."""


def read(text: str) -> Playbook:
    return loads(HEAD + text, "v.yaml")


def told(text: str) -> tuple[Problem, ...]:
    return mistakes_of(lambda: read(text))


WITH = """\
floodmark: 1
name: with
vars:
  pause: 45s
  half: 20
  who: leader
  partition: orders-0
  target: ${who}(${partition})
  placement: [[1, 2, 3]]
  limit: 3
  release: 3.10
seed: ${half}1
cluster:
  brokers: ${limit}
  config:
    replica.lag.time.max.ms: ${half}000
topics: [{name: orders, placement: "${placement}"}]
clients:
  producers: [{name: checkout, topic: orders, rate: "${half}/s"}]
steps:
  - at: ${half}s
    inject: gc_pause
    target: ${target}
    for: ${pause}
    note: "costs $${pause}, that is ${pause} for ${release}"
  - when: isr(${partition}) == [2, ${limit}] and now() > ${pause}
    within: ${pause}
    heal: all
settle: 10s
expect:
  - always: under_min_isr() <= ${limit}
"""
WITHOUT = """\
floodmark: 1
name: with
seed: 201
cluster: {brokers: 3, config: {replica.lag.time.max.ms: 20000}}
topics: [{name: orders, placement: [[1, 2, 3]]}]
clients:
  producers: [{name: checkout, topic: orders, rate: 20/s}]
steps:
  - at: 20s
    inject: gc_pause
    target: leader(orders-0)
    for: 45s
    note: "costs ${pause}, that is 45s for 3.10"
  - when: isr(orders-0) == [2, 3] and now() > 45s
    within: 45s
    heal: all
settle: 10s
expect:
  - always: under_min_isr() <= 3
"""


@pytest.mark.slow
def test_variables_equal_their_values() -> None:
    one, other = loads(WITH, "x"), loads(WITHOUT.replace("${pause}", "$${pause}"), "x")
    assert (one.spec, one.seed, one.settle_us) == (other.spec, other.seed, other.settle_us)
    assert one.steps[0].note == other.steps[0].note
    assert f'note: "{one.steps[0].note}"' in WITHOUT
    assert one.steps[0].for_us == 45 * S
    assert [each.text for each in one.expectations] == [each.text for each in other.expectations]
    assert start_session(one).finish().digest == start_session(other).finish().digest


def test_a_variable_keeps_its_quotes_and_its_place(snapshot: SnapshotAssertion) -> None:
    found = told('vars: {text: "3", number: 3, word: three}\nsteps:\n'
                    "  - {at: 1s, inject: power_loss, target: all, keep: '${text}'}\n"
                    "  - {at: 1s, inject: power_loss, target: all, keep: '${number}'}\n"
                    "  - {at: 1s, inject: power_loss, target: all, keep: '${word}'}\n")  # fmt: skip
    assert places(found) == ["v.yaml:5:53 steps[1].keep", "v.yaml:7:53 steps[3].keep"]
    assert messages(found) == snapshot


def test_a_mistake_in_a_text_names_the_variables_in_it(snapshot: SnapshotAssertion) -> None:
    found = told("vars:\n  a: 77\n  b: 5\nexpect:\n  - up(${a}) and now() > ${b}s\n")
    assert places(found) == ["v.yaml:7:5 expect[1]"]
    assert messages(found) == snapshot


WRONG = {
    "misspelt": ("vars: {pause: 5s}\nsettle: ${pauze}\n", "v.yaml:4:9 settle"),
    "none declared": ("settle: ${pause}\n", "v.yaml:3:9 settle"),
    "unused": ("vars: {pause: 5s}\n", "v.yaml:3:8 vars"),
    "no name": ("title: a ${b c} d\n", "v.yaml:3:10 title"),
    "not closed": ("title: 'a ${b'\n", "v.yaml:3:11 title"),
    "a list in a text": ("vars: {l: [1, 2]}\ntitle: a ${l}\n", "v.yaml:4:10 title"),
    "a mapping": ("vars: {m: {a: 1}}\ntitle: ${m}\n", "v.yaml:3:11 vars.m"),
    "nothing": ("vars: {m: }\ntitle: ${m}\n", "v.yaml:3:10 vars.m"),
    "a digit first": ("vars: {1a: 5}\n", "v.yaml:3:8 vars"),
    "named as a key": ("vars: {seed: 5}\n", "v.yaml:3:8 vars"),
    "a list of names": ("vars: [a]\n", "v.yaml:3:7 vars"),
    "made of itself": ("vars: {a: '${b}', b: '${a}'}\ntitle: ${a}\n", "v.yaml:3:23 vars.b"),
    "in a key": ("vars: {a: 1}\ncluster: {'${a}': 1}\ntitle: ${a}\n", "v.yaml:4:12 cluster"),
    "without quotes": ("steps: [{at: ${a}}]\n", "v.yaml:3:14"),
    "in a path": ("steps:\n  - include: ${a}.yaml\n", "v.yaml:4:14 steps[1].include"),
}


@pytest.mark.parametrize("name", WRONG)
def test_invalid_variables_are_reported_once_at_their_position(name: str, snapshot: SnapshotAssertion) -> None:
    text, place = WRONG[name]
    found = told(text)
    assert places(found) == [place]
    assert messages(found) == snapshot


def test_uses_of_an_invalid_variable_are_no_further_errors(snapshot: SnapshotAssertion) -> None:
    found = told("steps:\n  - {at: '${a}', inject: '${b}', target: 'broker(${c})', for: '${d}'}\n"
                    "  - {at: 1s, inject: crash, target: 'broker(${e})', for: '${f}'}\n"
                    "expect: ['leo(${g}) == ${h}']\n")  # fmt: skip
    assert len(found) == 8
    assert messages(found) == snapshot


def _use(number: int) -> str:
    return f"${{a{number}}}"


@pytest.mark.slow
def test_variables_of_variables_do_not_grow_out_of_proportion(snapshot: SnapshotAssertion) -> None:
    text = "  a0: xxxxxxxxxx\n" + "".join(f"  a{i}: '{_use(i - 1) * 10}'\n" for i in range(1, 12))
    first = [told(f"vars:\n{text}title: ${{a11}}\n")[0]]
    lists = "  a0: [x]\n" + "".join(
        f"  a{i}: [{', '.join([chr(34) + _use(i - 1) + chr(34)] * 10)}]\n" for i in range(1, 9)
    )
    first.append(told(f"vars:\n{lists}tags: ${{a8}}\n")[0])
    deep = "  a0: [x]\n" + "".join(f"  a{i}: ['${{a{i - 1}}}']\n" for i in range(1, 60))
    first.append(told(f"vars:\n{deep}tags: ${{a59}}\n")[0])
    assert messages(first) == snapshot


@given(st.text(st.sampled_from("ab${}$x "), max_size=30))
def test_an_escaped_text_comes_out_as_it_was(text: str) -> None:
    node = Scalar(1, 1, text.replace("${", "$${"), False, 0)
    found = substitute(node, {"a": Scalar(1, 1, "VALUE", True, 1)})
    assert isinstance(found, Scalar)
    assert found.text == text


def test_a_group_keeps_the_name_of_its_rounds_for_later() -> None:
    tree, _ = compose("a: ${x}\nsteps: [{repeat: 2, as: x, steps: [{note: 'round ${x} of ${y} $${x}'}]}]\n", "g")
    one, two = Scalar(1, 1, "1", True, 1), Scalar(1, 1, "2", True, 1)
    file_wide = substitute(tree, {"x": one, "y": two})
    assert isinstance(file_wide, Mapping)
    assert isinstance(first := file_wide.get("a"), Scalar)
    assert first.text == "1"
    groups = file_wide.get("steps")
    assert isinstance(groups, Sequence)
    group = groups.items[0]
    assert isinstance(group, Mapping)
    steps = substitute(group.entries["steps"][1], {"x": two})
    assert isinstance(steps, Sequence)
    step = steps.items[0]
    assert isinstance(step, Mapping)
    note = step.get("note")
    assert isinstance(note, Scalar)
    assert note.text == "round 2 of 2 ${x}"


def test_rounds_and_variables_together() -> None:
    playbook = read("vars: {wait: 5s}\nsteps:\n  - repeat: 2\n    as: n\n    steps:\n"
                    "      - {after: '${wait}', inject: crash, target: 'broker(${n})', for: 1s, "
                    "note: '${n} $${n}'}\n")  # fmt: skip
    crashes = [step for step in playbook.steps if step.name == "crash"]
    assert [(step.target, step.trigger.time_us, step.note) for step in crashes] == [
        ("broker(1)", 5 * S, "1 ${n}"), ("broker(2)", 5 * S, "2 ${n}"),
    ]  # fmt: skip


SETTABLE = (
    HEAD
    + """\
vars:
  pause: 5s       # how long
  text: "a"
  n: 3
  ids: [1, 2]
  deep: 1
settle: ${pause}
title: ${text} ${n} ${ids2} ${deep}
tags: ${ids}
"""
)


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"pause": "45s"}, "pause: 45s       # how long"),
        ({"vars.pause": "45s"}, "pause: 45s       # how long"),
        ({"text": "3"}, 'text: "3"'),
        ({"n": "3.10"}, "n: 3.10"),
        ({"n": "two words"}, 'n: "two words"'),
        ({"ids": "[3, on]"}, "ids: [3, on]"),
    ],
)
def test_a_variable_is_set_as_it_was_typed(settings: dict[str, str], line: str) -> None:
    playbook = loads(SETTABLE.replace(" ${ids2}", ""), "s.yaml")
    assert f"  {line}\n" in changed(playbook, settings).source


def test_a_setting_may_leave_a_variable_without_use() -> None:
    playbook = loads(SETTABLE.replace(" ${ids2}", ""), "s.yaml")
    assert changed(playbook, {"settle": "9s", "pause": "1s"}).settle_us == 9 * S


@pytest.mark.parametrize("settings", [{"vars.pauze": "1s"}, {"pauze": "1s"}, {"include": "x"}], ids=str)
def test_an_unknown_variable_is_named_with_the_nearest(settings: dict[str, str], snapshot: SnapshotAssertion) -> None:
    with pytest.raises(SettingError) as caught:
        changed(loads(SETTABLE.replace(" ${ids2}", ""), "s.yaml"), settings)
    assert str(caught.value) == snapshot


def test_a_bad_setting_of_a_variable_is_reported_where_it_is_used(snapshot: SnapshotAssertion) -> None:
    playbook = loads(SETTABLE.replace(" ${ids2}", ""), "s.yaml")
    found = mistakes_of(lambda: changed(playbook, {"pause": "long"}))
    assert places(found) == ["s.yaml:9:9 settle"]
    assert messages(found) == snapshot


def test_a_file_without_variables_is_read_as_ever(tmp_path: Path) -> None:
    path = tmp_path / "plain.yaml"
    title = "costs $5 {a} $a"
    path.write_text(f"{HEAD}title: {title}\n")
    assert load(path).title == title
    assert load(path).variables == ()

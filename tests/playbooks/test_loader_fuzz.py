import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from cluster_model.kernel.rng import RandomStream
from playbooks.errors import PlaybookError, Problem, lines_of
from playbooks.library import bundled
from playbooks.library.bundled import FRAGMENTS
from playbooks.model.playbook import Playbook
from playbooks.parser.document import yaml_source
from playbooks.parser.document.yaml_source import Node, compose
from playbooks.parser.loader import Fragment, fragment_of, load, loads
from tests.support.breadth import sample_count
from tests.support.playbooks import CLUSTER

pytestmark = pytest.mark.slow

VARIED = """\
floodmark: 1
name: varied
include: base.yaml
vars: {pause: 5s, zone: a, many: [1, 2, "${zone}"], target: "rack(${zone})"}
cluster: {brokers: [{id: 1, rack: a}, {id: 2, rack: b}, {id: 3, rack: c}]}
topics: [{name: orders, placement: [[1, 2, 3]]}]
steps:
  - {at: "${pause}", inject: crash, target: "${target}", for: "${pause}", note: "$${x} ${many}"}
  - include: az-loss
    with: {zone: "${zone}", outage: "${pause}"}
  - repeat: 2
    as: n
    steps:
      - {include: part.yaml, with: {who: "${n}"}}
      - {heal: all, note: "${n} $${n}"}
expect: ["acked_lost() == 0"]
"""
BASE = "floodmark: 1\nfragment: base\nvars: {lag: 5ms}\nsteps: [{at: 1s, inject: lag, target: all, latency: '${lag}'}]"
PART = "floodmark: 1\nfragment: p\nvars: {who: }\nsteps: [{inject: crash, target: 'broker(${who})', for: 1s}]"
KEPT = {"base.yaml": BASE, "part.yaml": PART, "az-loss": (bundled.FRAGMENTS / "az-loss.yaml").read_text()}
TEXTS = [*(bundled.path_of(name).read_text() for name in bundled.names()), *[VARIED.replace(" ${many}", "")] * 5]
PIECES = st.sampled_from(
    [
        "vary:\n  acks: [1, all]\n", "seed: 1..999999999999999999", "cases: [{acks: 1}]", "given: {acks: 1}",
        "vary: *a",
        "- ", ": ", "\n", "\n  ", "[", "]", "{", "}", ",", "'", '"', "#", "&a ", "*a", "!!int ", "|", ">-", "? ", "~",
        "null", "yes", "0", "-1", "9" * 400, "1.5", "5s", "x", "orders-0", "orders-" + "9" * 5000, "heal: all", "then:",
        "when:", "inject: lag", "target: random(" + "9" * 60 + ", all)", "broker: 1", "acks: all", "show", "\t",
        "\u0085", "\ufeff", "٣", "\\ud800", "<<: *a", "name", "placement: [[]]", "steps:", "expect:", "always: ",
        "leo(orders-0)", "repeat: 3", "each: [1, [2], {a: b}]", "as: b", "every: 1s", "steps: [heal: all]", "${round}",
        "${b}", "$${", "${", "${a b}", "vars: {a: '${b}', b: '${a}'}", "vars:", "include: [az-loss]",
        "- include: x.yaml", "with: {zone: a}", "fragment: x", "vary: {acks: [1, all]}", "given: {acks: 1}",
        "inject: kill_broker",
        "{repeat: 1999, steps: [{repeat: 1999, steps: [show]}]}", "settle: now", "stop: now", "executed: 1", "state(x)",
        "${x}", "${a}", "vars: {a: 1}", "vars: {a: '${a}'}", "include: az-loss",
        "- include: az-loss\n    with: {zone: a}", "with: ", "repeat: 2", "as: a", "include: [x, y]",
        "heal: 3", "executed: 5", "- {at: 1s, executed: -1, stop: now}",
    ]
) | st.text(max_size=12)  # fmt: skip


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A bundled playbook with pieces cut out, put in or replaced."""
    text = draw(st.sampled_from(TEXTS))
    for _change in range(draw(st.integers(1, 6))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 40)))
        text = text[:start] + draw(PIECES) + text[end:]
    return text


@settings(max_examples=sample_count(150, 20_000), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(mutated())
@example("a:\t1\n")
@example("a: {b: , c: 1}\n")
@example("a\ufeffb:\n")
@example("a: {b? c}\n")
@example("a: &b [1]\nc: [!b, *b]\n")
@example("[" * 2_000)
def test_libyaml_reads_what_pyyaml_reads(text: str) -> None:
    """Wherever it is asked: the same values at the same places."""
    quick = read(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(yaml_source, "_QUICK", None)
        yaml_source._composed.cache_clear()
        assert read(text) == quick
    yaml_source._composed.cache_clear()


def read(text: str) -> tuple[Node, list[Problem]] | tuple[Problem, ...]:
    """What is in a text, or its mistake."""
    try:
        return compose(text, "a.yaml")
    except PlaybookError as error:
        return error.problems


def problems_of(reading: Callable[[], Playbook | Fragment]) -> tuple[Problem, ...]:
    """The mistakes told, none when there is a playbook; any other exception is a failure of the test."""
    refusal: PlaybookError | None = None
    try:
        playbook = reading()
    except PlaybookError as error:
        refusal = error
    if refusal is None:
        assert isinstance(playbook, Playbook | Fragment)
        return ()
    assert refusal.problems
    return refusal.problems


def check(text: str) -> None:
    lines = lines_of(text)
    for problem in problems_of(lambda: loads(text, "fuzzed.yaml")):
        assert "\n" not in str(problem)
        assert problem.line >= 1
        assert problem.column >= 1
        if problem.path == "fuzzed.yaml":
            assert problem.line <= len(lines), problem
            assert problem.column <= len(lines[problem.line - 1]) + 1, problem


@settings(max_examples=sample_count(60, 400), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(mutated())
def test_a_mutated_playbook_loads_or_is_refused(text: str) -> None:
    check(text)


GRIDS = [text for text in TEXTS if "\nvary:" in text]
NAMES = st.sampled_from(
    [
        "acks", "kafka", "mode", "seed", "cases", "cluster.brokers", "steps.1.for", "topics.1.placement", "vars.x",
        "vary", "vary.acks", "clients.producers", "config", "topics.orders.config.x", "expect.1", "name", "..", "",
        "a b", "é", "retries", "request.timeout.ms", "groups.config.session.timeout.ms", "steps.99.for", "floodmark",
        "stepping",
    ]
)  # fmt: skip
VALUES = st.sampled_from(
    [
        "1", "all", "'1'", '"\\n"', "[1, 2]", "[[1, 2]]", "{a: b}", "{}", "[]", "~", "1..3", "3..1", "manual", "é",
        "0.10.2", "&a 1", "*a", "|\n    x", "9" * 30, "true", "leader(orders-0)", "${x}", "30s",
    ]
)  # fmt: skip


@settings(max_examples=sample_count(40, 250), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(GRIDS), st.dictionaries(NAMES, st.lists(VALUES, max_size=3), max_size=3), st.booleans())
def test_any_grid_loads_or_is_refused(text: str, axes: dict[str, list[str]], given_too: bool) -> None:
    listed = [f"  {name or repr('')}: [{', '.join(values)}]\n" for name, values in axes.items()]
    head, _, rest = text.partition("\nvary:")
    steps = rest[rest.index("\nsteps:") :]
    if given_too and axes:
        steps += "".join(f"  - end: acked() == 0\n    given: {{{each.strip()}}}\n" for each in listed)
    check(f"{head}\nvary:\n{''.join(listed)}{steps}")


def cut(draw: st.DrawFn, text: str) -> str:
    start = draw(st.integers(0, len(text)))
    return text[:start] + draw(PIECES) + text[min(len(text), start + draw(st.integers(0, 20))) :]


@st.composite
def broken_fragments(draw: st.DrawFn) -> tuple[str, dict[str, str]]:
    """The playbook with variables and includes, and its fragments, some of all these texts changed."""
    text = VARIED.replace(" ${many}", "")
    texts = {name: cut(draw, each) if draw(st.booleans()) else each for name, each in KEPT.items()}
    return (cut(draw, text) if draw(st.booleans()) else text), texts


def test_the_mutated_playbook_is_valid() -> None:
    text = VARIED.replace(" ${many}", "")
    assert len(loads(text, "v.yaml", KEPT).steps) == 9


@settings(max_examples=sample_count(60, 400), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(broken_fragments())
def test_mutated_fragments_load_or_are_refused(texts: tuple[str, dict[str, str]]) -> None:
    text, fragments = texts
    for problem in problems_of(lambda: loads(text, "fuzzed.yaml", fragments)):
        assert problem.line >= 1
        assert problem.column >= 1
        assert "\n" not in str(problem)
        str(problem).encode()
    for each in fragments.values():
        with suppress(PlaybookError):
            fragment_of(each, "fuzzed.yaml")


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=300) | st.lists(PIECES, max_size=40).map("".join))
def test_any_text_loads_or_is_refused(text: str) -> None:
    check(text)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=300))
def test_any_bytes_load_or_are_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "any.yaml"
    path.write_bytes(data)
    problems_of(lambda: load(path))


GROUPED = (
    CLUSTER.replace("brokers: 3", "brokers: [{id: 1, rack: a}, {id: 2, rack: b}, {id: 3, rack: c}]")
    + """\
vars: {pause: 2s, brokers: [1, 2], note: again}
steps:
  - repeat: 2
    every: 10s
    as: number
    note: ${note}
    steps:
      - {at: 1s, inject: gc_pause, target: 'broker(${number})', for: '${pause}'}
      - each: ${brokers}
        steps:
          - {after: 1s, inject: kill_broker, broker: '${round}', for: 1s, note: '${note} $${x}'}
          - {when: state(billing) == "Stable", within: 20s, heal: all}
  - include: az-loss
    with: {zone: a}
  - include: flaky-network
  - {admin: leader_election, partition: orders-0}
"""
)
SEEDS = [*dict.fromkeys(TEXTS), GROUPED, *(path.read_text() for path in sorted(FRAGMENTS.glob("*.yaml")))]
_TOKEN = re.compile(r"[A-Za-z0-9_.$-]+|\s+|.", re.DOTALL)


def shaken(text: str, draw: RandomStream) -> str:
    """A text with some of its tokens or lines left out, doubled, or in each other's place."""
    for _change in range(1 + draw.below(4)):
        parts = _TOKEN.findall(text) if draw.below(2) else text.splitlines(keepends=True)
        if not parts:
            return text
        one, other, what = draw.below(len(parts)), draw.below(len(parts)), draw.below(4)
        if what == 0:
            del parts[one : one + 1 + draw.below(3)]
        elif what == 1:
            parts.insert(other, parts[one])
        elif what == 2:
            parts[one], parts[other] = parts[other], parts[one]
        else:
            parts[one] = parts[one][: draw.below(len(parts[one]) + 1)]
        text = "".join(parts)
    return text


def shake(rounds: int, name: str) -> None:
    draw = RandomStream(11, name)
    for _round in range(rounds):
        for seed in SEEDS:
            check(shaken(seed, draw))


def test_playbooks_with_tokens_and_lines_moved_load_or_are_refused() -> None:
    shake(2, "few")


def test_many_playbooks_with_tokens_and_lines_moved_load_or_are_refused() -> None:
    shake(sample_count(3, 60), "many")


def test_the_seed_with_groups_variables_and_fragments_is_sound() -> None:
    assert len(loads(GROUPED, "grouped.yaml").steps) == 20


@pytest.mark.parametrize("path", sorted(FRAGMENTS.glob("*.yaml")), ids=lambda path: path.stem)
def test_a_fragment_with_tokens_and_lines_moved_is_read_or_refused(path: Path) -> None:
    draw = RandomStream(11, path.stem)
    source = path.read_text()
    for _round in range(40):
        text = shaken(source, draw)
        problems = problems_of(lambda text=text: fragment_of(text, "fuzzed.yaml"))
        assert all(problem.line >= 1 for problem in problems)

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from playbooks import bundled
from playbooks.loader import load, loads
from playbooks.model import Playbook
from playbooks.problems import PlaybookError, Problem
from playbooks.reading.fragment_files import fragment_of

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
        "- ", ": ", "\n", "\n  ", "[", "]", "{", "}", ",", "'", '"', "#", "&a ", "*a", "!!int ", "|", ">-", "? ", "~",
        "null", "yes", "0", "-1", "9" * 400, "1.5", "5s", "x", "orders-0", "orders-" + "9" * 5000, "heal: all", "then:",
        "when:", "inject: lag", "target: random(" + "9" * 60 + ", all)", "broker: 1", "acks: all", "show", "\t",
        "\u0085", "\ufeff", "٣", "\\ud800", "<<: *a", "name", "placement: [[]]", "steps:", "expect:", "always: ",
        "leo(orders-0)", "${", "${x}", "$${", "${a}", "vars: {a: 1}", "vars: {a: '${a}'}", "include: az-loss",
        "- include: az-loss\n    with: {zone: a}", "with: ", "fragment: x", "repeat: 2", "as: a", "include: [x, y]",
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


def problems_of(reading: Callable[[], Playbook]) -> tuple[Problem, ...]:
    """The mistakes told, none when there is a playbook; any other exception is a failure of the test."""
    refusal: PlaybookError | None = None
    try:
        playbook = reading()
    except PlaybookError as error:
        refusal = error
    if refusal is None:
        assert isinstance(playbook, Playbook)
        return ()
    assert refusal.problems
    return refusal.problems


def check(text: str) -> None:
    problems = problems_of(lambda: loads(text, "fuzzed.yaml"))
    for problem in problems:
        assert problem.line >= 1
        assert problem.column >= 1
        assert "\n" not in str(problem)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(mutated())
def test_a_mutated_playbook_loads_or_is_refused(text: str) -> None:
    check(text)


def cut(draw: st.DrawFn, text: str) -> str:
    start = draw(st.integers(0, len(text)))
    return text[:start] + draw(PIECES) + text[min(len(text), start + draw(st.integers(0, 20))) :]


@st.composite
def broken_fragments(draw: st.DrawFn) -> tuple[str, dict[str, str]]:
    """The playbook with variables and includes, and its fragments, some of all these texts changed."""
    text = VARIED.replace(" ${many}", "")
    texts = {name: cut(draw, each) if draw(st.booleans()) else each for name, each in KEPT.items()}
    return (cut(draw, text) if draw(st.booleans()) else text), texts


def test_what_is_mutated_is_sound_at_first() -> None:
    text = VARIED.replace(" ${many}", "")
    assert len(loads(text, "v.yaml", KEPT).steps) == 9


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
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

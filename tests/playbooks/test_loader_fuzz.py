from collections.abc import Callable
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from playbooks import bundled
from playbooks.loader import load, loads
from playbooks.model import Playbook
from playbooks.problems import PlaybookError, Problem

TEXTS = [bundled.path_of(name).read_text() for name in bundled.names()]
PIECES = st.sampled_from(
    [
        "- ", ": ", "\n", "\n  ", "[", "]", "{", "}", ",", "'", '"', "#", "&a ", "*a", "!!int ", "|", ">-", "? ", "~",
        "null", "yes", "0", "-1", "9" * 400, "1.5", "5s", "x", "orders-0", "orders-" + "9" * 5000, "heal: all", "then:",
        "when:", "inject: lag", "target: random(" + "9" * 60 + ", all)", "broker: 1", "acks: all", "show", "\t",
        "\u0085", "\ufeff", "٣", "\\ud800", "<<: *a", "name", "placement: [[]]", "steps:", "expect:", "always: ",
        "leo(orders-0)", "settle: now", "stop: now", "executed: 5", "heal: 3", "- {at: 1s, executed: -1, stop: now}",
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

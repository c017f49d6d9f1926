"""An unclean election, record by record: eight are lost, three of them by acks=all with min.insync.replicas=2."""

import pytest

from playbooks.engine.session_runner import start_session
from playbooks.library.bundled import path_of
from playbooks.parser.loader import loads
from playbooks.results.result import SessionResult

pytestmark = pytest.mark.slow

VERSIONS = [
    "0.8.2",
    "0.9",
    "0.10.2",
    "0.11",
    "1.0",
    "1.1",
    "2.0",
    "2.3",
    "2.6",
    "2.8",
    "3.3",
    "3.5",
    "3.6",
    "3.9",
    "4.1",
]
FRESH = ("3.9", "4.1")
"""From 3.7 on nothing is committed below min.insync.replicas."""


def run(text: str, kafka: str) -> SessionResult:
    """The bundled playbook, changed, under another version."""
    playbook = loads(text.replace('kafka: "3.9"', f'kafka: "{kafka}"'), "x.yaml")
    return start_session(playbook).finish()


def bundled() -> str:
    return path_of("unclean-election-arithmetic").read_text()


def lost(result: SessionResult) -> dict[int, int]:
    """Acks level → records lost."""
    found: dict[int, int] = {}
    for loss in result.losses:
        found[loss.acks] = found.get(loss.acks, 0) + loss.count
    return found


@pytest.mark.parametrize("kafka", VERSIONS)
def test_three_of_the_eight_were_guaranteed_by_acks_all(kafka: str) -> None:
    result = run(bundled(), kafka)
    assert result.verdict == "pass"
    assert lost(result) == {-1: 3, 1: 5}
    (book,) = result.ledger.clients
    assert (book.acked, book.acked_lost, book.committed_lost) == (10, 8, 3 if kafka in FRESH else 8)
    assert book.ranges["acked_lost"] == ((2, 5), (6, 11)), "number 5 was refused"
    assert (book.failed, book.ranges["failed"]) == (1, ((5, 6),))


@pytest.mark.parametrize("kafka", ["0.10.2", "2.0", "3.6", "4.1"])
@pytest.mark.parametrize("acks", ["0", "1"])
def test_acks_below_all_lose_all_eight(kafka: str, acks: str) -> None:
    weaker = bundled().replace("names: [c, d, e], acks: all", f"names: [c, d, e], acks: {acks}")
    result = run(weaker, kafka)
    assert lost(result) == ({0: 3, 1: 5} if acks == "0" else {1: 8})
    assert result.ledger.acked_lost == 8


@pytest.mark.parametrize("kafka", ["0.10.2", "2.0", "3.6", "4.1"])
def test_acks_all_loses_three(kafka: str) -> None:
    """With acks=all alone the five that one broker took would have been refused."""
    strict = bundled().replace("names: [f, g, h, i, j], acks: 1}", "names: [f, g, h, i, j], acks: all}")
    strict = strict.replace(
        "    event: acks=1 is still acknowledged, with a single copy\n"
        "    then: {1: {leo: 10}, 2: {leo: 5}, 3: {leo: 2}}\n",
        "",
    )
    result = run(strict, kafka)
    assert lost(result) == {-1: 3}
    assert result.ledger.acked_lost == result.ledger.committed_lost == 3

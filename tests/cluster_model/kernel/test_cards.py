"""Network cards: one limit for all links of a node, or of several nodes."""

import pytest

from cluster_model.kernel.link import INTO, OUT
from tests.cluster_model.kernel.test_link_faults import MS, SECOND, Request, got, make, shape
from tests.cluster_model.kernel.test_network import LATENCY, A, B, C


@pytest.mark.parametrize(("shared", "second"), [(0, 500), (OUT, 1_000)])
def test_a_card_has_one_limit_for_all_links(shared: int, second: int) -> None:
    cluster_state = make()
    for target in (B, C):
        shape(cluster_state, A, target, 1, rate=1_000, cards=shared)
    cluster_state.send(A, B, Request("b", 500))
    cluster_state.send(A, C, Request("c", 500))
    cluster_state.run(5 * SECOND)
    assert got(cluster_state, B) == [(500 * MS + LATENCY, "b")]
    assert got(cluster_state, C) == [(second * MS + LATENCY, "c")]


def test_a_receivers_card_is_shared_by_those_who_send_to_it() -> None:
    cluster_state = make()
    for source in (A, B):
        shape(cluster_state, source, C, 1, rate=1_000, cards=INTO)
    cluster_state.send(A, C, Request("a", 500))
    cluster_state.send(B, C, Request("b", 500))
    cluster_state.run(5 * SECOND)
    assert got(cluster_state, C) == [(500 * MS + LATENCY, "a"), (SECOND + LATENCY, "b")]


@pytest.mark.parametrize("owner", [A, B])
def test_two_nodes_can_have_one_card(owner: int) -> None:
    cluster_state = make()
    for source in (A, B):
        shape(cluster_state, source, C, 1, rate=1_000, cards=OUT, sender=owner)
        shape(cluster_state, C, source, 2, rate=2_000, cards=INTO, receiver=owner)
    for node in (A, B):
        cluster_state.send(node, C, Request(node, 500))
        cluster_state.send(C, node, Request(node, 500))
    cluster_state.run(5 * SECOND)
    assert got(cluster_state, C) == [(500 * MS + LATENCY, A), (SECOND + LATENCY, B)]
    assert [at for at, _name in got(cluster_state, A) + got(cluster_state, B)] == [
        250 * MS + LATENCY,
        500 * MS + LATENCY,
    ]

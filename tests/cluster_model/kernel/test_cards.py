"""Network cards: one limit for all links of a node, or of several nodes."""

import pytest

from cluster_model.kernel.link import INTO, OUT
from tests.cluster_model.kernel.test_link_faults import MS, SECOND, Request, got, make, shape
from tests.cluster_model.kernel.test_network import LATENCY, A, B, C


@pytest.mark.parametrize(("shared", "second"), [(0, 500), (OUT, 1_000)])
def test_a_card_has_one_limit_for_all_links(shared: int, second: int) -> None:
    world = make()
    for target in (B, C):
        shape(world, A, target, 1, rate=1_000, cards=shared)
    world.send(A, B, Request("b", 500))
    world.send(A, C, Request("c", 500))
    world.run(5 * SECOND)
    assert got(world, B) == [(500 * MS + LATENCY, "b")]
    assert got(world, C) == [(second * MS + LATENCY, "c")]


def test_a_receivers_card_is_shared_by_those_who_send_to_it() -> None:
    world = make()
    for source in (A, B):
        shape(world, source, C, 1, rate=1_000, cards=INTO)
    world.send(A, C, Request("a", 500))
    world.send(B, C, Request("b", 500))
    world.run(5 * SECOND)
    assert got(world, C) == [(500 * MS + LATENCY, "a"), (SECOND + LATENCY, "b")]


@pytest.mark.parametrize("owner", [A, B])
def test_two_nodes_can_have_one_card(owner: int) -> None:
    world = make()
    for source in (A, B):
        shape(world, source, C, 1, rate=1_000, cards=OUT, sender=owner)
        shape(world, C, source, 2, rate=2_000, cards=INTO, receiver=owner)
    for node in (A, B):
        world.send(node, C, Request(node, 500))
        world.send(C, node, Request(node, 500))
    world.run(5 * SECOND)
    assert got(world, C) == [(500 * MS + LATENCY, A), (SECOND + LATENCY, B)]
    assert [at for at, _name in got(world, A) + got(world, B)] == [250 * MS + LATENCY, 500 * MS + LATENCY]

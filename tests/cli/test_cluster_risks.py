"""``floodmark cluster risks`` as it is typed."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.cli.running import Typed

Type = Callable[..., Typed]

CLUSTER = """\
floodmark: 1
fragment: shop
cluster:
  kafka: "3.9"
  brokers: [{id: 1, rack: a}, {id: 2, rack: b}, {id: 3, rack: c}]
  controllers: [1, 2, 3]
topics:
  - {name: orders, placement: [[1, 2, 3], [2, 3, 1]], config: {min.insync.replicas: 2}}
  - {name: carts, placement: [[2]]}
  - {name: __consumer_offsets, placement: [[1, 2], [2]], config: {cleanup.policy: compact}}
"""


@pytest.fixture
def shop(here: Path) -> Path:
    (here / "shop.yaml").write_text(CLUSTER)
    return here


def test_the_table_has_what_each_loss_takes_away(typed: Type, shop: Path, snapshot: SnapshotAssertion) -> None:
    found = typed("cluster", "risks", "shop.yaml")
    assert found.code == 1
    assert found.out == snapshot


def test_simulated_failures_are_counted_as_computed(typed: Type, shop: Path) -> None:
    found = typed("cluster", "risks", "shop.yaml", "--simulate", "--json")
    failures = json.loads(found.out)["failures"]
    assert len(failures) == 9
    for failure in failures:
        assert failure["simulated"]["offline"] == failure["offline"]
        assert failure["simulated"]["below_min_isr"] == failure["below_min_isr"]
        assert failure["simulated"]["leaderless_us"] >= 0


@pytest.mark.parametrize(("survive", "code"), [("none", 0), ("broker", 1), ("rack", 1), ("two-racks", 1)])
def test_the_exit_code_is_whether_losses_are_survived(typed: Type, shop: Path, survive: str, code: int) -> None:
    assert typed("cluster", "risks", "shop.yaml", "--survive", survive).code == code


def test_a_cluster_without_single_points_of_failure_survives_a_rack(typed: Type, shop: Path) -> None:
    text = CLUSTER.replace("[[2]]", "[[2, 3, 1]]").replace("[[1, 2], [2]]", "[[1, 2]]")
    (shop / "shop.yaml").write_text(text)
    assert typed("cluster", "risks", "shop.yaml", "--survive", "rack").code == 0


def test_a_playbook_has_a_cluster_as_well(typed: Type, here: Path) -> None:
    (here / "p.yaml").write_text("floodmark: 1\ntopics: [{name: a, partitions: 3, replication: 3}]\n")
    assert typed("cluster", "risks", "p.yaml").code == 0


@pytest.mark.parametrize(
    "words", [("none.yaml",), ("shop.yaml", "--survive", "earthquake"), ("p.yaml", "--survive", "rack"), ("bad.yaml",)]
)
def test_what_does_not_fit_is_one_error(typed: Type, shop: Path, words: tuple[str, ...]) -> None:
    (shop / "p.yaml").write_text("floodmark: 1\ntopics: [{name: a, partitions: 3, replication: 3}]\n")
    (shop / "bad.yaml").write_text(CLUSTER.replace("placement: [[2]]", "placement: [[7]]"))
    found = typed("cluster", "risks", *words)
    assert found.code == 2
    assert found.out == ""
    assert found.err.count("error:") == 1

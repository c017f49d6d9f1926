"""``floodmark new`` as it is typed."""

from collections.abc import Callable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from playbooks.parser.loader import load
from tests.cli.running import Typed

Type = Callable[..., Typed]

CLUSTER = """\
floodmark: 1
fragment: shop
cluster: {kafka: "3.9", brokers: [{id: 1}, {id: 2}, {id: 3}]}
topics:
  - {name: orders, placement: [[2, 1, 3], [2, 3, 1]], config: {min.insync.replicas: 2}}
  - {name: __consumer_offsets, placement: [[1, 2, 3], [1, 2, 3], [1, 2, 3]]}
"""


@pytest.fixture
def shop(here: Path) -> Path:
    (here / "shop.yaml").write_text(CLUSTER)
    return here


def test_a_commented_playbook_is_written(typed: Type, shop: Path, snapshot: SnapshotAssertion) -> None:
    assert typed("new", "shop.yaml", "-o", "first.yaml").code == 0
    assert (shop / "first.yaml").read_text() == snapshot
    assert typed("run", "first.yaml").code == 0


def test_the_cluster_file_is_named_from_the_directory_of_the_playbook(typed: Type, shop: Path) -> None:
    (shop / "chaos").mkdir()
    assert typed("new", "shop.yaml", "-o", "chaos/first.yaml").code == 0
    assert list(load(shop / "chaos" / "first.yaml").fragments) == ["../shop.yaml"]


def test_standard_output_has_the_playbook(typed: Type, shop: Path) -> None:
    found = typed("new", "shop.yaml", "-o", "-")
    (shop / "p.yaml").write_text(found.out)
    assert load(shop / "p.yaml").name == "shop-broker-crash"


@pytest.mark.parametrize(
    "words", [("none.yaml",), ("shop.yaml", "-o", "shop.yaml"), ("p.yaml",), ("bad.yaml",), ("shop.yaml", "-o", "no/p")]
)
def test_what_does_not_fit_is_one_error(typed: Type, shop: Path, words: tuple[str, ...]) -> None:
    (shop / "p.yaml").write_text("floodmark: 1\ntopics: [{name: a, replication: 1}]\n")
    (shop / "bad.yaml").write_text(CLUSTER.replace("[2, 3, 1]", "[2, 3, 7]"))
    found = typed("new", *words)
    assert found.code == 2
    assert found.out == ""
    assert found.err.count("error:") == 1

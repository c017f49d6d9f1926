"""``floodmark run --dry-run``: before each fault what it would do, nothing kept, its own exit codes."""

import json
from collections.abc import Callable
from pathlib import Path

from tests.cli.running import Typed

Type = Callable[..., Typed]

SLOW = """\
floodmark: 1
name: slow
cluster: {brokers: 3}
topics:
  - {name: orders, placement: [[1, 2, 3]], config: {min.insync.replicas: 2}}
steps:
  - at: 1s
    inject: crash
    target: leader(orders-0)
    for: 2s
  - when: offline_partitions() > 2
    within: 1s
    heal: all
settle: 1s
expect:
  - acked() > 0
"""


def test_it_tells_each_fault_and_keeps_nothing(typed: Type, here: Path) -> None:
    (here / "slow.yaml").write_text(SLOW)
    done = typed("run", "--dry-run", "slow.yaml")
    lines = done.out.splitlines()
    assert done.code == 0
    assert "      1.000s step 1  inject crash on leader(orders-0) for 2s" in lines
    assert "             strikes        broker 1" in lines
    assert "             another leader orders-0" in lines
    assert "       never step 2  heal all  (when offline_partitions() > 2)" in lines
    assert "      3.000s settle 1s: producers stop, faults heal" in lines
    assert "      4.000s the end" in lines
    assert "      4.000s FAILED acked() > 0 (acked() is 0)" in lines
    assert [lines.index(f"{at:>12}{rest}") for at, rest in (("3.000s", " crash on broker 1 is over"),)] < [
        lines.index("      3.000s settle 1s: producers stop, faults heal")
    ]
    assert lines[-1].startswith(
        "dry run of 4.000s, nothing was kept: 1 fault foretold, 1 step never reached; a run would"
    )
    assert "INCONCLUSIVE" in lines[-1]
    assert sorted(path.name for path in here.iterdir()) == ["slow.yaml"]


def test_as_a_document(typed: Type, here: Path) -> None:
    (here / "slow.yaml").write_text(SLOW)
    done = typed("run", "--dry-run", "--json", "slow.yaml", "--seed", "5")
    document = json.loads(done.out)
    assert (done.code, document["seed"], document["verdict"]) == (0, 5, "inconclusive")
    assert [step["targets"] for step in document["steps"]] == [["broker 1"]]
    assert document["unreached"] == [{"step": 2, "text": "heal all", "name": "step 2"}]
    two = json.loads(typed("run", "--dry-run", "--json", "slow.yaml", "slow.yaml").out)
    assert [each["playbook"] for each in two] == ["slow", "slow"]


def test_bad_input_is_told_and_is_2(typed: Type, here: Path) -> None:
    (here / "bad.yaml").write_text(SLOW.replace("crash", "crush"))
    (here / "slow.yaml").write_text(SLOW)
    assert typed("run", "--dry-run", "bad.yaml").code == 2
    for options in (["--out", "x"], ["--junit", "x.xml"], ["--plain"]):
        done = typed("run", "--dry-run", "slow.yaml", *options)
        assert (done.code, done.out) == (2, "")
        assert f"found --dry-run and {options[0]} together" in done.err
    done = typed("run", "--dry-run", "kip-101-loss")
    assert done.code == 2
    assert "it is stepped by hand" in done.err

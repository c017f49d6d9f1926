"""A playbook with variables and includes, its fragments, and the equivalent single file."""

from pathlib import Path

from playbooks.model.playbook import Playbook

MAIN = """\
floodmark: 1
name: shop
include: parts/base.yaml
vars: {zone: b, outage: 8s}
seed: 5
topics:
  - {name: payments, placement: [[2, 3, 1]]}
steps:
  - {at: 5s, inject: gc_pause, target: leader(orders-0), for: 1s}
  - include: parts/dark.yaml
    with: {where: "${zone}", how_long: "${outage}"}
  - heal: all
settle: 10s
expect:
  - acked_lost() == 0
clients:
  producers: [{name: till, topic: payments, rate: 5/s}]
  groups: [{name: billing, topics: [payments]}]
"""
BASE = """\
floodmark: 1
fragment: base
title: What every shop has
vars:
  rate: 20/s
  zone: a
cluster:
  brokers: [{id: 1, rack: a}, {id: 2, rack: b}, {id: 3, rack: c}]
  config: {replica.lag.time.max.ms: 9000}
seed: 9
topics:
  - {name: orders, placement: [[1, 2, 3]]}
clients:
  producers: [{name: checkout, topic: orders, rate: "${rate}"}]
steps:
  - {at: 2s, inject: lag, target: rack(a), latency: 5ms, for: 1s}
expect:
  - violations() == 0
settle: 1m
"""
DARK = """\
floodmark: 1
fragment: dark
vars:
  where:
  how_long: 30s
  zone: unused here
steps:
  - {after: 3s, inject: crash, target: "rack(${where})", for: "${how_long}"}
  - include: ../common.yaml
    with: {note: "after ${where}"}
"""
COMMON = "floodmark: 1\nfragment: common\nvars: {note: }\nsteps: [{after: 9s, heal: all, note: '${note}'}]\n"
WRITTEN_OUT = """\
floodmark: 1
name: shop
seed: 5
cluster:
  brokers: [{id: 1, rack: a}, {id: 2, rack: b}, {id: 3, rack: c}]
  config: {replica.lag.time.max.ms: 9000}
topics:
  - {name: orders, placement: [[1, 2, 3]]}
  - {name: payments, placement: [[2, 3, 1]]}
clients:
  producers:
    - {name: checkout, topic: orders, rate: 20/s}
    - {name: till, topic: payments, rate: 5/s}
  groups: [{name: billing, topics: [payments]}]
steps:
  - {at: 2s, inject: lag, target: rack(a), latency: 5ms, for: 1s}
  - {at: 5s, inject: gc_pause, target: leader(orders-0), for: 1s}
  - {after: 3s, inject: crash, target: rack(b), for: 8s}
  - {after: 9s, heal: all, note: after b}
  - heal: all
settle: 10s
expect:
  - violations() == 0
  - acked_lost() == 0
"""
FILES = {"main.yaml": MAIN, "parts/base.yaml": BASE, "parts/dark.yaml": DARK, "common.yaml": COMMON}
KEPT = {"parts/base.yaml": BASE, "parts/dark.yaml": DARK, "common.yaml": COMMON}


def save(directory: Path) -> None:
    """Write all the files."""
    for name, text in FILES.items():
        (directory / name).parent.mkdir(exist_ok=True)
        (directory / name).write_text(text)


def alike(one: Playbook, other: Playbook) -> bool:
    """Return whether two playbooks are equal except for their texts and positions."""
    steps = [[(s.trigger, s.verb, s.name, s.target, s.params, s.for_us, s.note) for s in p.steps] for p in (one, other)]
    texts = [[(each.kind, each.text) for each in p.expectations] for p in (one, other)]
    return (
        (one.name, one.seed, one.spec, one.settle_us) == (other.name, other.seed, other.spec, other.settle_us)
        and steps[0] == steps[1]
        and texts[0] == texts[1]
    )

"""A cluster and load so small that a storm over it takes some hundredths of a second."""

from playbooks.campaign.workloads.fuzz_workload import FuzzPlan, plan_of
from playbooks.parser.loader import loads

HEAD = """
floodmark: 1
name: small
cluster:
  kafka: "{kafka}"
  brokers: 3
  config: {{{config}}}
topics:
  - {{name: orders, replication: 3, config: {{min.insync.replicas: 2, unclean.leader.election.enable: {unclean}}}}}
clients:
  producers:
    - {{name: checkout, topic: orders, rate: 20/s, config: {{acks: {acks}}}}}
{clients}settle: 5s
storm: {{chaos: [3s, 6s], fault: [100ms, 3s], healthy: [100ms, 1s]{storm}}}
{rest}"""

KRAFT = "broker.session.timeout.ms: 1000, replica.lag.time.max.ms: 1000"
ZOOKEEPER = "zookeeper.session.timeout.ms: 1000, replica.lag.time.max.ms: 1000"
GROUP = "  groups:\n    - {name: billing, topics: [orders], members: 2}\n"


def text(
    kafka: str = "3.9", *, acks: str = "all", unclean: str = "false", clients: str = "", storm: str = "", rest: str = ""
) -> str:
    """The playbook's text."""
    config = KRAFT if kafka[0] in "34" else ZOOKEEPER
    extra = f", {storm}" if storm else ""
    return HEAD.format(
        kafka=kafka, config=config, acks=acks, unclean=unclean, clients=clients, storm=extra, rest=rest
    ).lstrip()


def plan(source: str = "", *, seed: int = 1, keep_steps: bool = False) -> FuzzPlan:
    """The plan of a campaign over it."""
    return plan_of(loads(source or text(), "small.yaml"), seed, keep_steps=keep_steps)

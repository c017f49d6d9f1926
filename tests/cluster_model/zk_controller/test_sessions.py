"""What a broker of a ZooKeeper-mode cluster makes of the end of its session, and of the next one."""

import pytest

from cluster_model.controller.zookeeper.service.messages import ConnectResponse
from cluster_model.kernel.processes import ProcessState
from tests.cluster_model.zk_controller.rigs import Watched


def expire(rig: Watched, broker: int) -> None:
    """End a broker's session, and have it told before anything else is."""
    assert rig.plane.service.expire_session(broker)
    client = rig.control(broker).session.client
    client.receive(client.server, ConnectResponse(client._attempt, 0, 0, 0))


@pytest.mark.parametrize("kafka", ["0.8.2", "2.3", "3.9"])
def test_a_broker_about_to_stop_asks_the_next_session_who_the_controller_is(kafka: str) -> None:
    rig = Watched.of(kafka)
    rig.run(1)
    rig.cluster.shutdown(2)
    expire(rig, 2)
    rig.run(5)
    assert rig.cluster.network.processes[2].state in (ProcessState.DOWN, ProcessState.OFF)
    assert any("2 > 1 ControlledShutdown of 2" in line for line in rig.lines)
    assert not rig.plane.is_live(2)

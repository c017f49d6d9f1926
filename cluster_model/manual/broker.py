"""Broker processes and their disks by hand: crashes, clean stops, starts, checkpoints, flushes, segments."""

from cluster_model.manual.context import NOW, Ground, Handler, Params
from cluster_model.manual.fetch import RoundTrips
from cluster_model.manual.isr import IsrChanges
from cluster_model.manual.requests import Produces
from cluster_model.protocol.endings import POWER_LOSS
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import NodeDown, NodeUp, RecoveryFinished


class Processes:
    """What happens to a broker's process, its page cache and its disks."""

    def __init__(self, ground: Ground, trips: RoundTrips, changes: IsrChanges, produces: Produces) -> None:
        self._ground = ground
        self._trips = trips
        self._changes = changes
        self._produces = produces
        ground.stop = self._stop
        self._clean = dict.fromkeys(ground.up, False)
        """Whether ``.kafka_cleanshutdown`` is there."""
        self.handlers: dict[str, Handler] = {
            "crash": self._crash,
            "power_loss": self._power_loss,
            "disk_loss": self._disk_loss,
            "shutdown": self._shutdown,
            "restart": self._restart,
            "checkpoint": self._checkpoint,
            "flush": self._flush,
            "roll": self._roll,
            "retain": self._retain,
            "delete_records": self._delete_records,
        }

    def _crash(self, params: Params) -> KafkaError:
        return self._stop(params["broker"], "crash")

    def _power_loss(self, params: Params) -> KafkaError:
        error = self._stop(params["broker"], POWER_LOSS)
        if error is KafkaError.NONE:
            for replica in self._ground.replicas_on(params["broker"]):
                replica.power_lost(NOW, int(params.get("keep", -1)))
        return error

    def _disk_loss(self, params: Params) -> KafkaError:
        error = self._stop(params["broker"], "disk_loss")
        if error is KafkaError.NONE:
            for replica in self._ground.replicas_on(params["broker"]):
                replica.disk_lost(NOW)
        return error

    def _shutdown(self, params: Params) -> KafkaError:
        """SIGTERM. Leaderships are not handed over here: that is the controller's, step by step."""
        broker = params["broker"]
        replicas = self._ground.replicas_on(broker)
        if self._ground.up[broker]:
            for replica in replicas:
                replica.closed(NOW)
            self._clean[broker] = True
        return self._stop(broker, "shutdown")

    def _stop(self, broker: int, how: str) -> KafkaError:
        replicas = self._ground.replicas_on(broker)
        if not self._ground.up[broker]:
            return KafkaError.BROKER_NOT_AVAILABLE
        self._ground.up[broker] = False
        for replica in replicas:
            replica.stopped()
            self._trips.forget(replica)
            self._changes.forget(replica)
        self._trips.stopped(broker)
        self._produces.stopped(broker)
        self._ground.emit(NodeDown(NOW, f"broker {broker}", broker, how))
        return KafkaError.NONE

    def _restart(self, params: Params) -> KafkaError:
        """Start and register: a new broker epoch. Who was fenced stays so, and is not elected by it.

        With KIP-966 a fenced broker that had not stopped in good order is no longer eligible to lead. One that was not
        fenced counts as the one it was: here nobody waits for a session to lapse.
        """
        broker, ground = params["broker"], self._ground
        replicas = ground.replicas_on(broker)
        if ground.up[broker]:
            return KafkaError.DUPLICATE_BROKER_REGISTRATION
        ground.up[broker] = True
        clean, self._clean[broker] = self._clean[broker], False
        checked = sum(replica.recovered(clean=clean) for replica in replicas)
        ground.registered[broker] = max(ground.registered.values()) + 1
        if broker in ground.live:
            ground.live[broker] = ground.registered[broker]
        if not clean and broker not in ground.live:
            ground.decider.came_back_short(broker, ground.live, NOW)
        ground.tell_all_live()
        ground.emit(NodeUp(NOW, f"broker {broker}", broker))
        detail = "clean shutdown, nothing to check" if clean else f"{checked} bytes checked"
        ground.emit(RecoveryFinished(NOW, broker, clean, len(replicas), 0, detail))
        return KafkaError.NONE

    def _checkpoint(self, params: Params) -> KafkaError:
        replicas = self._ground.replicas_on(params["broker"])
        if not self._ground.up[params["broker"]]:
            return KafkaError.NETWORK_EXCEPTION
        for replica in replicas:
            replica.checkpoint(NOW)
        return KafkaError.NONE

    def _flush(self, params: Params) -> KafkaError:
        replica = self._ground.replica(params)
        if not self._ground.up[replica.broker]:
            return KafkaError.NETWORK_EXCEPTION
        replica.log.flush(NOW)
        return KafkaError.NONE

    def _roll(self, params: Params) -> KafkaError:
        replica = self._ground.replica(params)
        if not self._ground.up[replica.broker]:
            return KafkaError.NETWORK_EXCEPTION
        return KafkaError.NONE if replica.log.roll(NOW, "step") else KafkaError.INVALID_REQUEST

    def _retain(self, params: Params) -> KafkaError:
        replica = self._ground.replica(params)
        if not self._ground.up[replica.broker]:
            return KafkaError.NETWORK_EXCEPTION
        replica.retain(NOW)
        return KafkaError.NONE

    def _delete_records(self, params: Params) -> KafkaError:
        replica = self._ground.replica(params)
        if not self._ground.up[replica.broker]:
            return KafkaError.NETWORK_EXCEPTION
        before = params["before"]
        return replica.delete_records(-1 if before == "hw" else int(before), NOW)

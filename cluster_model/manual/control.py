"""The controller by hand: elections of every kind, fencing, and decisions delivered to one broker at a time."""

from cluster_model.manual.context import NOW, Ground, Handler, Params
from cluster_model.manual.fetch import RoundTrips
from cluster_model.manual.isr import IsrChanges
from cluster_model.protocol.errors import KafkaError, ModelError
from cluster_model.protocol.events import BrokerFenced, BrokerRegistered


class Decisions:
    """What the controller decides, and who hears of it."""

    def __init__(self, ground: Ground, trips: RoundTrips, changes: IsrChanges) -> None:
        self._ground = ground
        self._trips = trips
        self._changes = changes
        self.handlers: dict[str, Handler] = {
            "elect": self._elect,
            "elect_leaders": self._elect_leaders,
            "drop_from_isr": self._drop_from_isr,
            "fence": self._fence,
            "unfence": self._unfence,
            "deliver": self._deliver,
        }

    def _elect(self, params: Params) -> KafkaError:
        replica = self._ground.replica(params, "leader")
        unclean = bool(params.get("unclean", False))
        live = self._ground.running()
        return self._ground.decider.elect_by_hand(replica.partition, replica.broker, NOW, unclean=unclean, live=live)

    def _elect_leaders(self, params: Params) -> KafkaError:
        unclean = bool(params.get("unclean", False))
        return self._ground.decider.elect_leaders(params["partition"], self._ground.live, NOW, unclean=unclean)

    def _drop_from_isr(self, params: Params) -> KafkaError:
        replica = self._ground.replica(params)
        live = {broker: epoch for broker, epoch in self._ground.running().items() if broker != replica.broker}
        return self._ground.decider.drop_by_hand(replica.partition, replica.broker, NOW, live=live)

    def _fence(self, params: Params) -> KafkaError:
        broker, ground = params["broker"], self._ground
        ground.replicas_on(broker)
        if broker not in ground.live:
            raise ModelError(f"broker {broker} is fenced already")
        del ground.live[broker]
        ground.emit(BrokerFenced(NOW, broker, "session timed out"))
        ground.decider.fence(broker, ground.live, NOW)
        ground.tell_all_live()
        return KafkaError.NONE

    def _unfence(self, params: Params) -> KafkaError:
        broker, ground = params["broker"], self._ground
        ground.replicas_on(broker)
        if broker in ground.live:
            raise ModelError(f"broker {broker} is not fenced")
        if not ground.up[broker]:
            return KafkaError.BROKER_NOT_AVAILABLE
        ground.live[broker] = ground.registered[broker]
        ground.count_on(broker)
        ground.emit(BrokerRegistered(NOW, broker))
        ground.decider.unfence(broker, ground.live, NOW)
        ground.tell_all_live()
        return KafkaError.NONE

    def _deliver(self, params: Params) -> KafkaError:
        replica, ground = self._ground.replica(params), self._ground
        if not ground.up[replica.broker]:
            return KafkaError.NETWORK_EXCEPTION
        decisions = ground.decisions[replica.partition]
        wanted = params.get("epoch", "latest")
        if wanted != "latest":
            decisions = [state for state in decisions if state.leader_epoch == wanted]
            if not decisions:
                known = sorted({state.leader_epoch for state in ground.decisions[replica.partition]})
                raise ModelError(f"no decision of epoch {wanted} about {replica.partition}; there are {known}")
        ground.count_on(replica.broker)
        if not replica.apply(decisions[-1], NOW):
            return KafkaError.STALE_CONTROLLER_EPOCH
        self._trips.forget(replica)
        self._changes.forget(replica)
        ground.settle(replica)
        if params.get("truncate", "now") == "now":
            self._trips.truncate(replica)
        return KafkaError.NONE

"""Going to things by their names: partitions, offsets of theirs, brokers, groups and producers."""

import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Final

from tui.offers import Offer, Offers
from tui.screens.cluster import MainScreen
from tui.terminal.format import clock, names

GO: Final = "go to "
_OFFSET: Final = re.compile(r"(?:go (?:to )?)?([A-Za-z0-9._-]+)[ :@]+([0-9]{1,15})", re.ASCII)


class GoProvider(Offers):
    """By name; ``orders-3 124`` is an offset."""

    def answers(self, main: MainScreen, query: str) -> Iterator[Offer]:
        """The offset that was typed, as long as the partition's log has it."""
        typed = _OFFSET.fullmatch(query.strip())
        if typed is None:
            return
        offset = int(typed[2])
        for each in main.bridge.view.partitions:
            if each.name == typed[1] and each.log_start <= offset < max(each.leo, 1):
                yield Offer(
                    f"{GO}{each.name} offset {offset}", "in the log, under the microscope",
                    partial(main.show_offset, each.name, offset),
                )  # fmt: skip

    def offers(self, main: MainScreen) -> Iterable[Offer]:
        """Everything that has a name."""
        view = main.bridge.view
        for each in view.brokers:
            yield Offer(f"{GO}b{each.id}", f"broker {each.id}, {each.state}", partial(main.show_broker, each.id))
        for one in view.groups:
            read = f"group of {names(one.topics, 3)}, lag {one.lag}"
            yield Offer(f"{GO}{one.name}", read, partial(main.show_client, one.name))
        for producer in view.producers:
            about = f"producer of {producer.topic}"
            yield Offer(f"{GO}{producer.name}", about, partial(main.show_client, producer.name))
        for partition in view.partitions:
            leader = f"leader b{partition.leader}" if partition.leader >= 0 else "no leader"
            about = f"partition, {leader}, ISR {list(partition.isr)}"
            yield Offer(f"{GO}{partition.name}", about, partial(main.show_partition, partition.name))


class ViolationProvider(Offers):
    """The instants at which a rule was found broken."""

    def offers(self, main: MainScreen) -> Iterable[Offer]:
        """Each rule and partition, the first time."""
        bridge = main.bridge
        for each in bridge.chronicle.all_broken(bridge.session.present_us):
            where = f" of {each.partition}" if each.partition else ""
            yield Offer(
                f"go {clock(each.at_us)} violation: {each.name}{where}", each.detail,
                partial(main.go_to, each.at_us),
            )  # fmt: skip

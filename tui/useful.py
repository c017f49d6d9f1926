"""The five most useful things to do with what is under the cursor: what the palette shows before anything is typed."""

from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Final

from textual.command import DiscoveryHit, Hits

from cluster_model.checker.root_cause.findings import Finding
from cluster_model.observation.effective_config import of_topic
from cluster_model.protocol.config_defs import MIN_ISR
from faults.catalogue import CATALOGUE
from faults.declarations.action import Action
from faults.declarations.fault import FaultError
from tui.keybindings.modes import mode_of
from tui.offers import Offer, Offers, main_of
from tui.palette import told_of, topic_offer
from tui.screens.cluster import MainScreen
from tui.session.background_tasks import findings_so_far
from tui.viewmodel.autopsy_page import headline

MOST: Final = 5
USUAL: Final = ("crash", "gc_pause", "isolate", "lag")
"""Faults of a broker that runs, the most instructive first."""


class UsefulProvider(Offers):
    """Nothing of this is found by typing: the other providers have it all."""

    async def discover(self) -> Hits:
        """By what is wrong with it, else what could be done to it."""
        main = main_of(self.screen)
        if main is None:
            return
        for number, offer in enumerate(islice(useful(main), MOST), 1):
            yield DiscoveryHit(f"{number} {offer.words}", offer.run, text=offer.words, help=offer.about)


def useful(main: MainScreen) -> Iterator[Offer]:
    """The most useful first."""
    yield from _mending(main)
    yield from _looking(main)
    name = dict(main.targets())[main.target]
    fitting = () if _is_down(main) else main.fitting()
    for fault in USUAL:
        if fault in fitting:
            about = CATALOGUE[fault].summary
            yield Offer(f"{CATALOGUE[fault].title} {name}", about, partial(main.inject, fault, main.target))
    for mode in ("timeline", "report", "clients"):
        yield Offer(f"the {mode}", mode_of(mode).words, partial(main.action_mode, mode))


def _is_down(main: MainScreen) -> bool:
    return any(each.id == main.target and each.state == "down" for each in main.bridge.view.brokers)


def _mending(main: MainScreen) -> Iterator[Offer]:
    target = main.target
    findings = findings_so_far(main.bridge)
    if findings:
        yield _autopsy(main, findings)
    if _is_down(main):
        about = CATALOGUE["restart"].summary
        yield Offer(f"restart b{target}", about, partial(main.inject, "restart", target))
    faults = len(main.bridge.view.faults)
    if faults:
        yield Offer("heal all faults", f"{faults} active", partial(main.do, Action("heal", "all")))
    partition = main.partition
    if partition is not None and partition.offline:
        try:
            action = main.bridge.session.board.usual("elect_leaders", partition.name, target)
        except FaultError:
            return
        yield Offer(f"elect a leader of {partition.name}", "unclean where need be", partial(main.do, action))


def _autopsy(main: MainScreen, findings: tuple[Finding, ...]) -> Offer:
    last = findings[-1]
    return Offer(f"autopsy: {headline(last)[0]}", last.sentence, partial(main.open_autopsy, len(findings)))


def _looking(main: MainScreen) -> Iterator[Offer]:
    partition = main.partition
    if partition is None:
        return
    yield Offer(f"the log of {partition.name}", "under the microscope", partial(main.action_mode, "log"))
    topic = partition.name.rpartition("-")[0]
    for each in of_topic(told_of(main, topic), main.bridge.session.cluster.world.profile, topic):
        if each.key.name == MIN_ISR:
            yield topic_offer(main, topic, each)

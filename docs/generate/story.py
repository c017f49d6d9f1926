"""The story of a loss from the fault to its autopsy, screen by screen, as one moving picture."""

from typing import Final

from docs.generate.screenshots import Beat, draw, runs
from docs.generate.stage import Stage, staged

SIZE: Final = (112, 34)
STORY: Final = "story"
"""Name of the picture's file."""


async def tell() -> str:
    """Play it, and draw it."""
    return draw(await beats())


async def beats() -> list[Beat]:
    """All screens of the story."""
    async with staged(SIZE) as stage:
        told: list[Beat] = []

        async def show(words: str, seconds: float) -> None:
            told.append(Beat(words, seconds, await screen(stage)))

        main = stage.app.main
        await stage.seconds(3)
        main.matrix.place(3, 0)
        await stage.seconds(0.25)
        await show("a Kafka cluster under load, all in this terminal", 2.5)
        for broker in (1, 2, 3):
            stage.inject("lag", broker)
        await stage.seconds(0.75)
        await show("the network between the brokers slows down: followers fall behind", 3)
        main.action_fault()
        await show("f: everything that can go wrong, and what it would do right now", 3)
        main.close_sheet()
        stage.inject("crash", 1)
        await stage.seconds(0.5)
        await show("c: broker 1 crashes", 2.5)
        await stage.seconds(3.5)
        stage.heal("lag")
        await stage.seconds(6)
        stage.select_lost()
        await stage.seconds(0.25)
        main.action_fork()
        await show("the followers lead now; records that acks=1 had acknowledged are gone", 3.5)
        main.action_mode("log")
        await show("2: the log under the microscope, a cell for each record", 3.5)
        stage.heal("crash")
        await stage.seconds(8)
        await show("broker 1 is back, and cuts off what only it had: now they are lost for good", 3.5)
        main.action_mode("timeline")
        await show("4: what happened when, and the way back to any instant", 3)
        main.action_mode("cluster")
        main.action_finding(1)
        await show("n: the autopsy tells why, picture by picture", 5)
        return told


async def screen(stage: Stage) -> tuple[tuple[tuple[str, str, str, bool], ...], ...]:
    """What is on the screen."""
    await stage.settled()
    strips = stage.app.screen._compositor.render_strips()
    return tuple(runs([(each.text, each.style) for each in strip]) for strip in strips)

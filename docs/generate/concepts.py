"""Pictures for the page of concepts: each shows one idea in a session that can be played again."""

from typing import Final

from docs.generate.stage import Shot, Stage

PARTITION: Final = 0


async def offsets(stage: Stage) -> None:
    """Followers a little behind their leader: ends of logs, and the high watermark below them."""
    await stage.seconds(3)
    for broker in (2, 3):
        stage.inject("lag", broker)
    await stage.seconds(1)
    await _log(stage)


async def isr(stage: Stage) -> None:
    """A follower that has not fetched for too long is out of the ISR."""
    await stage.seconds(3)
    stage.inject("gc_pause", 2)
    await stage.seconds(14)
    stage.app.main.matrix.place(PARTITION, 0)


async def epochs(stage: Stage) -> None:
    """After an election: each record has the epoch of the leader that wrote it."""
    await stage.seconds(3)
    stage.inject("crash", 1)
    await stage.seconds(11)
    stage.heal("crash")
    await stage.seconds(6)
    await _log(stage)


async def transactions(stage: Stage) -> None:
    """Read, process, write: producers with transactions, and the groups that read by them."""
    await stage.seconds(21)
    stage.app.main.action_mode("clients")


async def _log(stage: Stage) -> None:
    stage.app.main.matrix.place(PARTITION, 0)
    await stage.seconds(0.25)
    stage.app.main.action_mode("log")


CONCEPTS: Final = (
    Shot("concept-offsets", (110, 30), offsets),
    Shot("concept-isr", (110, 30), isr),
    Shot("concept-epochs", (110, 30), epochs),
    Shot("concept-transactions", (110, 30), transactions, "exactly-once"),
)

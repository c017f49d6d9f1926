"""The mouse in tests: what Pilot has no word for."""

from textual.events import MouseDown, MouseMove, MouseScrollDown, MouseScrollUp, MouseUp


async def drag(driver, widget, *offsets, frames=None):
    """Press at the first offset, move through the others, let go at the last one."""
    pilot = driver.pilot
    await pilot._post_mouse_events([MouseDown], widget, offsets[0], button=1)
    for offset in offsets[1:]:
        await pilot._post_mouse_events([MouseMove], widget, offset, button=1)
        if frames:
            await driver.frames(frames)
    await pilot._post_mouse_events([MouseUp], widget, offsets[-1], button=1)
    await pilot.pause()


async def wheel(driver, widget, offset, steps, *, ctrl=False):
    """Turn the wheel: below nought upwards."""
    kind = MouseScrollDown if steps > 0 else MouseScrollUp
    for _ in range(abs(steps)):
        await driver.pilot._post_mouse_events([kind], widget, offset, control=ctrl)
    await driver.settle()


async def right_click(driver, widget, offset):
    """Press the right button."""
    await driver.pilot.click(widget, offset=offset, button=3)
    await driver.settle()

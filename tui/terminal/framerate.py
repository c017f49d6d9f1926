"""How often the screen is drawn."""

import os
from typing import Final

FRAME_S: Final = 1 / 15
"""Between frames: numbers that change faster cannot be read."""
SSH_FRAME_S: Final = 1 / 8
"""Over ssh, where every frame is traffic."""
AUTO: Final = "auto"


def frame_s(fps: str) -> float:
    """Seconds between frames as the settings want them, or as is fit for where the terminal is."""
    if fps != AUTO:
        return 1 / int(fps)
    return SSH_FRAME_S if os.environ.get("SSH_CONNECTION") else FRAME_S

"""How far a campaign is, in one line."""

from playbooks.campaign.runner import Standing


def standing_words(standing: Standing) -> str:
    """``40 of 200 runs, 8.1/s, 0:00:20 left: 3 found, 1 surprising``, and how much a storm has reached."""
    left = f", {_clock(standing.left_s)} left" if standing.left_s >= 0 else ""
    covered = f"; {standing.reached} of {standing.pairs} pairs of fault and state reached" if standing.pairs else ""
    return (
        f"{standing.done} of {standing.runs} runs, {standing.per_second:.1f}/s{left}: {standing.found} found, "
        f"{standing.surprising} surprising{covered}"
    )


def _clock(seconds: float) -> str:
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"

"""Storms: random schedules of faults that look where they strike, run by the thousand, and what they found."""

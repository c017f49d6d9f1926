"""What must come true in time once nothing disturbs it: one property a file, each an obligation that opens and closes.

Nothing here schedules: obligations are looked at when an event of the trace comes by and enough time has passed, so the
model's own events decide when something is noticed, and never how a session is advanced.
"""

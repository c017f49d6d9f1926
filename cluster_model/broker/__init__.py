"""Floor 2: leader and follower state machines, ISR, high watermark, truncation of every generation. Sans-IO.

``rules`` are pure functions with Kafka's arithmetic. ``replica`` is one replica with the log; while it leads it has a
``leadership``, while it follows a ``following``. ``broker`` puts many of them behind the messages of one process.
"""

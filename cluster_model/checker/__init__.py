"""Floor 4: the omniscient observer. Ledger of records, causes of their loss, invariants of the protocol.

It listens to every trace event and may look at everything; nothing in the model ever asks it.
"""

"""The coordinators that a broker hosts.

group: consumer groups of the classic and the consumer protocol.
transaction: transactions.

Their state is an internal topic. They build on broker and protocol and know neither clients nor control planes.
"""

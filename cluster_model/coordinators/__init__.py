"""The coordinators that a broker hosts.

group: consumer groups of the classic and the consumer protocol.
transaction: transactions.

The state of each is an internal topic. They build on broker and protocol, and are independent of clients and control
planes.
"""

"""Kafka itself as a yardstick: answers of its own classes, and runs of real brokers.

Whatever runs Kafka needs Maven and a JDK of version 17 or newer. Runs of real brokers also need Linux, root (network
namespaces, TUN devices) and util-linux: ``python -m tests.real_kafka run PLAYBOOK --kafka 4.1.2 --out DIR``.

kafka_jars     Kafka's own jars from Maven Central, in a cache
history        files of a run's evidence: clients' history, steps, metadata records
namespaces     network namespaces with one TUN device each
router         latency, bandwidth, loss and cuts between the nodes, in user space
settings       a playbook's settings as Kafka's configurations, and which cannot be run
processes      servers and the Java program of the clients (`java/`) as processes that are killed, ended and paused
metadata_view  leaders, epochs and ISRs from the metadata log, and the conditions that they answer
steps          which steps can be taken, why others cannot, and the nodes of their targets
real_cluster   brokers, controllers, clients and topics of one run
fault_board    faults and operations while a scenario runs
operations     operations of an administrator
scenario       steps at wall time, from the beginning to the end of settling
evidence       collection of logs and histories
run            one playbook from the command line to its evidence
conformance    scenarios on real brokers and on the model, compared
"""

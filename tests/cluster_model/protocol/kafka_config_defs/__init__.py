"""Defaults of Kafka's own ``ConfigDef`` objects, release by release, as ``defaults.json`` has them.

``python -m tests.cluster_model.protocol.kafka_config_defs JARS`` makes the file anew: it needs a JDK, and a folder with
one folder for each release, named by its version, that holds the jars of ``org.apache.kafka:kafka_2.13`` (2.11 or 2.12
before 2.5) and of all that it needs, as ``mvn dependency:copy-dependencies`` puts them there.
"""

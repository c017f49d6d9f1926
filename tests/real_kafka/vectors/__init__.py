"""Answers of Kafka's own classes, by release, as a yardstick of the model.

A subject (:mod:`tests.real_kafka.vectors.subject`) is one Java program in ``java/`` that asks classes of Kafka and
prints their answers, and a Python function that asks the model the same. ``make vectors`` runs the Java programs with
the jars of every release and writes ``data/SUBJECT.json``; the tests compare the model with these files and need no
Java. Subjects of clients are in ``clients/``, those of brokers and controllers in ``servers/``.
"""

__all__ = ["registry"]

"""Start and stop of Spark: Java, master, session, and remote file systems.

errors: ReportError (the caller can fix it), JobError (Spark failed), and descriptions of the JVM's exceptions.
jvm: finds a Java that Spark can run on, and the ahead-of-time cache files of that JVM.
master: checks a master URL before Spark does, connects to a Spark Connect server, and handles Ctrl-C.
session: the only place that starts and stops Spark; its working directories, and a monitor of missing executors.
by_value: runs functions of these modules on executors without floodmark.
hadoop_fs: paths on HDFS or an object store, read through Spark's Hadoop file systems.

It does not depend on recordings or tables, and imports PySpark only to start Spark.
"""

__all__ = [
    "by_value",
    "errors",
    "hadoop_fs",
    "jvm",
    "master",
    "session",
]

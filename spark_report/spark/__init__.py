"""Starting Spark and talking to it: which Java, which master, one session, and its end.

errors: ReportError (the caller can fix it) and JobError (Spark failed), and what the JVM's exceptions say.
jvm: finds a Java that Spark can run on, and the ahead-of-time cache files of that JVM.
master: checks a master URL before Spark does, connects to a Spark Connect server, and guards Ctrl-C meanwhile.
session: the only place that starts and stops Spark; its working directories, and a watch
  over missing executors.
by_value: runs functions of our modules on executors, that need no floodmark.
hadoop_fs: paths on HDFS or an object store, read through Spark's Hadoop file systems.

It knows no recordings and no tables, and imports PySpark only where Spark is started.
"""

__all__ = [
    "by_value",
    "errors",
    "hadoop_fs",
    "jvm",
    "master",
    "session",
]

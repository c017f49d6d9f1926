"""The entry file for ``spark-submit``: the same job, with Spark already decided by whoever submits.

::

    spark-submit --master spark://host:7077 spark_report/submit.py SESSION... [--out DIR] [--format LIST]

The driver's Python must have floodmark installed. That of executors needs pyarrow and numpy: the one Python function
they run, which counts anomalies again, is shipped to them.
"""

import sys

from spark_report.__main__ import main

if __name__ == "__main__":
    sys.exit(main())

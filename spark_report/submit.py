"""The entry file for ``spark-submit``: the same job, with Spark already decided by whoever submits.

::

    spark-submit --master spark://host:7077 spark_report/submit.py SESSION... [--out DIR] [--format LIST]

The driver's Python must have floodmark installed; executors need nothing but Spark, because the job has no Python
functions for them to run.
"""

import sys

from spark_report.__main__ import main

if __name__ == "__main__":
    sys.exit(main())

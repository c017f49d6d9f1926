"""Entry file for ``spark-submit``: the report job on the Spark that spark-submit starts.

::

    spark-submit --master spark://host:7077 spark_report/submit.py SESSION... [--out DIR] [--format LIST]

The driver's Python must have floodmark installed. The executors' Python needs pyarrow and numpy: the Python functions
that they run are sent to them.
"""

import sys

from spark_report.__main__ import main

if __name__ == "__main__":
    sys.exit(main())

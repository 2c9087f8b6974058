"""Apache Spark: the same releases from tables that live in a cluster.

Everything secret stays on the executors or comes to the driver as sums, and noise is drawn on the
driver by the one noise module: a task that runs twice, or an executor that is lost, draws nothing
and changes nothing.

    import discreet as dc
    import discreet.spark

    release = discreet.spark.fit(dc.Tally(items=items), frame, dc.PrivacySpec.column())
    discreet.spark.recommend(release, frame, n=10).write.parquet("lists")

Needs the extra `discreet[spark]` and Java; executors need Discreet installed as well.
"""

from discreet.spark.fit import fit
from discreet.spark.lists import recommend
from discreet.spark.session import open_session
from discreet.spark.table import SparkRatings, read_ratings, spark_ratings

__all__ = [
    "SparkRatings",
    "fit",
    "open_session",
    "read_ratings",
    "recommend",
    "spark_ratings",
]

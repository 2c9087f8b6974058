"""Apache Spark: the same releases from tables that live in a cluster.

Everything secret stays on the executors or comes to the driver as sums, and noise is drawn on the
driver by the one noise module: a task that runs twice, or an executor that is lost, draws nothing
and changes nothing.

    import discreet as dc
    import discreet.engines.spark

    release = discreet.engines.spark.fit(dc.Tally(items=items), frame, dc.PrivacySpec.column())
    discreet.engines.spark.recommend(release, frame, n=10).write.parquet("lists")

Needs the extra `discreet[spark]` and Java; executors need Discreet installed as well.
"""

from discreet.engines.spark.events import read_events, spark_events
from discreet.engines.spark.fit import fit
from discreet.engines.spark.lists import recommend
from discreet.engines.spark.ratings import SparkRatings, read_ratings, spark_ratings
from discreet.engines.spark.session import open_session

__all__ = [
    "SparkRatings",
    "fit",
    "open_session",
    "read_events",
    "read_ratings",
    "recommend",
    "spark_events",
    "spark_ratings",
]

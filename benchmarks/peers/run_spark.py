"""Spark MLlib: alternating least squares on local threads."""

import pandas as pd
from pyspark.ml.recommendation import ALS
from pyspark.sql import SparkSession
from task import FACTORS, THREADS, measure


class Spark:
    regularisations = (0.05,)

    def __init__(self):
        builder = SparkSession.builder.master(f"local[{THREADS}]").config(
            "spark.driver.memory", "8g"
        )
        self.session = builder.config("spark.ui.enabled", "false").getOrCreate()

    def prepare(self, split):
        frame = pd.DataFrame({"user": split.user, "item": split.item, "rating": split.rating})
        table = self.session.createDataFrame(frame).repartition(THREADS).cache()
        table.count()
        return table

    def fit(self, table, regularisation, epochs):
        return ALS(
            rank=FACTORS, maxIter=epochs, regParam=regularisation, numUserBlocks=THREADS,
            numItemBlocks=THREADS, seed=0,
        ).fit(table)  # fmt: skip

    def predict(self, model, user, item):
        frame = pd.DataFrame({"place": range(len(user)), "user": user, "item": item})
        scored = model.transform(self.session.createDataFrame(frame)).toPandas()
        return scored.sort_values("place")["prediction"].fillna(3.5).to_numpy()


if __name__ == "__main__":
    from importlib.metadata import version

    measure(Spark(), version("pyspark"))

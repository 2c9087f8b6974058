"""This library: PMF by alternating least squares."""

from dataclasses import replace

import polars as pl
from task import FACTORS, THREADS, measure

import discreet as dc


class Discreet:
    regularisations = (0.04, 0.05, 0.06, 0.07)

    def prepare(self, split):
        frame = pl.DataFrame({"user": split.user, "item": split.item, "rating": split.rating})
        return dc.Ratings.from_frame(frame)

    def fit(self, table, regularisation, epochs):
        # A new table each time: the second order of the records is built anew, and counted.
        fresh = replace(table)
        return dc.PMF(
            factors=FACTORS, lambda_u=regularisation, lambda_v=regularisation, sweeps=epochs,
        ).fit(fresh, seed=0, compute=dc.Compute(THREADS))  # fmt: skip

    def predict(self, model, user, item):
        return model.predict(user, item)

    def top_ten(self, model, table, users):
        return model.recommend(None if len(users) == len(table.users) else users, 10)


if __name__ == "__main__":
    measure(Discreet(), dc.__version__)

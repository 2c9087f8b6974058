"""cmfrec: biased matrix factorization by alternating least squares."""

import pandas as pd
from cmfrec import CMF
from task import FACTORS, THREADS, measure


class Cmfrec:
    regularisations = (5.0, 10.0, 20.0)

    def prepare(self, split):
        return pd.DataFrame({"UserId": split.user, "ItemId": split.item, "Rating": split.rating})

    def fit(self, table, regularisation, epochs):
        return CMF(
            k=FACTORS, lambda_=regularisation, niter=epochs, nthreads=THREADS, verbose=False
        ).fit(table)

    def predict(self, model, user, item):
        return model.predict(user, item)

    def top_ten(self, model, table, users):
        seen = dict(list(table.groupby("UserId")["ItemId"]))
        for user in users.tolist():
            model.topN(user, n=10, exclude=seen[user].to_numpy())


if __name__ == "__main__":
    from importlib.metadata import version

    measure(Cmfrec(), version("cmfrec"))

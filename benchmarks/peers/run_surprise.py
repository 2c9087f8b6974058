"""Surprise: biased matrix factorization by stochastic gradient descent, on one thread."""

import numpy as np
import pandas as pd
from surprise import SVD, Dataset, Reader
from task import FACTORS, measure


class Surprise:
    regularisations = (0.04, 0.06)

    def prepare(self, split):
        frame = pd.DataFrame({"user": split.user, "item": split.item, "rating": split.rating})
        return Dataset.load_from_df(frame, Reader(rating_scale=(1, 5))).build_full_trainset()

    def fit(self, table, regularisation, epochs):
        return SVD(
            n_factors=FACTORS, n_epochs=epochs, lr_all=0.01, reg_all=regularisation, random_state=0
        ).fit(table)

    def predict(self, model, user, item):
        pairs = zip(user.tolist(), item.tolist(), strict=True)
        return np.array([model.predict(u, i).est for u, i in pairs])

    def top_ten(self, model, table, users):
        items = [table.to_raw_iid(i) for i in table.all_items()]
        for user in users.tolist():
            seen = {table.to_raw_iid(i) for i, _ in table.ur[table.to_inner_uid(user)]}
            scores = [(model.predict(user, i).est, i) for i in items if i not in seen]
            sorted(scores, reverse=True)[:10]


if __name__ == "__main__":
    from importlib.metadata import version

    measure(Surprise(), version("scikit-surprise"))

"""implicit: alternating least squares for implicit feedback; it predicts no ratings."""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # as its documentation advises; it has threads of its own

from implicit.cpu.als import AlternatingLeastSquares
from scipy.sparse import csr_matrix
from task import FACTORS, THREADS, measure


class Implicit:
    regularisations = (0.05,)

    def prepare(self, split):
        shape = (split.users, split.items)
        return csr_matrix((split.rating, (split.user, split.item)), shape=shape)

    def fit(self, table, regularisation, epochs):
        model = AlternatingLeastSquares(
            factors=FACTORS, regularization=regularisation, iterations=epochs,
            num_threads=THREADS, random_state=0,
        )  # fmt: skip
        model.fit(table, show_progress=False)
        return model

    def top_ten(self, model, table, users):
        return model.recommend(users, table[users], N=10)


if __name__ == "__main__":
    from importlib.metadata import version

    measure(Implicit(), version("implicit"))

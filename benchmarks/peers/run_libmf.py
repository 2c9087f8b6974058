"""LIBMF: stochastic gradient descent on blocks."""

import numpy as np
from libmf import mf
from task import FACTORS, THREADS, measure


class Libmf:
    regularisations = (0.03, 0.05, 0.07, 0.1)

    def prepare(self, split):
        return np.column_stack([split.user, split.item, split.rating]).astype(np.float32)

    def fit(self, table, regularisation, epochs):
        model = mf.MF(
            fun=mf.P_L2_MFR, k=FACTORS, nr_threads=THREADS, nr_iters=epochs, eta=0.1, quiet=True,
            lambda_p1=0.0, lambda_q1=0.0, lambda_p2=regularisation, lambda_q2=regularisation,
        )  # fmt: skip
        model.fit(table)
        return model

    def predict(self, model, user, item):
        # Its own predict returns something else in the version from pip; this is LIBMF's rule.
        scores = np.einsum("kd,kd->k", model.p_factors()[user], model.q_factors()[item])
        return np.where(np.isfinite(scores), scores, model.model.b)


if __name__ == "__main__":
    from importlib.metadata import version

    measure(Libmf(), version("libmf"))

"""This library: PMF by stochastic gradient descent, as most peers do."""

from dataclasses import replace

from run_discreet import Discreet
from task import FACTORS, THREADS, measure

import discreet as dc


class Stochastic(Discreet):
    regularisations = (0.03, 0.04, 0.05)

    def fit(self, table, regularisation, epochs):
        return dc.PMF(
            factors=FACTORS, solver="sgd", lambda_u=regularisation, lambda_v=regularisation,
            passes=epochs,
        ).fit(replace(table), seed=0, compute=dc.Compute(THREADS))  # fmt: skip


if __name__ == "__main__":
    measure(Stochastic(), dc.__version__)

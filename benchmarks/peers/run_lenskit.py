"""LensKit: biased matrix factorization by alternating least squares."""

import numpy as np
import pandas as pd
from lenskit import batch
from lenskit.als import BiasedMFScorer
from lenskit.data import from_interactions_df
from lenskit.pipeline import topn_pipeline
from task import FACTORS, measure


class Lenskit:
    regularisations = (0.03, 0.05, 0.1, 0.2)

    def prepare(self, split):
        frame = pd.DataFrame({"user_id": split.user, "item_id": split.item, "rating": split.rating})
        return from_interactions_df(frame)

    def fit(self, table, regularisation, epochs):
        scorer = BiasedMFScorer(
            embedding_size=FACTORS, epochs=epochs, regularization=regularisation
        )
        scorer.train(table)
        return scorer

    def predict(self, model, user, item):
        # Its own prediction is one call a person; this is the same sum, for all pairs at once.
        rows = model.users.numbers(user, missing="negative")
        cols = model.items.numbers(item, missing="negative")
        bias = model.bias
        scores = bias.global_bias + bias.user_biases[rows] + bias.item_biases[cols]
        scores = np.asarray(scores)
        U, V = np.asarray(model.user_embeddings), np.asarray(model.item_embeddings)
        scores = scores + np.einsum("kd,kd->k", U[rows], V[cols])
        return np.where((rows >= 0) & (cols >= 0), scores, bias.global_bias)

    def top_ten(self, model, table, users):
        pipeline = topn_pipeline(model, n=10)
        pipeline.train(table)
        return batch.recommend(pipeline, users, 10, n_jobs=1)


if __name__ == "__main__":
    from importlib.metadata import version

    measure(Lenskit(), version("lenskit"))

"""Confusion matrices of annotators by few or many parameters: full, one coin, and spamming.

Every agent has a few probability vectors: a row of its confusion matrix per class (full; Dawid and Skene), right or
wrong (one coin), or knowing or spamming with a distribution of its own over the answers (spamming; MACE). A vector has
a Dirichlet prior that is common to all agents, and its estimate is the posterior mean given the expected counts. In the
softmax basis this is the posterior mode, so expectation-maximisation climbs the penalised likelihood

    log P(answers) + sum over agents of alpha · log(vector)

The parameters alpha maximise the marginal likelihood of the expected counts (empirical Bayes), with a weak hyperprior
that counts as one agent and favours correct answers; or they are a given number of answers of an average agent.

References: A. P. Dawid and A. M. Skene, Applied Statistics, 1979; D. Hovy et al., Learning whom to trust with MACE,
NAACL 2013; D. MacKay, Choice of basis for Laplace approximation, Machine Learning, 1998; T. Minka, Estimating a
Dirichlet distribution, 2000.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from concordant.types import Floats

TINY = 1e-10  # smallest probability, and smallest parameter of a prior
USUAL_RIGHT = 0.7  # of the answers, in the hyperprior
USUAL_STRENGTH = 2.0
SHARE_PRIOR = 1.0  # pseudo-items per class
PRIOR_STEPS = 50
PRIOR_CONVERGED = 3e-3  # relative change of a prior's parameter


@dataclass(frozen=True, eq=False)
class Probabilities:
    """Base of the codings: probability vectors by agent, their priors, and the class shares.

    Parameters are one vector: the logarithms of the probabilities, block by block, then those of the class shares.
    """

    n_agents: int
    n: int
    """The number of classes."""
    smoothing: float | None = None
    """Number of answers of an average agent that each vector gets; None: priors by marginal likelihood."""
    priors: tuple[Floats, ...] = ()

    # ---- what a coding adds ----
    @property
    def usual(self) -> tuple[Floats, ...]:
        """The hyperprior of each block: an array of vectors along the last axis."""
        raise NotImplementedError

    def sorted_counts(self, blocks: Sequence[Floats], counts: Floats) -> tuple[Floats, ...]:
        """Return the expected counts (agent x answer x class) by block, given the present vectors."""
        raise NotImplementedError

    def confusion(self, blocks: Sequence[Floats]) -> Floats:
        """Return the confusion matrices: agent x class x answer."""
        raise NotImplementedError

    # ---- for expectation-maximisation ----
    def blocks(self, psi: Floats) -> list[Floats]:
        """Return the vectors by block, then the class shares; each sums to 1."""
        parts, begin = [], 0
        for shape in [*((self.n_agents, *usual.shape) for usual in self.usual), (self.n,)]:
            logs = psi[begin : begin + int(np.prod(shape))].reshape(shape)
            begin += logs.size
            values = np.exp(logs - logs.max(axis=-1, keepdims=True, initial=-1e9))
            parts.append(np.maximum(values / values.sum(axis=-1, keepdims=True), TINY))
        return parts

    def start(self, counts: Floats, classes: Floats) -> Floats:
        """Return first parameters for expected counts and class totals."""
        first = [np.broadcast_to(usual / usual.sum(axis=-1, keepdims=True), (self.n_agents, *usual.shape))
                 for usual in self.usual]  # fmt: skip
        return self._estimates(self.sorted_counts(first, counts), classes)

    def update(self, psi: Floats, counts: Floats, classes: Floats) -> Floats:
        """Return the next parameters."""
        return self._estimates(self.sorted_counts(self.blocks(psi)[:-1], counts), classes)

    def _estimates(self, sorted_counts: Sequence[Floats], classes: Floats) -> Floats:
        means = [part + prior for part, prior in zip(sorted_counts, self.priors or self.usual, strict=True)]
        means.append(classes + (SHARE_PRIOR if self.smoothing is None else TINY))
        means = [np.maximum(mean / np.maximum(mean.sum(axis=-1, keepdims=True), TINY), TINY) for mean in means]
        return np.asarray(np.log(np.concatenate([mean.ravel() for mean in means])))

    def table(self, psi: Floats) -> Floats:
        """Return the log-probabilities of answers: agent x answer x class."""
        return np.ascontiguousarray(np.log(np.maximum(self.confusions(psi), TINY)).transpose(0, 2, 1))

    def log_share(self, psi: Floats) -> Floats:
        """Return the log-shares of the classes."""
        return np.log(self.shares(psi))

    def penalty(self, psi: Floats) -> float:
        """Return the logarithm of the priors, up to a constant."""
        *blocks, share = self.blocks(psi)
        value = float(np.log(share).sum()) * (SHARE_PRIOR if self.smoothing is None else 0.0)
        for block, prior in zip(blocks, self.priors or self.usual, strict=True):
            value += float((prior * np.log(block)).sum())
        return value

    # ---- results ----
    def shares(self, psi: Floats) -> Floats:
        """Return the class shares."""
        return self.blocks(psi)[-1]

    def confusions(self, psi: Floats) -> Floats:
        """Return the confusion matrices: agent x class x answer."""
        return self.confusion(self.blocks(psi)[:-1])

    def with_priors(self, psi: Floats, counts: Floats) -> Self:
        """Return the coding with priors that fit the expected counts."""
        sorted_counts = self.sorted_counts(self.blocks(psi)[:-1], counts)
        pairs = zip(sorted_counts, self.priors or self.usual, self.usual, strict=True)
        if self.smoothing is None:
            return replace(self, priors=tuple(fitted_prior(*pair) for pair in pairs))
        return replace(self, priors=tuple(self.smoothing * _pooled(part, usual) for part, _, usual in pairs))

    def posterior_parameters(self, psi: Floats, counts: Floats) -> tuple[Floats, ...]:
        """Return the Dirichlet parameters of the vectors by block, for intervals."""
        parts = self.sorted_counts(self.blocks(psi)[:-1], counts)
        return tuple(part + prior for part, prior in zip(parts, self.priors or self.usual, strict=True))


def _pooled(counts: Floats, usual: Floats) -> Floats:
    """Return the mean vectors of all agents."""
    total = counts.sum(axis=0) + 1e-9 * usual
    return np.asarray(total / total.sum(axis=-1, keepdims=True))


def fitted_prior(counts: Floats, prior: Floats, usual: Floats) -> Floats:
    """Return the Dirichlet parameters that maximise the marginal likelihood of counts (agents first), and a hyperprior.

    Minka's fixed-point steps: the hyperprior, with parameters ``usual``, counts as one agent.
    """
    from scipy.special import psi as digamma

    n = counts.sum(axis=-1, keepdims=True)
    for _ in range(PRIOR_STEPS):
        total = prior.sum(axis=-1, keepdims=True)
        up = (digamma(counts + prior) - digamma(prior)).sum(axis=0) * prior + usual
        down = (digamma(n + total) - digamma(total)).sum(axis=0) + 1.0
        new = np.maximum(up / down, TINY)
        change = np.abs(new - prior).max() / new.max()
        prior = new
        if change < PRIOR_CONVERGED:
            break
    return prior


class Full(Probabilities):
    """A row of the confusion matrix per class (Dawid and Skene)."""

    @property
    def usual(self) -> tuple[Floats, ...]:
        """The hyperprior of the rows."""
        wrong = (1 - USUAL_RIGHT) / max(self.n - 1, 1)
        return (USUAL_STRENGTH * (wrong + (USUAL_RIGHT - wrong) * np.eye(self.n)),)

    def sorted_counts(self, blocks: Sequence[Floats], counts: Floats) -> tuple[Floats, ...]:
        """Return the counts by class and answer."""
        return (counts.transpose(0, 2, 1),)

    def confusion(self, blocks: Sequence[Floats]) -> Floats:
        """Return the rows."""
        return blocks[0]


class OneCoin(Probabilities):
    """One probability of a correct answer per agent, at least that of guessing; all errors are equally likely."""

    @property
    def usual(self) -> tuple[Floats, ...]:
        """The hyperprior of right and wrong."""
        return (USUAL_STRENGTH * np.array([USUAL_RIGHT, 1 - USUAL_RIGHT]),)

    def sorted_counts(self, blocks: Sequence[Floats], counts: Floats) -> tuple[Floats, ...]:
        """Return the number of right and wrong answers."""
        right = np.einsum("akk->a", counts)
        return (np.stack([right, np.maximum(counts.sum(axis=(1, 2)) - right, 0.0)], axis=1),)

    def confusion(self, blocks: Sequence[Floats]) -> Floats:
        """Return matrices with one value on and one off the diagonal."""
        right = np.maximum(blocks[0][:, 0], 1 / self.n)[:, None, None]
        wrong = (1 - right) / max(self.n - 1, 1)
        return np.asarray(wrong + (right - wrong) * np.eye(self.n))


class Spamming(Probabilities):
    """An agent knows the class, or draws an answer from a strategy of its own (MACE)."""

    @property
    def usual(self) -> tuple[Floats, ...]:
        """The hyperpriors of knowing or spamming, and of strategies."""
        return USUAL_STRENGTH * np.array([USUAL_RIGHT, 1 - USUAL_RIGHT]), np.full(self.n, USUAL_STRENGTH / self.n)

    def sorted_counts(self, blocks: Sequence[Floats], counts: Floats) -> tuple[Floats, ...]:
        """Return the number of known and spammed answers, and the spammed ones by answer."""
        knows, strategy = blocks[0][:, :1], blocks[1]
        known = np.einsum("akk->ak", counts) * (knows / (knows + (1 - knows) * strategy))
        spam = np.maximum(counts.sum(axis=2) - known, 0.0)
        return np.stack([known.sum(axis=1), spam.sum(axis=1)], axis=1), spam

    def confusion(self, blocks: Sequence[Floats]) -> Floats:
        """Return the strategy on all rows, and knowing on the diagonal."""
        knows, strategy = blocks[0][:, 0], blocks[1]
        return np.asarray(((1 - knows)[:, None] * strategy)[:, None, :] + knows[:, None, None] * np.eye(self.n))

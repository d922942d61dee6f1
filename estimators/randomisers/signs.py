r"""Local randomisers of signs: randomised response, and the hypercube randomiser.

WX21: Theorem 1's problem needs one report of w = sign(y) x in {-1, 1}^p. See
`estimators.randomisers.vectors` for what these randomisers share with those of vectors on a sphere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from estimators.core.accounting import LedgerEntry
from estimators.core.checks import check_positive
from estimators.core.mechanisms import Release
from estimators.core.witness import shown
from estimators.randomisers.base import Array, checked_rows
from estimators.randomisers.vectors import Randomiser
from minimax.core.privacy import Pure


@dataclass(frozen=True)
class HypercubeRandomiser(Randomiser):
    r"""Reports on the corners of a cube, likely when they agree with the input's signs.

    **Algorithm.** Each coordinate of x, clipped to [-r, r], is rounded to +-r without bias, which
    gives signs w. The report is b z with z a sign vector, likely when the number of
    agreements K of z and w is at least k. Under the uniform law K is Binomial(p, 1/2);
    q = P(K >= k), M = E[(2K/p - 1) 1{K >= k}], b = r (q + kappa)/M.

    * ``cap="half"``: more than half agree, k = floor(p/2) + 1 (Duchi, Jordan and Wainwright, 2018).
      M = C(p-1, floor(p/2))/2^p; for odd p: b = r 2^{p-1}/C(p-1, (p-1)/2) (e^eps + 1)/(e^eps - 1).
    * ``cap="best"``: the k of least error.
    * p = 1: randomised response.

    **Departures from the paper.** For even p, drawing from {<z, w> >= 0} or {<z, w> <= 0} with
    probabilities e^eps/(1 + e^eps) and 1/(1 + e^eps) counts ties twice: a tie has
    density 1 + e^eps times the low one, which is **not** epsilon-LDP. Here ties are unlikely
    reports, which for them is best as they add to q and not to M.
    """

    cap: Literal["half", "best"] = "half"
    norm: ClassVar[str] = "linf"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cap not in ("half", "best"):
            raise ValueError(f"cap must be 'half' or 'best', got {self.cap!r}")

    @property
    def name(self) -> str:
        """As the ledger calls it."""
        return "randomised response" if self.p == 1 else "hypercube randomiser"

    @cached_property
    def agreements(self) -> int:
        """k, the least number of agreements within the likely set."""
        half = self.p // 2 + 1
        if self.cap == "half":
            return half
        mass, moment = self._tails
        kappa = 1 / math.expm1(self.epsilon)
        possible = slice(half, int(np.flatnonzero(moment > 1e-280)[-1]) + 1)
        return half + int(np.argmin((mass[possible] + kappa) / moment[possible]))

    @cached_property
    def _uniform(self) -> Array:
        """P(K = 0), ..., P(K = p) under the uniform law."""
        k = np.arange(self.p + 1)
        logs = special.loggamma(self.p + 1) - special.loggamma(k + 1)
        return np.asarray(np.exp(logs - special.loggamma(self.p - k + 1) - self.p * math.log(2)))

    @cached_property
    def _tails(self) -> tuple[Array, Array]:
        """q and M for every k."""
        k = np.arange(self.p + 1)
        moment = self._uniform * (2 * k / self.p - 1)
        return np.cumsum(self._uniform[::-1])[::-1], np.cumsum(moment[::-1])[::-1]

    @cached_property
    def mass(self) -> float:
        """q = P(K >= k)."""
        return float(self._tails[0][self.agreements])

    @cached_property
    def size(self) -> float:
        """b, the size of every coordinate of a report."""
        moment = float(self._tails[1][self.agreements])
        return self.radius * (self.mass + 1 / math.expm1(self.epsilon)) / moment

    @property
    def length(self) -> float:
        """b sqrt p."""
        return self.size * math.sqrt(self.p)

    def clip(self, X: ArrayLike) -> Array:
        """Coordinates clipped to [-r, r]."""
        return np.clip(checked_rows(X, self.p, "X"), -self.radius, self.radius)

    def _fill(self, reports: Array, X: Array, rng: np.random.Generator, scratch: Array) -> None:
        if np.all(np.abs(X, out=scratch) >= self.radius):
            plus = X > 0
        else:
            plus = 2 * rng.random(out=scratch) - 1 < self.clip(X) / self.radius
        if self.p == 1:  # an agreement is all that is likely
            agree = rng.random(len(X))[:, None] < self.likely
        else:
            agree = self._agreements(len(X), rng)
        np.multiply(plus == agree, 2 * self.size, out=reports)
        reports -= self.size

    def upper_chance(self, x: ArrayLike) -> Array:
        """That of the report +b for inputs of one coordinate, p = 1."""
        plus = (1 + np.clip(x, -self.radius, self.radius) / self.radius) / 2
        return np.asarray((1 - self.likely) + (2 * self.likely - 1) * plus)

    def _agreements(self, users: int, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Where the reports of some users agree with their signs."""
        # Uniform agreements are right if they lie on the side that was drawn; those that do not get
        # a new number of agreements from its law on that side, at random places.
        bits = rng.integers(0, 256, size=(users, -(-self.p // 8)), dtype=np.uint8)
        agree = np.unpackbits(bits, axis=1, count=self.p).view(np.bool_)
        likely = rng.random(users) < self.likely
        wrong = (np.count_nonzero(agree, axis=1) >= self.agreements) != likely
        count = np.empty(users, dtype=np.intp)
        for side, low, high in ((True, self.agreements, self.p + 1), (False, 0, self.agreements)):
            rows = np.flatnonzero(wrong & (likely == side))
            law = np.cumsum(self._uniform[low:high])
            place = np.searchsorted(law, law[-1] * rng.random(len(rows)), side="right")
            count[rows] = np.minimum(low + place, high - 1)
        agree[wrong] = rng.permuted(np.arange(self.p) < count[wrong, None], axis=1)
        return agree

    def _inside(self, reports: Array, x: Array) -> Array:
        share = self.clip(x[None])[0] / self.radius
        agree = 0.5 + np.sign(reports) * share / 2
        # The law of K, one coordinate at a time.
        law = np.zeros((len(reports), self.p + 1))
        law[:, 0] = 1.0
        for j in range(self.p):
            up = agree[:, j, None]
            law[:, 1:] = law[:, 1:] * (1 - up) + law[:, :-1] * up
            law[:, :1] *= 1 - up
        return np.asarray(np.minimum(law[:, self.agreements :].sum(axis=1), 1.0))


def randomised_response(
    signs: ArrayLike, *, epsilon: float, rng: np.random.Generator, about: str = ""
) -> Release[Array]:
    """Each user's sign, flipped with probability 1/(1 + e^epsilon): epsilon-LDP.

    Its mean is tanh(epsilon/2) times the sign; `HypercubeRandomiser` with p = 1 is this, unbiased.
    """
    check_positive(epsilon=epsilon)
    signs = np.asarray(signs, dtype=float)
    if not np.all(np.abs(signs) == 1):
        raise ValueError("signs must be -1 or 1")
    flipped = rng.random(signs.shape) < special.expit(-epsilon)
    guarantee = Pure(epsilon, scope="local")
    entry = LedgerEntry("randomised response", 1.0, "linf", 1.0, (guarantee,), about=about)
    return shown(signs, Release(np.where(flipped, -signs, signs), entry))

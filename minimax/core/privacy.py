"""Privacy definitions as values, and the conversions between them.

Each class is one definition under replacement of one record. They all answer the questions that a
proof or a mechanism asks: how likely can an event become (`tradeoff_log`), how far can the laws be
in KL (`kl`), what does a group of k records get (`group`), and what does it mean in another
definition (`to_...`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special

from minimax.core.closeness import (
    gaussian_hockey_stick,
    group_delta,
    kl_pure,
)
from minimax.core.conversions import (
    OUTWARD,
    gaussian_excess,
    gdp_budget,
    half_square,
    zcdp_budget,
    zcdp_epsilon,
)
from minimax.core.symbolic import exact_float

Scope = Literal["central", "local", "label"]
SCOPES: tuple[Scope, ...] = ("central", "local", "label")
Stated = TypeVar("Stated", bound="_Numbers")


def _letters(definition: Any) -> tuple[str, ...]:
    """The names of the numeric fields: those of the constructor but the scope."""
    return tuple(name for name in definition.__match_args__ if name != "scope")


class _Numbers:
    """Shared by the definitions: their numeric fields, checked and listed."""

    assumes: tuple[str, ...] = ()
    """What a guarantee rests on besides its mechanisms, in words: no part of its value."""

    def __post_init__(self) -> None:
        for name in _letters(type(self)):
            value = getattr(self, name)
            if type(value) is not float:
                if isinstance(value, bool) or not isinstance(value, Real):
                    raise TypeError(f"{name} must be a number, got {value!r}")
                value = float(value)
            if not value > 0 or math.isinf(value):
                raise ValueError(f"{name} must be positive and finite, got {value!r}")
            if name == "delta" and not value < 1:
                raise ValueError(f"delta must lie in (0, 1), got {value!r}")
            if name == "alpha" and not value > 1:
                raise ValueError(f"alpha must exceed 1, got {value!r}")
            object.__setattr__(self, name, value)
        if self.scope not in SCOPES:  # type: ignore[attr-defined]
            raise ValueError(f"scope must be one of {SCOPES}, got {self.scope!r}")  # type: ignore[attr-defined]

    @property
    def parameters(self) -> dict[str, float]:
        """The numbers of the definition, by the papers' letters."""
        return {name: getattr(self, name) for name in _letters(type(self))}

    def __str__(self) -> str:
        numbers = ", ".join(f"{name}={value:.4g}" for name, value in self.parameters.items())
        where = "" if self.scope == "central" else f"{self.scope} "  # type: ignore[attr-defined]
        return f"{where}{self.name}({numbers})"  # type: ignore[attr-defined]

    def assuming(self: Stated, *words: str) -> Stated:
        """The same guarantee, equal to this one, that says what more it rests on."""
        conditional = copy(self)
        object.__setattr__(conditional, "assumes", (*self.assumes, *words))
        return conditional


@dataclass(frozen=True)
class Pure(_Numbers):
    """epsilon-DP: P(S) <= e^epsilon Q(S)."""

    epsilon: float
    scope: Scope = "central"
    name: ClassVar[str] = "pure"
    __str__ = _Numbers.__str__

    def kl(self) -> float:
        return float(kl_pure(self.epsilon))

    def group(self, size: int) -> Pure:
        return Pure(self.epsilon * size, self.scope)

    def tradeoff_log(self, log_q: ArrayLike) -> NDArray[np.float64]:
        return _pure_tradeoff(np.asarray(log_q, dtype=float), self.epsilon, 0.0)

    def to_zcdp(self) -> ZeroConcentrated:
        """epsilon-DP implies (epsilon^2 / 2)-zCDP (Bun and Steinke, 2016)."""
        return ZeroConcentrated(half_square(self.epsilon), self.scope)

    def to_approximate(self, delta: float) -> Approximate:
        """The smallest epsilon' at this delta: 1 + e^eps' = (1 + e^eps)(1 - delta).

        The worst pair is randomised response, whose hockey-stick divergence at eps' is
        (e^eps - e^eps')/(1 + e^eps). Rounded upwards by more than the 10^-15 eps that may be wrong.
        """
        rest = math.exp(-self.epsilon)
        share = (1 - delta) - delta * rest  # e^(eps' - eps): no cancellation if eps' > 0
        shifted = 0.0
        if share > rest:
            lost = math.log(share) if share < 0.5 else math.log1p(-delta * (1 + rest))
            shifted = (self.epsilon + lost) * OUTWARD + 4e-15 * self.epsilon
        return Approximate(min(max(shifted, 1e-12), self.epsilon), delta, self.scope)


@dataclass(frozen=True)
class Approximate(_Numbers):
    """(epsilon, delta)-DP: P(S) <= e^epsilon Q(S) + delta."""

    epsilon: float
    delta: float
    scope: Scope = "central"
    name: ClassVar[str] = "approximate"
    __str__ = _Numbers.__str__

    def kl(self) -> float:
        return math.inf

    def group(self, size: int) -> Approximate:
        grown = float(group_delta(self.epsilon, self.delta, size))
        if not grown < 1:
            raise ValueError(f"size: a group of {size} has no guarantee left, its delta is 1")
        return Approximate(self.epsilon * size, grown, self.scope)

    def tradeoff_log(self, log_q: ArrayLike) -> NDArray[np.float64]:
        return _pure_tradeoff(np.asarray(log_q, dtype=float), self.epsilon, self.delta)

    def to_zcdp(self) -> ZeroConcentrated:
        """The largest rho-zCDP budget that stays within this (epsilon, delta)."""
        return ZeroConcentrated(zcdp_budget(self.epsilon, self.delta), self.scope)

    def to_gaussian(self) -> Gaussian:
        """The largest mu whose Gaussian mechanism is within this (epsilon, delta).

        This is the analytic Gaussian calibration of Balle and Wang (2018).
        """
        return Gaussian(gdp_budget(self.epsilon, self.delta), self.scope)


@dataclass(frozen=True)
class ZeroConcentrated(_Numbers):
    """rho-zCDP: the Renyi divergence of every order alpha > 1 is at most alpha * rho."""

    rho: float
    scope: Scope = "central"
    name: ClassVar[str] = "zCDP"
    __str__ = _Numbers.__str__

    def kl(self) -> float:
        return self.rho

    def group(self, size: int) -> ZeroConcentrated:
        return ZeroConcentrated(self.rho * size**2, self.scope)

    def tradeoff_log(self, log_q: ArrayLike) -> NDArray[np.float64]:
        """P(S) <= exp(-(sqrt(log 1/q) - sqrt rho)_+^2).

        Renyi: P(S) <= (e^{alpha rho} q)^{(alpha-1)/alpha}; the best alpha is sqrt(log(1/q)/rho).
        """
        root = np.sqrt(-np.minimum(np.asarray(log_q, dtype=float), 0.0))
        return np.asarray(np.exp(-(np.maximum(root - math.sqrt(self.rho), 0.0) ** 2)))

    def to_zcdp(self) -> ZeroConcentrated:
        return self

    def to_gaussian(self) -> Gaussian:
        """The largest mu whose Gaussian mechanism is within this budget: rho = mu^2/2."""
        return Gaussian(math.sqrt(2 * self.rho), self.scope)

    def to_approximate(self, delta: float) -> Approximate:
        """Best conversion through Renyi orders (Canonne, Kamath and Steinke, 2020)."""
        return Approximate(zcdp_epsilon(self.rho, delta), delta, self.scope)


@dataclass(frozen=True)
class OffsetConcentrated(_Numbers):
    """(kappa, rho)-zCDP: the Renyi divergence of every order alpha > 1 is <= kappa + alpha rho."""

    kappa: float
    rho: float
    scope: Scope = "central"
    name: ClassVar[str] = "zCDP"
    __str__ = _Numbers.__str__

    def kl(self) -> float:
        return self.kappa + self.rho

    def group(self, size: int) -> OffsetConcentrated:
        """(k H_k kappa, k^2 rho) for groups of k, H_k = 1 + ... + 1/k.

        Induction over k with the triangle inequality of Bun and Steinke (2016),
        D_a(P|Q) <= (ka/(ka-1)) D_{(ka-1)/(k-1)}(P|R) + D_{ka}(R|Q) and ka/(ka-1) <= k/(k-1).
        """
        harmonic = sum(1 / i for i in range(1, size + 1))
        return OffsetConcentrated(self.kappa * size * harmonic, self.rho * size**2, self.scope)

    def tradeoff_log(self, log_q: ArrayLike) -> NDArray[np.float64]:
        """As for zCDP, with e^kappa q in place of q."""
        shifted = np.asarray(log_q, dtype=float) + self.kappa
        return ZeroConcentrated(self.rho).tradeoff_log(shifted)


@dataclass(frozen=True)
class Gaussian(_Numbers):
    """mu-GDP: at least as hard to tell apart as N(0, 1) from N(mu, 1)."""

    mu: float
    scope: Scope = "central"
    name: ClassVar[str] = "GDP"
    __str__ = _Numbers.__str__

    def kl(self) -> float:
        return self.mu**2 / 2

    def group(self, size: int) -> Gaussian:
        return Gaussian(self.mu * size, self.scope)

    def tradeoff_log(self, log_q: ArrayLike) -> NDArray[np.float64]:
        quantile = special.ndtri_exp(np.minimum(np.asarray(log_q, dtype=float), 0.0))
        return np.asarray(special.ndtr(self.mu + quantile))

    def to_zcdp(self) -> ZeroConcentrated:
        return ZeroConcentrated(half_square(self.mu), self.scope)

    def to_gaussian(self) -> Gaussian:
        return self

    def delta(self, epsilon: float) -> float:
        """The exact delta at this epsilon."""
        return gaussian_hockey_stick(self.mu, epsilon)

    def to_approximate(self, delta: float) -> Approximate:
        """The exact epsilon at this delta, rounded upwards.

        H(epsilon) <= Phi(mu/2 - epsilon/mu) <= delta at mu^2/2 + mu sqrt(2 log(1/delta)).
        """
        if gaussian_excess(self.mu, 0.0, delta) <= 0:
            return Approximate(1e-12, delta, self.scope)
        enough = self.mu**2 / 2 + self.mu * math.sqrt(-2 * math.log(delta))
        epsilon = optimize.brentq(
            lambda e: gaussian_excess(self.mu, e, delta), 0.0, enough * OUTWARD, xtol=1e-300
        )
        return Approximate(max(float(epsilon) * OUTWARD, 1e-12), delta, self.scope)


@dataclass(frozen=True)
class Renyi(_Numbers):
    """(alpha, epsilon)-RDP: the Renyi divergence of order alpha is at most epsilon."""

    alpha: float
    epsilon: float
    scope: Scope = "central"
    name: ClassVar[str] = "RDP"
    __str__ = _Numbers.__str__

    def kl(self) -> float:
        return self.epsilon

    def group(self, size: int) -> Renyi:
        """Not tight in general: by the weak triangle inequality, for size a power of two.

        (alpha, eps)-RDP gives (alpha / 2^c, 3^c eps)-RDP for groups of 2^c when alpha >= 2^{c+1}
        (Mironov, 2017).
        """
        steps = math.log2(size)
        if steps != int(steps) or self.alpha < 2 ** (steps + 1):
            raise ValueError(f"size must be a power of two with 2*size <= alpha, got {size}")
        return Renyi(self.alpha / size, self.epsilon * 3**steps, self.scope)

    def tradeoff_log(self, log_q: ArrayLike) -> NDArray[np.float64]:
        """P(S) <= (e^epsilon q)^{(alpha - 1)/alpha}."""
        power = (self.alpha - 1) / self.alpha
        log_bound = (self.epsilon + np.asarray(log_q, dtype=float)) * power
        return np.asarray(np.exp(np.minimum(log_bound, 0.0)))


SpendablePrivacy: TypeAlias = Pure | Approximate | ZeroConcentrated | Gaussian
"""The kinds of `Privacy` to which noise is calibrated and in which mechanism calls add up. The two
others occur in lower bounds only."""

Privacy: TypeAlias = SpendablePrivacy | OffsetConcentrated | Renyi
"""A privacy definition with its numbers. All answer `scope` (who is trusted), `parameters`, `kl`,
`group` and `tradeoff_log`; ``type[Privacy]`` is a definition before it has numbers."""


def check_definition(model: object) -> None:
    """Raise unless it is a definition before it has numbers, saying what to give."""
    if isinstance(model, type) and issubclass(model, _Numbers):
        return
    if isinstance(model, _Numbers):
        raise TypeError(
            f"privacy must be the class {type(model).__name__} here, not {model!r}: its numbers are"
            " given to the bound's value"
        )
    raise TypeError(f"privacy must be one of {_known_kinds()}, got {model!r}")


def check_privacy(privacy: object) -> None:
    """Raise unless it is a definition with its numbers, saying what to give."""
    if isinstance(privacy, _Numbers):
        return
    if isinstance(privacy, type) and issubclass(privacy, _Numbers):
        numbers = ", ".join(f"{name}=..." for name in parameter_names(privacy))  # type: ignore[arg-type]
        raise TypeError(
            f"privacy must have its numbers: give {privacy.__name__}({numbers}), not the class"
        )
    raise TypeError(f"privacy must be one of {_known_kinds()} with numbers, got {privacy!r}")


def _known_kinds() -> str:
    return ", ".join(kind.__name__ for kind in get_args(Privacy))


def parameter_names(model: type[Privacy]) -> tuple[str, ...]:
    """The numbers of a definition, by name: what a point must hold to spell it."""
    check_definition(model)
    return _letters(model)


def at_point(model: type[Privacy], point: Mapping[str, float], scope: Scope = "central") -> Any:
    """The definition with its numbers taken from a point."""
    return model(**{name: exact_float(point[name]) for name in parameter_names(model)}, scope=scope)


def from_parameters(
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    mu: float | None = None,
    alpha: float | None = None,
    kappa: float | None = None,
    scope: Scope = "central",
    prefix: str = "",
) -> Privacy:
    """The definition that the given numbers spell: epsilon [delta or alpha], rho [kappa] or mu.

    In errors the names have the prefix.
    """
    numbers = {"epsilon": epsilon, "rho": rho, "mu": mu}
    partners = {"delta": delta, "alpha": alpha, "kappa": kappa}
    given = {name: value for name, value in (numbers | partners).items() if value is not None}
    _check_spelling([name for name in given if name in numbers], [*given], prefix)
    kinds = {frozenset(parameter_names(kind)): kind for kind in get_args(Privacy)}
    try:
        found: Privacy = kinds[frozenset(given)](**given, scope=scope)
    except (TypeError, ValueError) as error:  # which begin with the name
        raise type(error)(f"{prefix}{error}") from None
    return found


GOES_WITH = {"delta": "epsilon", "alpha": "epsilon", "kappa": "rho"}
"""Numbers that say nothing alone."""


def _check_spelling(chosen: list[str], given: list[str], prefix: str) -> None:
    """Raise unless the names spell one definition, saying which name lacks or contradicts which."""
    for name, partner in GOES_WITH.items():
        if name in given and not chosen:
            raise ValueError(f"{prefix}{name} needs {prefix}{partner} too")
    if len(chosen) != 1:
        raise ValueError(
            f"give exactly one of {prefix}epsilon (with or without {prefix}delta), {prefix}rho,"
            f" {prefix}mu; got {' and '.join(prefix + name for name in chosen) or 'none'}"
        )
    for name, partner in GOES_WITH.items():
        if name in given and chosen != [partner]:
            raise ValueError(
                f"{prefix}{name} goes with {prefix}{partner}, not with {prefix}{chosen[0]}"
            )
    if "alpha" in given and "delta" in given:
        raise ValueError(
            f"{prefix}alpha and {prefix}delta do not go together: {prefix}epsilon is that of one"
            " of them"
        )


def _pure_tradeoff(log_q: NDArray[np.float64], epsilon: float, delta: float) -> NDArray[np.float64]:
    direct = np.exp(np.minimum(log_q + epsilon, 0.0)) + delta
    complement = 1 - np.exp(-epsilon) * (-np.expm1(np.minimum(log_q, 0.0)) - delta)
    return np.clip(np.minimum(direct, complement), 0.0, 1.0)

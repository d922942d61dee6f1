"""Where noise is drawn: numpy's floating-point noise, or the exact samplers of OpenDP.

**Ordinary noise** is numpy's. Over the real numbers it has the stated law; as floats, value + noise
takes values that depend on the value, and a single release can give it away (Mironov, 2012;
`verify.privacy` shows it). It is for studies. With a seed its bits are those of numpy's generator;
without one they are ChaCha's with 20 rounds and a key of 256 bits from the operating system: from
any number of releases nobody computes the next noise, nor the last.

**Hardened noise**, ``noise="hardened"``, is for releases. Laplace and Gaussian noise is OpenDP's: a
discrete law on the lattice of all floats, drawn from random bits of the operating system without
rounding, the sum rounded once at the end, which is post-processing. For whole numbers it is the
discrete Laplace or Gaussian law. Selections are OpenDP's noisy top-k: the exponential mechanism
(Gumbel noise) where that is asked for, and permute-and-flip, with the same guarantee at the same
scale, in the place of the noisy maximum with Laplace noise. What has no exact sampler there (K-norm
noise, sparse vectors, sketches, local randomisers) is refused. Sums and products before the noise
are floating-point arithmetic: their rounding is not covered.
"""

from __future__ import annotations

import inspect
import secrets
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, Literal, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Noise = Literal["ordinary", "hardened"]
NOISES = ("ordinary", "hardened")
SELECTIONS = {"gumbel": "zero_concentrated_divergence", "permute and flip": "max_divergence"}
"""Laws of a selection, by what OpenDP calls the privacy that it is best for."""
F = TypeVar("F", bound=Callable[..., Any])


def system_bits() -> np.random.BitGenerator:
    """A cryptographic stream of bits (ChaCha20) with a fresh key of the operating system."""
    from randomgen import ChaCha  # needed for releases alone

    found: np.random.BitGenerator = ChaCha(key=secrets.randbits(256), rounds=20)
    return found


class NotHardened(ValueError):
    """A fit asks for noise that has no exact sampler."""


class Hardened(np.random.Generator):
    """A source of exact noise in the place of a generator, from which nothing else can be drawn.

    `permutation`, which splits records and is no noise, is numpy's, from the operating system.
    """

    def __init__(self) -> None:
        opendp()
        super().__init__(system_bits())

    def add(self, kind: Literal["laplace", "gaussian"], value: Any, scale: float) -> Any:
        """The value, a number or an array, with noise on each coordinate."""
        numbers = np.asarray(value)
        whole = numbers.dtype.kind in "iub"
        drawn = _added(kind, float(scale), whole)(numbers.ravel().tolist())
        return np.asarray(drawn, dtype=float).reshape(numbers.shape)[()]

    def top(self, scores: Array, k: int, scale: float, law: str) -> NDArray[np.intp]:
        """k indices, best first."""
        chosen = _selected(int(k), float(scale), law)(np.asarray(scores, dtype=float).tolist())
        return np.asarray(chosen, dtype=np.intp)


def _refused(name: str) -> Callable[..., NoReturn]:
    def draw(self: Hardened, *args: Any, **options: Any) -> NoReturn:
        raise NotHardened(
            f"noise='hardened' has no exact sampler for what this fit draws ({name}): it has"
            " Laplace, Gaussian and top-k noise alone; choose other options or another kind of"
            " budget, or noise='ordinary' for a study"
        )

    return draw


for _name in dir(np.random.Generator):
    if not _name.startswith("_") and _name not in ("permutation", "bit_generator"):
        setattr(Hardened, _name, _refused(_name))


@lru_cache(maxsize=1)
def opendp() -> Any:
    """OpenDP, or an error that says how to get it."""
    try:
        import opendp.prelude as found
    except ImportError:
        raise ImportError(
            "noise='hardened' needs OpenDP: pip install 'tracebound[release]'"
        ) from None
    found.enable_features("contrib")
    return found


@lru_cache(maxsize=256)
def _added(kind: str, scale: float, whole: bool) -> Any:
    """OpenDP's measurement: noise on a vector of floats, or of whole numbers."""
    dp = opendp()
    atom = dp.atom_domain(T="i64") if whole else dp.atom_domain(T=float, nan=False)
    metric = dp.l1_distance(T=float) if kind == "laplace" else dp.l2_distance(T=float)
    if whole:
        metric = dp.l1_distance(T="i64") if kind == "laplace" else dp.l2_distance(T=float)
    make = dp.m.make_laplace if kind == "laplace" else dp.m.make_gaussian
    return make(dp.vector_domain(atom), metric, scale=scale)


@lru_cache(maxsize=256)
def _selected(k: int, scale: float, law: str) -> Any:
    dp = opendp()
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.linf_distance(T=float)
    return dp.m.make_noisy_top_k(*space, getattr(dp, SELECTIONS[law])(), k=k, scale=scale)


def opendp_loss(kind: str, scale: float, sensitivity: float, k: int = 1) -> float:
    """What OpenDP's own privacy map says: epsilon of Laplace noise and of permute-and-flip, rho of
    Gaussian noise and of the exponential mechanism."""
    measured = _added(kind, scale, False) if kind in ADDED else _selected(k, scale, kind)
    return float(measured.map(sensitivity))


ADDED = ("laplace", "gaussian")


# --- What mechanisms draw -------------------------------------------------------------------------


def with_laplace(value: Any, scale: float, rng: np.random.Generator) -> Any:
    """value + Laplace(scale) on each coordinate."""
    if isinstance(rng, Hardened):
        return rng.add("laplace", value, scale)
    return value + rng.laplace(scale=scale, size=np.shape(value))


def with_gaussian(value: Any, scale: float, rng: np.random.Generator) -> Any:
    """value + N(0, scale^2) on each coordinate."""
    if isinstance(rng, Hardened):
        return rng.add("gaussian", value, scale)
    return value + scale * rng.standard_normal(np.shape(value))


def noisy_winner(scores: Array, scale: float, rng: np.random.Generator) -> int:
    """argmax of scores + Laplace(scale), of those that are not -infinity; hardened:
    permute-and-flip of the same scale."""
    if isinstance(rng, Hardened):
        left = np.flatnonzero(scores > -np.inf)
        return int(left[rng.top(scores[left], 1, scale, "permute and flip")[0]])
    noisy = rng.laplace(scale=scale, size=len(scores))
    noisy += scores
    return int(np.argmax(noisy))


def gumbel_top(scores: Array, k: int, scale: float, rng: np.random.Generator) -> NDArray[np.intp]:
    """The k indices of largest scores + Gumbel(scale), best first."""
    if isinstance(rng, Hardened):
        return rng.top(scores, k, scale, "gumbel")
    noisy = rng.gumbel(scale=scale, size=len(scores))
    noisy += scores
    top = np.argpartition(noisy, len(scores) - k)[len(scores) - k :]
    return np.asarray(top[np.argsort(-noisy[top])])


# --- The option of estimators ---------------------------------------------------------------------


def noise_source(noise: object, random_state: object) -> Hardened | None:
    """The source that `noise` asks for; None: an ordinary generator."""
    if noise not in NOISES:
        raise ValueError(f"noise must be one of {', '.join(map(repr, NOISES))}; got {noise!r}")
    if isinstance(random_state, Hardened):  # of the estimator that fits this one
        return random_state
    if noise == "ordinary":
        return None
    if random_state is not None:
        raise ValueError(
            "random_state must be None with noise='hardened': a release whose noise can be drawn"
            " again is none"
        )
    return Hardened()


def with_noise_option(init: F) -> F:
    """The same constructor with a keyword `noise`, which it stores."""
    signature = inspect.signature(init)
    if "noise" in signature.parameters:
        return init

    @wraps(init)
    def constructed(self: Any, *args: Any, noise: Noise = "ordinary", **options: Any) -> None:
        init(self, *args, **options)
        self.noise = noise

    option = inspect.Parameter("noise", inspect.Parameter.KEYWORD_ONLY, default="ordinary")
    every = [*signature.parameters.values(), option]
    constructed.__signature__ = signature.replace(parameters=every)  # type: ignore[attr-defined]
    return constructed  # type: ignore[return-value]

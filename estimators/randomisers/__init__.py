"""Local randomisers: what a user sends instead of a record, a sign vector or a label."""

from estimators.randomisers.base import VectorRandomiser, mean_of_reports
from estimators.randomisers.signs import HypercubeRandomiser
from estimators.randomisers.vectors import SphereRandomiser, privunit
from estimators.randomisers.zcdp_privunit import GaussianRandomiser, SoftCapRandomiser

__all__ = [
    "GaussianRandomiser",
    "HypercubeRandomiser",
    "SoftCapRandomiser",
    "SphereRandomiser",
    "VectorRandomiser",
    "mean_of_reports",
    "privunit",
]

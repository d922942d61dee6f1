"""The companion served on this machine alone, with the values of the Python calculator."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

from minimax.calculator import bound_row
from minimax.catalogue import PROBLEMS
from minimax.core.bound import COUNTS, Bound, Point
from minimax.core.privacy import Privacy, from_parameters
from minimax.core.problem import Problem
from minimax.plan import LARGEST_N, plan

LOOPBACK = "127.0.0.1"
BUDGET = ("epsilon", "delta", "rho", "mu")
Answer = dict[str, object]


class PortTaken(ValueError):
    """A port that cannot be listened on, in a sentence."""


class Question(NamedTuple):
    """What a page asks about."""

    problem: Problem
    privacy: Privacy
    risk: float
    """The target."""


def question(asked: Mapping[str, str]) -> Question:
    """What the parts of an address ask; raises ValueError, in words, where they ask nothing."""
    problem = PROBLEMS.get(asked.get("problem", ""))
    if problem is None:
        raise ValueError(f"problem must be one of {', '.join(PROBLEMS)}")
    numbers = {name: _number(name, text) for name, text in asked.items() if name != "problem"}
    missing = [name for name, needed in {**problem.parameters(), "risk": True}.items() if needed]
    missing = [name for name in missing if name not in numbers]
    if missing:
        raise ValueError(f"missing {', '.join(missing)}")
    risk = numbers.pop("risk")
    at = problem.at({name: value for name, value in numbers.items() if name not in BUDGET})
    epsilon, delta, rho, mu = map(numbers.get, BUDGET)
    privacy = from_parameters(epsilon=epsilon, delta=delta, rho=rho, mu=mu, scope=problem.scope)
    return Question(at, privacy, risk)


def bounds_at(asked: Question) -> Answer:
    """Every bound at the point, and the best of either side."""
    at, privacy, _ = asked
    point = {**at.point, **privacy.parameters}
    bounds = (*at.lower(type(privacy)), *at.upper(privacy))
    best = at.best_upper(privacy)
    return {
        "values": {f"{bound.side}: {bound.name}": _parts(bound, point) for bound in bounds},
        "lower": at.best_lower(privacy).risk,
        "upper": best.risk,
        "upper_by": str(best),
        "estimator": best.estimator,
    }


def records_for(asked: Question) -> Answer:
    """How many records the risk needs, and how many are proved to be enough."""
    found = plan(asked.problem, asked.privacy, asked.risk)
    return {
        "possible": found.impossible_below,
        "possible_by": found.by,
        "proven": found.enough_at,
        "proven_by": found.with_estimator,
    }


def sides_at(asked: Question) -> Answer:
    """A point of each curve: the best lower bound, that of statistics alone, the best upper."""
    at, privacy, _ = asked
    lower, statistics = at.best_lower(privacy).risk, 0.0
    for bound in at.comparable_lower(type(privacy)):
        if not set(bound.parameters) & set(privacy.parameters):
            statistics = max(statistics, bound_row(bound, at.point).total or 0.0)
    parts = {"statistics": statistics, "privacy": lower - statistics}
    return {"lower": lower, **parts, "upper": at.best_upper(privacy).risk}


ANSWERS: dict[str, Callable[[Question], Answer]] = {
    "/api/bounds": bounds_at,
    "/api/plan": records_for,
    "/api/sides": sides_at,
}


def answer(path: str, asked: Mapping[str, str]) -> Answer:
    """What is answered at an address of the calculator: an error is told in words."""
    try:
        return ANSWERS[path](question(asked))
    except (ValueError, TypeError, KeyError, ArithmeticError) as error:
        return {"error": str(error)}


def _parts(bound: Bound, point: Point) -> tuple[float | None, float | None, float | None]:
    """Statistics, privacy and their sum; nothing outside its regime."""
    row = bound_row(bound, point)
    return row.statistical, row.privacy, row.total


def _number(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"{name} must be a number, got {text!r}") from None
    if not 0 < value <= LARGEST_N:
        raise ValueError(f"{name} must be positive and at most {LARGEST_N:g}, got {text}")
    if name in COUNTS and not value.is_integer():
        raise ValueError(f"{name} must be a whole number, got {text}")
    return int(value) if name in COUNTS else value


class Handler(SimpleHTTPRequestHandler):
    """The files of the site, and the answers of the calculator."""

    def do_GET(self) -> None:
        """A file, or an answer."""
        asked = urlsplit(self.path)
        if asked.path in ANSWERS:
            told = answer(asked.path, dict(parse_qsl(asked.query)))
            self._send(HTTPStatus.OK, "application/json", json.dumps(told))
        elif asked.path == "/static/served.js":
            self._send(HTTPStatus.OK, "text/javascript", "COMPANION.served = true;\n")
        else:
            super().do_GET()

    def _send(self, status: HTTPStatus, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is logged: a page asks often."""


def server(folder: Path, port: int) -> ThreadingHTTPServer:
    """A server of a folder on the loopback address."""
    try:
        return ThreadingHTTPServer((LOOPBACK, port), partial(Handler, directory=str(folder)))
    except OSError as error:
        raise PortTaken(f"cannot listen on port {port}: {error.strerror}") from None

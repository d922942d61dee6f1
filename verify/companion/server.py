"""The companion served on this machine alone, with the values of the Python calculator."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from minimax.calculator import Row, rows, upper_rows
from minimax.catalogue import PROBLEMS
from minimax.core.bound import COUNTS
from minimax.core.privacy import from_parameters
from minimax.plan import LARGEST_N, plan

LOOPBACK = "127.0.0.1"
BUDGET = ("epsilon", "delta", "rho", "mu")


class PortTaken(ValueError):
    """A port that cannot be listened on, in a sentence."""


def answer(asked: Mapping[str, str]) -> dict[str, object]:
    """The bounds at a point, and how many records a risk needs."""
    problem = PROBLEMS.get(asked.get("problem", ""))
    if problem is None:
        raise ValueError(f"problem must be one of {', '.join(PROBLEMS)}")
    numbers = {name: _number(name, text) for name, text in asked.items() if name != "problem"}
    risk = numbers.pop("risk")
    given = {name: value for name, value in numbers.items() if name not in BUDGET}
    at = problem.at(given)
    epsilon, delta, rho, mu = map(numbers.get, BUDGET)
    privacy = from_parameters(epsilon=epsilon, delta=delta, rho=rho, mu=mu, scope=problem.scope)
    values = {f"lower: {row.name}": _parts(row) for row in rows(at, privacy)}
    values |= {f"upper: {row.name}": _parts(row) for row in upper_rows(at, privacy)[1:]}
    found = plan(at, privacy, risk)
    return {
        "values": values,
        "lower": at.best_lower(privacy).risk,
        "upper": at.best_upper(privacy).risk,
        "impossible_below": found.impossible_below,
        "enough_at": found.enough_at,
        "with_estimator": found.with_estimator,
    }


def _parts(row: Row) -> tuple[float | None, float | None, float | None]:
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
        if asked.path == "/api/bounds":
            self._answer(dict(parse_qsl(asked.query)))
        elif asked.path == "/static/served.js":
            self._send(HTTPStatus.OK, "text/javascript", "COMPANION.served = true;\n")
        else:
            super().do_GET()

    def _answer(self, asked: Mapping[str, str]) -> None:
        try:
            told = answer(asked)
        except (ValueError, TypeError, KeyError, ArithmeticError) as error:
            told = {"error": str(error)}
        self._send(HTTPStatus.OK, "application/json", json.dumps(told))

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

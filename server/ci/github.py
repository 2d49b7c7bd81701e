"""GitHub's REST API, as much of it as comments and pull requests need: each refusal is one line with what to do.

A limit of rate is waited for where that takes no longer than a minute; a server that fails is asked three times.
"""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from hipscope.analysis.errors import HipscopeError

_SECONDS = 30.0
_TRIES = 3
_LONGEST_WAIT = 60.0
_PAGE = 100
_MOST_PAGES = 30
_WHAT_TO_DO = {
    401: "the token is wrong or has expired: give the action `token: ${{ github.token }}`",
    403: "the token may not do that: the job needs `permissions: {pull-requests: write, contents: write}`",
    404: "it is not there, or the token may not see it: check the repository and the job's `permissions`",
    422: "GitHub takes the request for wrong",
}


class GitHubRefused(HipscopeError):
    """GitHub did not do what it was asked for; `status` is 0 where it was not reached."""

    def __init__(self, status: int, message: str, hint: str | None) -> None:
        super().__init__(message, hint)
        self.status = status


@dataclass(frozen=True)
class GitHub:
    """The API of one server for one token, which no text form shows. `sleep` waits."""

    api: str
    token: str = field(repr=False)
    sleep: Callable[[float], None] = time.sleep

    def call(self, method: str, path: str, body: object = None) -> Any:
        """What the API answers to a request. Raises GitHubRefused."""
        for last in (*[False] * (_TRIES - 1), True):
            try:
                return self._once(method, path, body)
            except urllib.error.HTTPError as error:
                with error:
                    said = _said(error)
                    wait = _wait(error)
                if wait is None or wait > _LONGEST_WAIT or last:
                    raise _refusal(method, path, error.code, said, wait) from None
                self.sleep(wait)
            except (OSError, http.client.HTTPException, ValueError) as error:
                if last:
                    reason = getattr(error, "reason", error)
                    raise GitHubRefused(0, f"GitHub cannot be reached: {reason}", None) from None
                self.sleep(1.0)
        raise AssertionError("unreachable")

    def all(self, path: str) -> Iterator[Any]:
        """The entries of all pages of a list. Raises GitHubRefused."""
        for page in range(1, _MOST_PAGES + 1):
            entries = self.call("GET", f"{path}?per_page={_PAGE}&page={page}")
            if not isinstance(entries, list):
                raise GitHubRefused(0, f"GET {path}: GitHub's answer is no list", None)
            yield from entries
            if len(entries) < _PAGE:
                return

    def _once(self, method: str, path: str, body: object) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(  # the address is the workflow's
            self.api.rstrip("/") + path,
            data,
            {
                "Authorization": f"Bearer {self.token}",
                "Accept": "application/vnd.github+json",
                "X-GitHub-Api-Version": "2022-11-28",
                "User-Agent": "hipscope",
                "Content-Type": "application/json",
            },
            method=method,
        )
        with _OPENER.open(request, timeout=_SECONDS) as answer:
            text = answer.read()
        return json.loads(text) if text else None


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A token goes to the address of the API only."""

    def redirect_request(self, *_given: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirect)


def _wait(error: urllib.error.HTTPError) -> float | None:
    """Seconds after which the same request may be made again; None for one that stays refused."""
    headers = error.headers
    if error.code in (403, 429):
        if (after := headers.get("Retry-After")) is not None and after.isdecimal():
            return float(after)
        if headers.get("X-RateLimit-Remaining") == "0":
            reset = headers.get("X-RateLimit-Reset", "")
            return max(0.0, float(reset) - time.time()) + 1 if reset.isdecimal() else _LONGEST_WAIT
        return 1.0 if error.code == 429 else None
    return 1.0 if error.code >= 500 else None


def _said(error: urllib.error.HTTPError) -> str:
    try:
        body = json.loads(error.read(1 << 16))
    except (OSError, ValueError):
        return ""
    if not isinstance(body, dict):
        return ""
    errors = body.get("errors")
    more = [str(e.get("message") or e.get("code")) for e in errors or () if isinstance(e, dict)]
    text = "; ".join([str(body.get("message", "")), *more])
    return "".join(c if c.isprintable() else " " for c in text)[:300]


def _refusal(method: str, path: str, status: int, said: str, wait: float | None) -> GitHubRefused:
    message = f"GitHub refused {method} {path} with {status}" + (f": {said}" if said else "")
    if wait is not None and status in (403, 429):
        return GitHubRefused(
            status, message, f"its limit of requests ends in {wait:.0f} s: run the job again then"
        )
    return GitHubRefused(status, message, _WHAT_TO_DO.get(status))

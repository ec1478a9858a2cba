"""When a request is sent again: an answer 429 or 503 is waited for as `Retry-After` says, and a request whose
repetition changes nothing is sent again after a broken connection."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

import httpx

from .errors import retry_after_of

FIRST_PAUSE_SEC = 0.25
PAUSE_SEC_MAX = 8.0
# "Later": the limit of requests, and an overload or a proxy without a service behind it.
LATER = (429, 502, 503, 504)
# A gateway may have passed the request on.
NOT_DONE = (429, 503)
# Equal submissions are one job, and these ends are the same however often they are asked for.
REPEATABLE_POST = re.compile(r"/api/jobs(/batch)?$|/cancel$|/complete$")


@dataclass(frozen=True)
class RetryOptions:
    """Bounds of the repetition of a request."""

    attempts: int = 5
    """Requests in all, the first one included."""
    wait_sec_max: float = 120
    """Seconds that all waits of a request may take together."""

    def pause_after(
        self, outcome: httpx.Response | Exception, request: tuple[str, str], attempt: int, waited_sec: float
    ) -> float | None:
        """Seconds until a request (method and path) is sent again; None when it is not."""
        method, path = request
        is_repeatable = method != "POST" or REPEATABLE_POST.search(path) is not None
        asked = None
        if isinstance(outcome, httpx.Response):
            status = outcome.status_code
            if status not in LATER or (status not in NOT_DONE and not is_repeatable):
                return None
            asked = retry_after_of(outcome)
        elif not is_repeatable:
            return None
        pause = pause_of(attempt) if asked is None else asked
        is_allowed = attempt < self.attempts and waited_sec + pause <= self.wait_sec_max
        return pause if is_allowed else None


def pause_of(attempt: int) -> float:
    """Half to all of a doubling pause."""
    return min(PAUSE_SEC_MAX, FIRST_PAUSE_SEC * 2.0 ** (attempt - 1)) * random.uniform(0.5, 1)

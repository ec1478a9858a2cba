"""What is known of a job while it is followed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NoReturn

from .errors import ReelwrightError, unreachable
from .models import Job

# The service sends something every 15 s; when nothing comes, a proxy holds it back.
SILENCE_SEC_MAX = 20.0
POLL_SEC = 2.0
POLL_SEC_MAX = 30.0
# Streams that ended without an event after which the job is polled.
FRUITLESS_MAX = 2
# As a job on the wire.
FINAL = ("completed", "failed", "cancelled")


class Watch:
    """The latest state of a job, and the bounds of the wait for it."""

    def __init__(
        self, on_progress: Callable[[Job], None] | None, timeout_sec: float | None, outage_sec_max: float
    ) -> None:
        self.job: Job | None = None
        self.last_event_id = ""
        self._on_progress = on_progress
        self._timeout_sec = timeout_sec
        self._outage_sec_max = outage_sec_max
        self._began_at = self._answered_at = time.monotonic()

    def answered(self) -> None:
        """Notes a sign of life. Raises when the time has run out."""
        self._answered_at = time.monotonic()
        self.remaining_sec(0)

    def show(self, job: Job) -> bool:
        """Whether the job has ended."""
        known, self.job = self.job, job
        if known is None or (known["updated_at"], known["status"]) != (job["updated_at"], job["status"]):
            if self._on_progress is not None:
                self._on_progress(job)
        return job["status"] in FINAL

    def failed(self, address: str, cause: Exception) -> None:
        """Raises when the cause does not pass by itself, or the service has not answered for too long."""
        self.remaining_sec(0)
        if isinstance(cause, ReelwrightError) and 300 <= cause.status < 500 and cause.status != 429:
            raise cause
        if time.monotonic() - self._answered_at < self._outage_sec_max:
            return
        raise cause if isinstance(cause, ReelwrightError) else unreachable(address, cause)

    def remaining_sec(self, wanted_sec: float) -> float:
        """The wanted seconds, or what is left of the time. Raises when nothing is."""
        if self._timeout_sec is None:
            return wanted_sec
        left = self._began_at + self._timeout_sec - time.monotonic()
        if left <= 0:
            self._give_up()
        return min(wanted_sec, left)

    def _give_up(self) -> NoReturn:
        status = self.job["status"] if self.job else "unknown"
        raise ReelwrightError("timeout", f"the job is {status} after {self._timeout_sec:g} s")

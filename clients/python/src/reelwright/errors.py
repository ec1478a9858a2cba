"""What the client raises."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

from ._advice import ADVICE
from .models import Job, ProblemError


class ReelwrightError(Exception):
    """A refused request, or a service that cannot be reached.

    `code` is one of the API's, or one of this client: `unreachable`, `unexpected_answer`, `timeout`,
    `invalid_request`, `invalid_signature`.
    """

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        status: int = 0,
        errors: Sequence[ProblemError] = (),
        trace_id: str | None = None,
        retry_after_sec: float | None = None,
    ) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail
        self.status = status
        """The status of the answer; 0 where no request was refused."""
        self.errors = list(errors)
        """Every fault of a refused request, with the field as a JSON Pointer."""
        self.trace_id = trace_id
        """Names the request in the log of the service."""
        self.retry_after_sec = retry_after_sec
        """Seconds after which the service asks to be asked again."""

    @property
    def advice(self) -> str:
        """What to do about it."""
        return ADVICE.get(self.code, "Look up the trace id in the log of the service.")


class JobEndedError(ReelwrightError):
    """A job that was waited for has failed or was cancelled; `code` is its error's."""

    def __init__(self, job: Job) -> None:
        error = job["error"]
        code = error["code"] if error else job["status"]
        message = error["message"] if error else f"it is {job['status']}"
        super().__init__(code, f"job {job['job_id']}: {message}")
        self.job = job

    @property
    def is_retryable(self) -> bool:
        """Whether `retry` may end differently with the same source."""
        error = self.job["error"]
        return error is not None and error["retryable"]


def error_of(response: httpx.Response) -> ReelwrightError:
    """The error that an answer with a status of 400 or more, whose body was read, stands for."""
    problem: Any = None
    try:
        problem = response.json()
    except ValueError:
        pass
    status, retry_after_sec = response.status_code, retry_after_of(response)
    if isinstance(problem, dict) and isinstance(problem.get("code"), str):
        detail = _wrong_base(str(response.url)) if problem["code"] == "not_found" else None
        return error_of_problem(problem if detail is None else {**problem, "detail": detail}, status, retry_after_sec)
    detail = f"{response.url} answered {status} without a problem document"
    trace_id = response.headers.get("x-trace-id")
    return ReelwrightError(
        "unexpected_answer", detail, status=status, trace_id=trace_id, retry_after_sec=retry_after_sec
    )


def _wrong_base(url: str) -> str | None:
    """The fault of a base address that has the path of a page of the service at its end; None for any other."""
    found = re.search(r"/(api|console|docs|player)/api/", url)
    return None if found is None else f"base_url ends with /{found[1]}; leave that out: the client adds the paths."


def error_of_problem(problem: Any, status: int, retry_after_sec: float | None = None) -> ReelwrightError:
    """The error that a problem document stands for."""
    return ReelwrightError(
        problem["code"],
        problem.get("detail", ""),
        status=status,
        errors=problem.get("errors", ()),
        trace_id=problem.get("trace_id"),
        retry_after_sec=retry_after_sec,
    )


def not_redirected(response: httpx.Response) -> httpx.Response:
    """The answer. Raises when it is a redirect, which no request follows: the API key would go there."""
    if not response.has_redirect_location:
        return response
    request = response.request.url
    target = request.join(response.headers["location"])
    target = target.copy_with(query=None, fragment=None, username=None, password=None)
    detail = (
        f"{request.scheme}://{request.netloc.decode()} redirects to {target}; the API key is not sent there: "
        "set base_url to the address of the service itself"
    )
    raise ReelwrightError("unexpected_answer", detail, status=response.status_code)


def unreachable(address: str, cause: Exception) -> ReelwrightError:
    """The error of a request that was not answered."""
    return ReelwrightError("unreachable", f"{address} does not answer: {str(cause) or type(cause).__name__}")


def retry_after_of(response: httpx.Response) -> float | None:
    """The seconds of `Retry-After`, in either of its forms; None without one."""
    value = response.headers.get("retry-after")
    if value is None:
        return None
    if value.isdecimal():
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None

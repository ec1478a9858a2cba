"""What the methods of the client share: references, headers of submissions, and their answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

import httpx

from ._types import BatchOutcome, SubmittedJob
from .errors import ReelwrightError, error_of_problem
from .models import BatchAnswerJob, CreateJobRequest

JobRef = str | Mapping[str, Any]
"""A job by its id, or whatever has one."""
UploadRef = str | Mapping[str, Any]
"""An upload by its id, or whatever has one."""

ImportRef = str | Mapping[str, Any]
"""An import by its id, or whatever has one."""


def id_of(job: JobRef) -> str:
    return job if isinstance(job, str) else str(job["job_id"])


def upload_id_of(upload: UploadRef) -> str:
    return quote(upload if isinstance(upload, str) else str(upload["upload_id"]), safe="")


def import_id_of(ref: ImportRef) -> str:
    return quote(ref if isinstance(ref, str) else str(ref["import_id"]), safe="")


def choices_of(
    profile: str | None,
    priority: int | None,
    pool: str | None,
    title: str | None = None,
    metadata: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The headers that choose how jobs are made, and what they are called: a header is ASCII."""
    headers = {}
    if profile is not None:
        headers["x-profile"] = profile
    if priority is not None:
        headers["x-priority"] = str(priority)
    if pool is not None:
        headers["x-pool"] = pool
    if title is not None:
        headers["x-title"] = quote(title, safe="")
    if metadata is not None:
        headers["x-metadata"] = urlencode(metadata)
    return headers


def submitted_of(response: httpx.Response, submission: CreateJobRequest) -> SubmittedJob[Any]:
    try:
        return _submitted(response.json(), submission, response.status_code)
    except (ValueError, KeyError, TypeError) as cause:
        status = response.status_code
        raise ReelwrightError("unexpected_answer", "the answer is not a job", status=status) from cause


def batch_outcome(item: BatchAnswerJob, submission: CreateJobRequest) -> BatchOutcome:
    if "job" in item:
        return {"job": _submitted(item["job"], submission, item["status"]), "error": None}
    problem = item.get("problem", {"code": "unexpected_answer", "detail": "neither a job nor a problem"})
    return {"job": None, "error": error_of_problem(problem, item["status"])}


def _submitted(answer: Any, submission: CreateJobRequest, status: int) -> SubmittedJob[Any]:
    return {
        "job_id": answer["job_id"],
        "type": submission["type"],
        "hash": answer["hash"],
        "status": answer["status"],
        "results": answer.get("results"),
        "is_new": status == 202,
    }

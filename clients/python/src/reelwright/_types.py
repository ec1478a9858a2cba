"""Shapes of the client's own, beside the shapes of the wire in `models`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Literal, NotRequired, TypedDict, TypeVar

from ._results import AnyResults, JobType
from .errors import ReelwrightError
from .models import ImageThumbnailJobNotice, JobUsage, WaitingReason

ResultsT = TypeVar("ResultsT")


class SubmittedJob(TypedDict, Generic[ResultsT]):
    """The answer to a submission: a new job, or the equal one that exists."""

    job_id: str
    type: JobType
    hash: str
    status: Literal["queued", "processing", "completed", "failed", "cancelled"]
    results: ResultsT | None
    is_new: bool


class CompletedJob(TypedDict, Generic[ResultsT]):
    """A job that has completed: its results are there."""

    job_id: str
    type: JobType
    hash: str
    status: Literal["completed"]
    phase: None
    reason: WaitingReason | None
    progress: int
    eta: str | None
    attempt: int
    profile: str | None
    callback_status: Literal["pending", "sent", "callback_failed"] | None
    retry_of_job_id: str | None
    rerun_of_job_id: str | None
    source_etag: str | None
    error: None
    results: ResultsT
    results_expired: bool
    key_id: str | None
    pool: str
    title: str | None
    metadata: dict[str, str]
    created_at: str
    started_at: str | None
    finished_at: str | None
    updated_at: str
    usage: NotRequired[JobUsage]
    source_changed: NotRequired[bool | None]
    results_missing: NotRequired[bool]
    notice: NotRequired[ImageThumbnailJobNotice]


class BatchOutcome(TypedDict):
    """What became of one submission of a batch: one of the two is None."""

    job: SubmittedJob[AnyResults] | None
    error: ReelwrightError | None


# `from`, a word of Python, cannot be a field of a class.
_ThumbOrigin = TypedDict("_ThumbOrigin", {"from": Literal["source"]}, total=False)


class ThumbQuery(_ThumbOrigin, total=False):
    """How an image is shown.

    `dpr` (1-4) multiplies `w` and `h`; `crop` is `left-top-width-height` in pixels of the turned image, `background`
    is `rrggbb`, `preset` a name of `THUMB_PRESETS`. `from` is `source` for a key of the source bucket.
    """

    w: int
    h: int
    dpr: float
    fit: Literal["cover", "contain", "inside"]
    gravity: Literal[
        "center",
        "north",
        "northeast",
        "east",
        "southeast",
        "south",
        "southwest",
        "west",
        "northwest",
        "attention",
        "entropy",
    ]
    rotate: Literal[0, 90, 180, 270]
    trim: int
    crop: str
    blur: float
    sharpen: float
    background: str
    f: Literal["webp", "jpg", "png", "avif", "auto"]
    q: int
    preset: str
    exp: int


@dataclass(frozen=True)
class UploadProgress:
    """How far an upload is."""

    upload_id: str
    sent_bytes: int
    total_bytes: int

"""A client of the Reelwright media service: `Reelwright`, and `AsyncReelwright` for code with `await`."""

from . import models
from ._async_client import AsyncReelwright
from ._retry import RetryOptions
from ._sync_client import Reelwright
from ._types import (
    BatchOutcome,
    CompletedJob,
    SubmittedJob,
    ThumbQuery,
    UploadProgress,
)
from ._version import __version__
from .errors import JobEndedError, ReelwrightError
from .signing import (
    playback_token,
    player_url,
    signed_stream_url,
    stream_ticket,
    thumb_srcset,
    thumb_url,
    verify_webhook,
)

__all__ = [
    "AsyncReelwright",
    "BatchOutcome",
    "CompletedJob",
    "JobEndedError",
    "Reelwright",
    "ReelwrightError",
    "RetryOptions",
    "SubmittedJob",
    "ThumbQuery",
    "UploadProgress",
    "__version__",
    "models",
    "playback_token",
    "player_url",
    "signed_stream_url",
    "stream_ticket",
    "thumb_srcset",
    "thumb_url",
    "verify_webhook",
]

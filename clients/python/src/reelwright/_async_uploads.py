from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx

from ._async_http import AsyncSession, json_of
from ._async_tasks import call_blocking, in_parallel, sleep
from ._retry import pause_of
from ._source import Source
from ._types import UploadProgress
from .errors import ReelwrightError, error_of, retry_after_of
from .models import CreateUploadRequest, Upload, UploadPart

# Uploads in parts, several at once, each repeated by itself. What the service has of an interrupted upload is not sent
# again: `resume` names it.

PART_ATTEMPTS = 6
# A store or service that asks for more is asked again all the same: an upload must not sleep for a day.
WAIT_SEC_MAX = 60.0
CHECK_SEC = 2.0


class Sending:
    """One upload under way."""

    def __init__(
        self, session: AsyncSession, source: Source, on_progress: Callable[[UploadProgress], None] | None
    ) -> None:
        self._session = session
        self._source = source
        self._on_progress = on_progress
        self._sent_bytes = 0

    async def send(self, upload: Upload, parallel: int) -> Upload:
        """The completed upload."""
        if upload["status"] == "completed":
            return upload
        upload_id = upload["upload_id"]
        if upload["size"] != self._source.size:
            detail = f"upload {upload_id} is of a file of {upload['size']} bytes, not {self._source.size}"
            raise ReelwrightError("invalid_request", detail)
        self._report(upload_id, 0)

        async def put(item: tuple[UploadPart, bytes]) -> None:
            part, content = item
            await self._put_part(upload_id, part, content)
            self._report(upload_id, len(content))

        await in_parallel(self._parts_of(upload), parallel, put)
        return await self._complete(upload_id)

    async def _parts_of(self, upload: Upload) -> AsyncIterator[tuple[UploadPart, bytes]]:
        """Every part that is missing, in order, with its bytes; the service lists a page of parts at a time."""
        page = upload
        while True:
            for part in page["parts"]:
                begin = (part["number"] - 1) * upload["part_size"]
                size = min(upload["part_size"], upload["size"] - begin)
                if part["uploaded"]:
                    await call_blocking(self._source.skip, size)
                    self._report(upload["upload_id"], size)
                else:
                    yield part, await call_blocking(self._source.read, size)
            if page["next_part"] is None:
                return
            page = await self._page(upload["upload_id"], page["next_part"])

    async def _put_part(self, upload_id: str, part: UploadPart, content: bytes) -> None:
        """Puts a part, again after failures; an address that has expired is asked for again."""
        url = part["url"]
        for attempt in range(1, PART_ATTEMPTS + 1):
            outcome = await self._session.put_once(url, content)
            if isinstance(outcome, httpx.Response) and outcome.is_success:
                return
            error = error_of(outcome) if isinstance(outcome, httpx.Response) else outcome
            is_hopeless = 400 <= error.status < 500 and error.status not in (403, 408, 429)
            if attempt == PART_ATTEMPTS or is_hopeless:
                raise error
            asked = error.retry_after_sec
            await sleep(pause_of(attempt) * 4 if asked is None else min(asked, WAIT_SEC_MAX))
            if error.status == 403:
                url = await self._fresh_url(upload_id, part["number"]) or url

    async def _fresh_url(self, upload_id: str, number: int) -> str | None:
        page = await self._page(upload_id, number)
        return next((part["url"] for part in page["parts"] if part["number"] == number), None)

    async def _page(self, upload_id: str, part_from: int) -> Upload:
        page: Upload = await self._session.json("GET", f"/api/uploads/{upload_id}", params={"part_from": part_from})
        return page

    async def _complete(self, upload_id: str) -> Upload:
        while True:
            response = await self._session.call("POST", f"/api/uploads/{upload_id}/complete")
            if response.status_code != 202:
                upload: Upload = json_of(response)
                return upload
            # The service still checks the bytes.
            asked = retry_after_of(response)
            await sleep(CHECK_SEC if asked is None else min(asked, WAIT_SEC_MAX))

    def _report(self, upload_id: str, sent_bytes: int) -> None:
        self._sent_bytes += sent_bytes
        if self._on_progress is not None:
            self._on_progress(UploadProgress(upload_id, self._sent_bytes, self._source.size))


def request_of(
    source: Source, content_type: str | None, sha256: str | None, title: str | None
) -> CreateUploadRequest:
    """What begins an upload."""
    if not source.name:
        raise ReelwrightError("invalid_request", "the option `name` is missing")
    request: dict[str, Any] = {"name": source.name, "size": source.size}
    if content_type is not None:
        request["content_type"] = content_type
    if sha256 is not None:
        request["sha256"] = sha256
    if title is not None:
        request["title"] = title
    return request  # type: ignore[return-value]

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack, overload
from urllib.parse import quote

import httpx

from ._answers import (
    ImportRef,
    JobRef,
    UploadRef,
    batch_outcome,
    choices_of,
    id_of,
    import_id_of,
    submitted_of,
    upload_id_of,
)
from ._async_http import AsyncSession
from ._async_submit import AsyncSubmit
from ._async_uploads import Sending, request_of
from ._async_wait import wait_until_ended
from ._queries import (
    ListImportsQuery,
    ListJobsQuery,
    ListMediaFilesQuery,
    ListMediaPlaybackQuery,
    ListMediaQuery,
)
from ._results import AnyResults
from ._retry import RetryOptions
from ._source import Source, UploadSource
from ._types import BatchOutcome, CompletedJob, SubmittedJob, UploadProgress
from ._watch import Watch
from .errors import JobEndedError
from .models import (
    Callbacks,
    CreateImportRequest,
    CreateJobRequest,
    CreateUploadRequest,
    Import,
    Job,
    ListedJob,
    ListedMedia,
    Media,
    MediaChange,
    MediaDeletion,
    MediaFilesFile,
    PlaybackDays,
    Rerun,
    RerunRequest,
    Retry,
    Upload,
)

ResultsT = TypeVar("ResultsT")


class AsyncReelwright(AsyncSubmit):
    """A client of a Reelwright service. Every method raises `ReelwrightError`, which says what to do; answers of 429
    and 503 are waited for. A job is named by its id, or whatever has one; an upload and its id likewise."""

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        retry: RetryOptions = RetryOptions(),
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._session = AsyncSession(base_url, api_key, retry, transport)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes its connections."""
        await self._session.aclose()

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        json: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        """Any route by its path, with the repetition and the errors of the other methods."""
        return await self._session.call(method, path, params=params, json=json, headers=headers)

    async def submit_batch(
        self,
        submissions: Sequence[CreateJobRequest],
        *,
        profile: str | None = None,
        priority: int | None = None,
        pool: str | None = None,
        title: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> list[BatchOutcome]:
        """Submits up to 500 jobs in one request; the outcomes are in the order of the submissions."""
        body = {"jobs": list(submissions)}
        headers = choices_of(profile, priority, pool, title, metadata)
        answer = await self._session.json("POST", "/api/jobs/batch", json=body, headers=headers)
        return [batch_outcome(item, submission) for item, submission in zip(answer["jobs"], submissions, strict=True)]

    async def job(self, job: JobRef, *, check: str | None = None) -> Job:
        """A job; `check="source,results"` also looks whether its source was replaced and whether its results are
        there."""
        found: Job = await self._session.json("GET", _job_path(job), params=None if check is None else {"check": check})
        return found

    async def jobs(self, **filter: Unpack[ListJobsQuery]) -> AsyncIterator[ListedJob]:
        """The jobs that match, newest first; pages are fetched as they are needed."""
        async for item in self._pages("/api/jobs", "jobs", {**filter}):
            yield item

    @overload
    async def wait_for(
        self,
        job: SubmittedJob[ResultsT],
        *,
        on_progress: Callable[[Job], None] | None = None,
        timeout_sec: float | None = None,
        outage_sec_max: float = 300,
    ) -> CompletedJob[ResultsT]: ...

    @overload
    async def wait_for(
        self,
        job: JobRef,
        *,
        on_progress: Callable[[Job], None] | None = None,
        timeout_sec: float | None = None,
        outage_sec_max: float = 300,
    ) -> CompletedJob[AnyResults]: ...

    async def wait_for(
        self,
        job: Any,
        *,
        on_progress: Callable[[Job], None] | None = None,
        timeout_sec: float | None = None,
        outage_sec_max: float = 300,
    ) -> Any:
        """Waits until a job has completed, by Server-Sent Events where they pass, else by polling.

        `on_progress` is called with the job at once and after each change. Without `timeout_sec` a job is waited for
        as long as it takes; a service that does not answer is given up after `outage_sec_max`, which is more than a
        restart takes. Raises JobEndedError when the job has failed or was cancelled.
        """
        watch = Watch(on_progress, timeout_sec, outage_sec_max)
        ended = await wait_until_ended(self._session, _job_path(job), watch)
        if ended["status"] != "completed" or ended["results"] is None:
            raise JobEndedError(ended)
        return ended

    async def cancel(self, job: JobRef) -> Job:
        cancelled: Job = await self._session.json("POST", f"{_job_path(job)}/cancel")
        return cancelled

    async def retry(self, job: JobRef) -> Retry:
        """Retries a failed job: its failed stages, or all of it."""
        retry: Retry = await self._session.json("POST", f"{_job_path(job)}/retry")
        return retry

    async def rerun(self, job: JobRef, **request: Unpack[RerunRequest]) -> Rerun:
        """Makes a job that has ended again, such as after its source was replaced."""
        rerun: Rerun = await self._session.json("POST", f"{_job_path(job)}/rerun", json={**request})
        return rerun

    async def callbacks(self, job: JobRef) -> Callbacks:
        """The webhook of a job and its attempts."""
        callbacks: Callbacks = await self._session.json("GET", f"{_job_path(job)}/callbacks")
        return callbacks

    async def redeliver(self, job: JobRef) -> Callbacks:
        """Sends the webhook of a job once more."""
        callbacks: Callbacks = await self._session.json("POST", f"{_job_path(job)}/callbacks/redeliver")
        return callbacks

    async def upload(
        self,
        source: UploadSource,
        *,
        name: str | None = None,
        size: int | None = None,
        content_type: str | None = None,
        sha256: str | None = None,
        title: str | None = None,
        resume: UploadRef | None = None,
        parallel: int = 4,
        on_progress: Callable[[UploadProgress], None] | None = None,
    ) -> Upload:
        """Uploads a path, bytes or an open binary file in parallel parts; `source` of the answer is what to submit.

        A stream that cannot be sought needs its `size`. `resume` names an upload that was interrupted, of which only
        what is missing is sent.
        """
        given = Source(source, name, size)
        try:
            if resume is None:
                upload = await self.begin_upload(request_of(given, content_type, sha256, title))
            else:
                upload = await self.get_upload(resume)
            return await Sending(self._session, given, on_progress).send(upload, parallel)
        finally:
            given.close()

    async def begin_upload(self, request: CreateUploadRequest) -> Upload:
        """Begins an upload whose parts something else puts, such as a page without an API key."""
        upload: Upload = await self._session.json("POST", "/api/uploads", json=request)
        return upload

    async def get_upload(self, upload: UploadRef, *, part_from: int | None = None) -> Upload:
        """An upload, and whether each of its parts is there; a page of parts at a time."""
        params = None if part_from is None else {"part_from": part_from}
        found: Upload = await self._session.json("GET", f"/api/uploads/{upload_id_of(upload)}", params=params)
        return found

    async def complete_upload(self, upload: UploadRef) -> Upload:
        """Joins the parts of an upload; while its bytes are checked, its `status` is `completing`."""
        completed: Upload = await self._session.json("POST", f"/api/uploads/{upload_id_of(upload)}/complete")
        return completed

    async def delete_upload(self, upload: UploadRef) -> None:
        """Ends an upload, and deletes what came of it."""
        await self._session.call("DELETE", f"/api/uploads/{upload_id_of(upload)}")

    async def begin_import(self, request: CreateImportRequest) -> Import:
        """Lets the service fetch a file; `get_import` shows how far it is, and its `source` is what to submit."""
        begun: Import = await self._session.json("POST", "/api/imports", json=request)
        return begun

    async def get_import(self, ref: ImportRef) -> Import:
        found: Import = await self._session.json("GET", f"/api/imports/{import_id_of(ref)}")
        return found

    async def imports(self, **filter: Unpack[ListImportsQuery]) -> AsyncIterator[Import]:
        """All imports, newest first; pages are fetched as they are needed."""
        async for item in self._pages("/api/imports", "imports", {**filter}):
            yield item

    async def delete_import(self, ref: ImportRef) -> None:
        """Cancels an import that has not ended."""
        await self._session.call("DELETE", f"/api/imports/{import_id_of(ref)}")

    async def media(self, hash: str) -> Media:
        """Everything made under a hash; of a deleted one, its deletion."""
        media: Media = await self._session.json("GET", _media_path(hash))
        return media

    async def media_list(self, **filter: Unpack[ListMediaQuery]) -> AsyncIterator[ListedMedia]:
        """The media that match; pages are fetched as they are needed."""
        async for item in self._pages("/api/media", "media", {**filter}):
            yield item

    async def media_files(self, hash: str, **filter: Unpack[ListMediaFilesQuery]) -> AsyncIterator[MediaFilesFile]:
        """The objects of a media; pages are fetched as they are needed."""
        async for item in self._pages(f"{_media_path(hash)}/files", "files", {**filter}):
            yield item

    async def media_playback(self, hash: str, **filter: Unpack[ListMediaPlaybackQuery]) -> PlaybackDays:
        """How a media plays, by day, as players say it (CMCD); the last 30 days, or as many as `days` says."""
        playback: PlaybackDays = await self._session.json("GET", f"{_media_path(hash)}/playback", params={**filter})
        return playback

    async def update_media(self, hash: str, change: MediaChange) -> Media:
        """Changes when a media expires, its legal hold, or how it plays."""
        media: Media = await self._session.json("PATCH", _media_path(hash), json=change)
        return media

    async def set_current(self, hash: str, revision: str) -> Media:
        """Plays another of the revisions of a media."""
        media: Media = await self._session.json("PUT", f"{_media_path(hash)}/current", json={"revision": revision})
        return media

    async def withdraw_tickets(self, hash: str) -> Media:
        """Withdraws every ticket of a media so far; new ones are made with `playback_generation` of the answer."""
        media: Media = await self._session.json("POST", f"{_media_path(hash)}/playback/withdraw")
        return media

    async def delete_media(self, hash: str) -> MediaDeletion:
        """Deletes every object of a media. It goes on after the answer; `deletion` says when it is done."""
        deletion: MediaDeletion = await self._session.json("DELETE", _media_path(hash))
        return deletion

    async def deletion(self, hash: str) -> MediaDeletion:
        """The deletion of a media, with its receipt once it is done."""
        deletion: MediaDeletion = await self._session.json("GET", f"{_media_path(hash)}/deletion")
        return deletion

    async def _submit(self, submission: CreateJobRequest, headers: dict[str, str]) -> SubmittedJob[Any]:
        response = await self._session.call("POST", "/api/jobs", json=submission, headers=headers)
        return submitted_of(response, submission)

    async def _pages(self, path: str, name: str, filter: dict[str, Any]) -> AsyncIterator[Any]:
        while True:
            page = await self._session.json("GET", path, params=filter)
            for item in page[name]:
                yield item
            if page["next_cursor"] is None:
                return
            filter = {**filter, "cursor": page["next_cursor"]}


def _job_path(job: JobRef) -> str:
    return f"/api/jobs/{quote(id_of(job), safe='')}"


def _media_path(hash: str) -> str:
    return f"/api/media/{quote(hash, safe='')}"

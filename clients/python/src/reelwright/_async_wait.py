from __future__ import annotations

import json

import httpx

from ._async_http import AsyncSession, json_of
from ._async_tasks import sleep
from ._events import EventParser
from ._retry import pause_of
from ._watch import FRUITLESS_MAX, POLL_SEC, POLL_SEC_MAX, SILENCE_SEC_MAX, Watch
from .errors import ReelwrightError, error_of, retry_after_of
from .models import Job

# Follows a job by Server-Sent Events. A broken stream is opened again where it ended; where streams do not pass, such
# as behind a proxy that buffers them, the job is polled as `Retry-After` says.


async def wait_until_ended(session: AsyncSession, path: str, watch: Watch) -> Job:
    """The job of a path when it has ended."""
    fruitless = failures = 0
    while fruitless < FRUITLESS_MAX:
        before = watch.job
        job = await follow(session, path, watch)
        if job is not None:
            return job
        fruitless = fruitless + 1 if watch.job is before else 0
        failures = failures + 1 if watch.job is before else 1
        await sleep(watch.remaining_sec(pause_of(failures)))
    return await poll(session, path, watch)


async def follow(session: AsyncSession, path: str, watch: Watch) -> Job | None:
    """Reads one stream to its end: the job when it has ended, else None."""
    headers = {"last-event-id": watch.last_event_id} if watch.last_event_id else {}
    try:
        async with session.stream(f"{path}/events", headers, watch.remaining_sec(SILENCE_SEC_MAX)) as response:
            if response.status_code == 204:
                return await find(session, path, watch)
            if response.status_code >= 400:
                await response.aread()
                raise error_of(response)
            if not response.headers.get("content-type", "").startswith("text/event-stream"):
                raise ValueError("the answer is not a stream of events")
            return await read_events(response, watch)
    except (httpx.TransportError, ReelwrightError, ValueError) as error:
        watch.failed(session.base_url, error)
    return None


async def read_events(response: httpx.Response, watch: Watch) -> Job | None:
    parser = EventParser()
    async for piece in response.aiter_text():
        watch.answered()
        for event in parser.feed(piece):
            if event.event != "job":
                continue
            watch.last_event_id = event.id
            job: Job = json.loads(event.data)
            if watch.show(job):
                return job
    return None


async def find(session: AsyncSession, path: str, watch: Watch) -> Job | None:
    job: Job = await session.json("GET", path)
    watch.answered()
    return job if watch.show(job) else None


async def poll(session: AsyncSession, path: str, watch: Watch) -> Job:
    etag = ""
    while True:
        pause = POLL_SEC
        try:
            response = await session.call("GET", path, headers={"if-none-match": etag} if etag else None)
            watch.answered()
            asked = retry_after_of(response)
            pause = min(POLL_SEC_MAX, POLL_SEC if asked is None else asked)
            if response.status_code != 304:
                etag = response.headers.get("etag", "")
                job: Job = json_of(response)
                if watch.show(job):
                    return job
        except ReelwrightError as error:
            watch.failed(session.base_url, error)
        await sleep(watch.remaining_sec(pause))

"""What a service would have to fail for, with both clients: `python -m unittest`. scenario.py has the rest."""

from __future__ import annotations

import asyncio
import inspect
import io
import json
import unittest
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import httpx

from reelwright import AsyncReelwright, JobEndedError, Reelwright, ReelwrightError, RetryOptions, UploadProgress

Answer = Callable[[httpx.Request], httpx.Response]
SUBMISSION: Any = {"type": "video:cover", "hash": "a", "source": "a.mp4"}
CREATED = {"job_id": "1", "hash": "a", "status": "queued"}


def problem(status: int, code: str, **headers: str) -> Answer:
    body = {"code": code, "detail": "no", "status": status, "trace_id": "t" * 32}
    return lambda _: httpx.Response(status, json=body, headers={k.replace("_", "-"): v for k, v in headers.items()})


def answer(body: Any, status: int = 200, **headers: str) -> Answer:
    return lambda _: httpx.Response(status, json=body, headers={k.replace("_", "-"): v for k, v in headers.items()})


def refuse(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("ECONNREFUSED", request=request)


def job_of(status: str, updated: int = 1, **more: Any) -> dict[str, Any]:
    job: dict[str, Any] = {"job_id": "1", "type": "video:cover", "status": status, "results": {}, "error": None}
    return {**job, "updated_at": str(updated), **more}


def stream(*jobs: dict[str, Any]) -> Answer:
    text = "".join(f"id: {job['updated_at']}\nevent: job\ndata: {json.dumps(job)}\n\n" for job in jobs)
    return lambda _: httpx.Response(200, text=text, headers={"content-type": "text/event-stream"})


def page_of(status: int) -> Answer:
    return lambda _: httpx.Response(status, html="<p>")


def buffered(_: httpx.Request) -> httpx.Response:
    return httpx.Response(200, html="buffered")


class Service:
    """Gives these answers one after another, and has the requests that came."""

    def __init__(self, *answers: Answer) -> None:
        self.requests: list[httpx.Request] = []
        self._answers = answers

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        if len(self.requests) > len(self._answers):
            raise AssertionError("no more answers")
        return self._answers[len(self.requests) - 1](request)

    def headers(self, name: str) -> list[str | None]:
        return [request.headers.get(name) for request in self.requests]


class UploadService:
    """A service of uploads of 10-byte parts, which fails once for part 2."""

    def __init__(self, size: int, uploaded: tuple[int, ...] = ()) -> None:
        self.parts = {number: b"known" for number in uploaded}
        self.has_failed = False
        self._size = size

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        if path.startswith("/put/"):
            number = int(path.removeprefix("/put/"))
            if number == 2 and not self.has_failed:
                self.has_failed = True
                return httpx.Response(500, headers={"retry-after": "0"})
            assert "x-api-key" not in request.headers
            self.parts[number] = request.content
            return httpx.Response(200)
        if path.endswith("/complete"):
            return httpx.Response(200, json={**self._shown(1), "status": "completed"})
        return httpx.Response(200, json=self._shown(int(request.url.params.get("part_from", 1))))

    def _shown(self, first: int) -> dict[str, Any]:
        numbers = range(1, -(-self._size // 10) + 1)
        parts = [{"number": n, "url": f"/put/{n}", "uploaded": n in self.parts} for n in numbers]
        rest = first + 2 if first + 2 <= len(numbers) else None
        shown = {"upload_id": "u", "status": "open", "source": "uploads/u/a.mp4", "size": self._size}
        return {**shown, "part_size": 10, "parts": parts[first - 1 : first + 1], "next_part": rest}


class ClientTest(unittest.TestCase):
    """Each test runs with both clients."""

    is_async = False

    def setUp(self) -> None:
        pauses = patch("reelwright._retry.random.uniform", return_value=0)
        pauses.start()
        self.addCleanup(pauses.stop)

    def call(self, service: Any, method: str, *given: Any, **options: Any) -> Any:
        retry = RetryOptions(attempts=3, wait_sec_max=1)
        transport = httpx.MockTransport(service)
        kind: Any = AsyncReelwright if self.is_async else Reelwright

        async def run() -> Any:
            client = kind("http://service.test/", "k", retry=retry, transport=transport)
            result = getattr(client, method)(*given, **options)
            return await result if inspect.isawaitable(result) else result

        return asyncio.run(run())

    def error(self, service: Any, method: str, *given: Any, **options: Any) -> ReelwrightError:
        with self.assertRaises(ReelwrightError) as raised:
            self.call(service, method, *given, **options)
        return raised.exception

    def test_a_submission_waits_for_retry_after_and_sends_the_same_body_again(self) -> None:
        service = Service(problem(429, "rate_limited", retry_after="0"), refuse, answer(CREATED, 202))
        job = self.call(service, "submit", SUBMISSION, profile="small", priority=-3)
        self.assertEqual(job, {**CREATED, "type": "video:cover", "results": None, "is_new": True})
        self.assertEqual([json.loads(request.content) for request in service.requests], [SUBMISSION] * 3)
        self.assertEqual([service.headers("x-profile"), service.headers("x-priority")], [["small"] * 3, ["-3"] * 3])

    def test_a_title_and_metadata_are_percent_encoded_since_headers_are_ascii(self) -> None:
        service = Service(answer(CREATED, 202))
        self.call(service, "submit", SUBMISSION, title="São Paulo 100%", metadata={"place": "São=1", "n": "4 & 2"})
        self.assertEqual(service.headers("x-title"), ["S%C3%A3o%20Paulo%20100%25"])
        self.assertEqual(service.headers("x-metadata"), ["place=S%C3%A3o%3D1&n=4+%26+2"])

    def test_a_retry_after_beyond_the_bound_is_not_waited_for(self) -> None:
        service = Service(problem(503, "busy", retry_after="60"))
        error = self.error(service, "job", "1")
        self.assertEqual((error.code, error.status, error.retry_after_sec), ("busy", 503, 60))
        self.assertEqual(error.trace_id, "t" * 32)
        self.assertIn("Retry-After", error.advice)
        self.assertEqual(len(service.requests), 1)

    def test_a_retry_of_a_job_is_not_repeated_after_a_broken_connection_since_it_could_make_two(self) -> None:
        service = Service(refuse)
        error = self.error(service, "retry", "1")
        self.assertEqual(error.code, "unreachable")
        self.assertIn("ECONNREFUSED", error.detail)
        self.assertEqual(len(service.requests), 1)

    def test_a_page_of_a_proxy_is_an_unexpected_answer(self) -> None:
        for status in (404, 200):
            error = self.error(Service(page_of(status)), "job", "1")
            self.assertEqual((error.code, error.status), ("unexpected_answer", status))

    def test_no_request_follows_a_redirect_which_would_take_the_api_key_along(self) -> None:
        for status, method in ((302, "job"), (307, "delete_upload"), (308, "wait_for")):
            service = Service(lambda _: httpx.Response(status, headers={"location": "https://login.test/in?a=b"}))
            error = self.error(service, method, "1")
            self.assertEqual((error.code, error.status), ("unexpected_answer", status))
            self.assertIn("http://service.test redirects to https://login.test/in; the API key", error.detail)
            self.assertEqual(len(service.requests), 1)

    def test_a_client_without_a_url_or_a_key_is_refused_with_the_name_of_the_option(self) -> None:
        for base_url, api_key, name in (("media", "k", "base_url"), ("http://a", "", "api_key")):
            with self.assertRaisesRegex(ReelwrightError, name):
                (AsyncReelwright if self.is_async else Reelwright)(base_url, api_key)

    def test_a_wait_goes_on_where_its_stream_ended_with_the_id_of_its_last_event(self) -> None:
        first, last = stream(job_of("queued", 1), job_of("processing", 2)), stream(job_of("completed", 3))
        service = Service(first, refuse, last)
        seen: list[str] = []
        job = self.call(service, "wait_for", "1", on_progress=lambda each: seen.append(each["status"]))
        self.assertEqual((job["status"], seen), ("completed", ["queued", "processing", "completed"]))
        self.assertEqual(service.headers("last-event-id"), [None, "2", "2"])

    def test_a_job_is_polled_where_streams_do_not_pass_with_its_etag(self) -> None:
        service = Service(
            buffered,
            buffered,
            answer(job_of("processing"), etag='"1"', retry_after="0"),
            lambda _: httpx.Response(304, headers={"retry-after": "0"}),
            answer(job_of("completed", 2)),
        )
        self.assertEqual(self.call(service, "wait_for", {"job_id": "1"})["status"], "completed")
        self.assertEqual(service.headers("if-none-match"), [None, None, None, '"1"', '"1"'])

    def test_text_of_an_event_may_have_any_line_separator_of_unicode(self) -> None:
        text = json.dumps(job_of("completed", note="a\u2028b\x85c"), ensure_ascii=False)
        event = httpx.Response(200, text=f"event: job\ndata: {text}\n\n", headers={"content-type": "text/event-stream"})
        self.assertEqual(self.call(Service(lambda _: event), "wait_for", "1")["note"], "a\u2028b\x85c")

    def test_a_wait_for_a_job_that_fails_raises_its_error_with_what_to_do(self) -> None:
        failure = {"code": "source_not_found", "message": "missing", "retryable": False, "attempt": 1}
        error = self.error(Service(stream(job_of("failed", error=failure))), "wait_for", "1")
        self.assertIsInstance(error, JobEndedError)
        self.assertEqual((error.code, getattr(error, "is_retryable")), ("source_not_found", False))
        self.assertIn("Upload", error.advice)

    def test_a_wait_for_an_unknown_job_is_refused_at_once(self) -> None:
        service = Service(problem(404, "not_found"))
        self.assertEqual(self.error(service, "wait_for", "1").code, "not_found")
        self.assertEqual(len(service.requests), 1)

    def test_a_wait_ends_with_its_time_and_with_a_long_outage(self) -> None:
        endless = Service(*[stream(job_of("queued"))] * 10_000)
        self.assertEqual(self.error(endless, "wait_for", "1", timeout_sec=0.2).code, "timeout")
        self.assertEqual(self.error(Service(refuse), "wait_for", "1", outage_sec_max=0).code, "unreachable")

    def test_a_source_is_uploaded_in_parts_each_repeated_by_itself(self) -> None:
        content = b"a" * 10 + b"b" * 10 + b"c" * 10 + b"d" * 10 + b"e"
        parts = [b"a" * 10, b"b" * 10, b"c" * 10, b"d" * 10, b"e"]
        for source in (content, io.BytesIO(content)):
            service, seen = UploadService(len(content)), list[UploadProgress]()
            upload = self.call(service, "upload", source, name="a.mp4", on_progress=seen.append)
            self.assertEqual(upload["source"], "uploads/u/a.mp4")
            self.assertEqual([part for _, part in sorted(service.parts.items())], parts)
            self.assertEqual((seen[0].sent_bytes, seen[-1].sent_bytes), (0, len(content)))

    def test_an_upload_that_is_resumed_sends_only_the_parts_that_are_missing(self) -> None:
        content = b"a" * 10 + b"b" * 10 + b"c" * 10 + b"d" * 10 + b"e"
        service = UploadService(len(content), uploaded=(1, 3))
        self.call(service, "upload", content, name="a.mp4", resume="u")
        parts = [part for _, part in sorted(service.parts.items())]
        self.assertEqual(parts, [b"known", b"b" * 10, b"known", b"d" * 10, b"e"])

    def test_an_upload_of_nothing_and_of_a_source_that_is_too_short_says_so(self) -> None:
        self.assertIn("empty", str(self.error(UploadService(1), "upload", b"", name="a")))
        short = self.error(UploadService(25), "upload", io.BytesIO(b"a" * 12), name="a", size=25)
        self.assertIn("shorter than its 25 bytes", str(short))


class AsyncClientTest(ClientTest):
    is_async = True


if __name__ == "__main__":
    unittest.main()

"""How often, how long and for what both clients ask again: `python -m unittest`."""

from __future__ import annotations

import asyncio
import inspect
import json
import time
import unittest
from collections.abc import Callable
from email.utils import formatdate
from functools import partial
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import httpx

from reelwright import AsyncReelwright, Reelwright, ReelwrightError, RetryOptions
from reelwright._events import EventParser
from reelwright._retry import pause_of

Service = Callable[[httpx.Request], httpx.Response]
NOW = {"retry-after": "0"}


def job_of(status: str, updated: int = 1) -> dict[str, Any]:
    job: dict[str, Any] = {"job_id": "1", "type": "video:cover", "status": status, "results": {}, "error": None}
    return {**job, "updated_at": str(updated)}


def event_of(job: dict[str, Any], kind: str = "job") -> str:
    return f"id: 1\nevent: {kind}\ndata: {json.dumps(job)}\n\n"


def stream_of(job: dict[str, Any]) -> httpx.Response:
    return events_of(event_of(job))


def stored(_: httpx.Request) -> httpx.Response:
    return httpx.Response(200)


def events_of(text: str, content_type: str = "text/event-stream") -> httpx.Response:
    return httpx.Response(200, text=text, headers={"content-type": content_type})


def answer_of(status: int, _: httpx.Request) -> httpx.Response:
    return httpx.Response(status, headers=NOW)


def one_after_another(*answers: httpx.Response) -> tuple[Service, list[httpx.Request]]:
    """A service that gives these answers in their order, and the requests that came."""
    requests: list[httpx.Request] = []

    def service(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return answers[len(requests) - 1]

    return service, requests


class RetryTest(unittest.TestCase):
    """When a request is sent again, and after how long."""

    def pause(self, status: int, method: str = "GET", path: str = "/api/jobs", **more: Any) -> float | None:
        given: dict[str, Any] = {"retry_after": "7", "attempt": 1, "waited_sec": 0, **more}
        response = httpx.Response(status, headers={"retry-after": given["retry_after"]})
        retry = RetryOptions(attempts=3, wait_sec_max=10)
        return retry.pause_after(response, (method, path), given["attempt"], given["waited_sec"])

    def test_a_request_is_sent_as_often_as_attempts_says(self) -> None:
        self.assertEqual([self.pause(503, attempt=attempt) for attempt in (1, 2, 3)], [7, 7, None])

    def test_the_waits_of_a_request_are_bounded_together(self) -> None:
        self.assertEqual([self.pause(429, waited_sec=waited) for waited in (0, 3, 3.5)], [7, 7, None])

    def test_what_a_gateway_may_have_passed_on_is_not_done_twice(self) -> None:
        for status, path, is_repeated in (
            (502, "/api/jobs/1/rerun", False),
            (504, "/api/jobs/1/retry", False),
            (503, "/api/jobs/1/rerun", True),
            (429, "/api/imports", True),
            (502, "/api/jobs", True),
            (502, "/api/jobs/batch", True),
            (500, "/api/jobs", False),
        ):
            self.assertEqual(self.pause(status, "POST", path) is not None, is_repeated, (status, path))

    def test_retry_after_is_read_as_seconds_and_as_a_date_and_other_text_as_none(self) -> None:
        soon = self.pause(503, retry_after=formatdate(time.time() + 5, usegmt=True))
        self.assertIsNotNone(soon)
        self.assertTrue(3 < (soon or 0) <= 5)
        self.assertEqual(self.pause(503, retry_after="Wed, 31 Dec 2025 00:00:00 GMT"), 0)
        self.assertLessEqual(self.pause(503, retry_after="soon") or 9, 0.25)


class BothClients(unittest.TestCase):
    """Each test runs with both clients, and waits for nothing."""

    is_async = False

    def setUp(self) -> None:
        self.pauses: list[float] = []
        self.now_sec = 0.0

        def pause(seconds: float) -> None:
            self.pauses.append(seconds)
            self.now_sec += seconds

        async def sleep(seconds: float) -> None:
            pause(seconds)

        self.replace("_watch.time", SimpleNamespace(monotonic=lambda: self.now_sec))
        self.replace("_retry.random.uniform", lambda _low, high: high)
        for module in ("http", "wait", "uploads"):
            self.replace(f"_sync_{module}.sleep", pause)
            self.replace(f"_async_{module}.sleep", sleep)

    def replace(self, name: str, by: object) -> None:
        patched = patch(f"reelwright.{name}", by)
        patched.start()
        self.addCleanup(patched.stop)

    def call(self, service: Service, method: str, *given: Any, **options: Any) -> Any:
        kind: Any = AsyncReelwright if self.is_async else Reelwright

        async def run() -> Any:
            result = getattr(kind("http://service.test", "k", transport=httpx.MockTransport(service)), method)
            answer = result(*given, **options)
            return await answer if inspect.isawaitable(answer) else answer

        return asyncio.run(run())


class WaitTest(BothClients):
    """Requests and waits."""

    def test_every_request_of_the_api_has_the_key_whatever_other_headers_it_has(self) -> None:
        service, requests = one_after_another(
            httpx.Response(202, json={"job_id": "1", "hash": "a", "status": "queued"}),
            httpx.Response(200, html="buffered"),
            httpx.Response(200, html="buffered"),
            httpx.Response(200, json=job_of("processing"), headers={"etag": '"1"'}),
            httpx.Response(200, json=job_of("completed", 2)),
        )
        self.call(service, "submit", {"type": "video:cover", "hash": "a", "source": "a.mp4"}, priority=1)
        self.call(service, "wait_for", "1")
        self.assertEqual([request.headers.get("x-api-key") for request in requests], ["k"] * 5)
        self.assertEqual(requests[4].headers["if-none-match"], '"1"')

    def test_a_wait_that_the_limit_of_requests_refuses_goes_on_later(self) -> None:
        refused = httpx.Response(429, json={"code": "rate_limited", "detail": "no", "status": 429})
        service, _ = one_after_another(refused, stream_of(job_of("completed")))
        self.assertEqual(self.call(service, "wait_for", "1")["status"], "completed")

    def test_a_stream_of_a_job_that_has_ended_is_204_and_the_job_is_read_then(self) -> None:
        service, requests = one_after_another(httpx.Response(204), httpx.Response(200, json=job_of("completed")))
        self.assertEqual(self.call(service, "wait_for", "1")["status"], "completed")
        self.assertEqual([request.url.path for request in requests], ["/api/jobs/1/events", "/api/jobs/1"])

    def test_a_job_that_is_polled_is_read_again_as_retry_after_says_within_a_bound(self) -> None:
        html = httpx.Response(200, html="buffered")
        polls = [httpx.Response(200, json=job_of("queued"), headers={"retry-after": wait}) for wait in ("20", "3600")]
        service, _ = one_after_another(html, html, *polls, httpx.Response(200, json=job_of("completed", 2)))
        self.call(service, "wait_for", "1")
        self.assertEqual(self.pauses[2:], [20, 30])

    def test_a_silent_stream_holds_a_wait_no_longer_than_its_time(self) -> None:
        service, requests = one_after_another(stream_of(job_of("completed")))
        self.call(service, "wait_for", "1", timeout_sec=5)
        self.assertLessEqual(requests[0].extensions["timeout"]["read"], 5)


    def test_a_request_is_repeated_after_doubling_pauses_and_five_times_in_all(self) -> None:
        for status in (429, 502, 503, 504):
            service, requests = one_after_another(*[httpx.Response(status)] * 6)
            self.pauses.clear()
            with self.assertRaises(ReelwrightError):
                self.call(service, "job", "1")
            self.assertEqual((len(requests), self.pauses), (5, [0.25, 0.5, 1, 2]))

    def test_a_request_waits_two_minutes_at_most(self) -> None:
        service, requests = one_after_another(*[httpx.Response(503, headers={"retry-after": "50"})] * 4)
        with self.assertRaises(ReelwrightError):
            self.call(service, "job", "1")
        self.assertEqual((len(requests), self.pauses), (3, [50, 50]))

    def test_a_pause_grows_to_eight_seconds(self) -> None:
        self.assertEqual([pause_of(attempt) for attempt in (1, 2, 6, 7, 1000)], [0.25, 0.5, 8, 8, 8])

    def test_a_refusal_of_a_request_or_of_a_stream_is_raised_at_once(self) -> None:
        for method, status in (("job", 400), ("wait_for", 400), ("wait_for", 499)):
            refused = httpx.Response(status, json={"code": "invalid_request", "detail": "no", "status": status})
            service, requests = one_after_another(refused)
            with self.assertRaisesRegex(ReelwrightError, "invalid_request"):
                self.call(service, method, "1")
            self.assertEqual(len(requests), 1)

    def test_progress_is_reported_at_once_and_after_each_change(self) -> None:
        queued = job_of("queued")
        states = [queued, queued, job_of("queued", 2), job_of("processing", 2), job_of("completed", 3)]
        service, _ = one_after_another(events_of("".join(map(event_of, states))))
        seen: list[Any] = []
        self.call(service, "wait_for", "1", on_progress=seen.append)
        self.assertEqual(seen, [states[0], *states[2:]])

    def test_what_is_no_event_of_a_job_is_passed_over(self) -> None:
        end = job_of("completed")
        others = f": silence\n\nevent: job\n\nretry: 1\n{event_of(end, 'other')}"
        service, _ = one_after_another(events_of(others + event_of({**end, "updated_at": "2"})))
        self.assertEqual(self.call(service, "wait_for", "1")["updated_at"], "2")

    def test_a_page_with_the_text_of_an_event_is_no_stream(self) -> None:
        page = events_of(event_of(job_of("completed")), "text/html")
        service, requests = one_after_another(page, page, httpx.Response(200, json=job_of("failed")))
        with self.assertRaises(ReelwrightError):
            self.call(service, "wait_for", "1")
        self.assertEqual(len(requests), 3)

    def test_an_event_without_end_is_given_up_at_four_mebibytes(self) -> None:
        endless = events_of(f"data: {'a' * (4 * 1024 * 1024 - 6)}")
        service, _ = one_after_another(endless, stream_of(job_of("completed")))
        parser = EventParser()
        self.assertEqual(parser.feed("a" * (4 * 1024 * 1024)), [])
        self.assertRaisesRegex(ValueError, "too large", parser.feed, "a")
        self.assertEqual(self.call(service, "wait_for", "1")["status"], "completed")

    def test_streams_that_end_are_opened_again_and_only_fruitless_ones_after_growing_pauses(self) -> None:
        some = [stream_of(job_of("processing", updated)) for updated in (1, 2)]
        empty = [events_of(""), events_of("")]
        answers = (some[0], empty[0], some[1], empty[1], stream_of(job_of("completed", 3)))
        service, requests = one_after_another(*answers)
        self.call(service, "wait_for", "1")
        self.assertEqual({request.url.path for request in requests}, {"/api/jobs/1/events"})
        self.assertEqual(self.pauses, [0.25, 0.5, 0.25, 0.5])

    def test_a_wait_survives_failures_as_long_as_the_service_answers_in_between(self) -> None:
        html = httpx.Response(200, html="buffered")
        known = httpx.Response(200, json=job_of("processing"), headers={"retry-after": "8"})
        failure = httpx.Response(500)
        polls = [known, failure, known, failure, httpx.Response(200, json=job_of("completed", 2))]
        service, _ = one_after_another(html, html, *polls)
        self.call(service, "wait_for", "1", outage_sec_max=9)
        self.assertEqual(self.pauses[2:], [8, 2, 8, 2])
        service, requests = one_after_another(html, html, known, *[failure] * 9)
        with self.assertRaises(ReelwrightError) as raised:
            self.call(service, "wait_for", "1", outage_sec_max=9)
        self.assertEqual((raised.exception.status, len(requests)), (500, 5))

    def test_a_wait_ends_with_its_time_and_says_how_the_job_is(self) -> None:
        polls = [httpx.Response(200, json=job_of("processing"), headers={"retry-after": "30"})] * 3
        service, requests = one_after_another(*[httpx.Response(200, html="buffered")] * 2, *polls)
        with self.assertRaisesRegex(ReelwrightError, "timeout: the job is processing after 40 s"):
            self.call(service, "wait_for", "1", timeout_sec=40)
        self.assertEqual((sum(self.pauses), len(requests)), (40, 5))
        with self.assertRaisesRegex(ReelwrightError, "timeout: the job is unknown after 1 s"):
            self.call(partial(answer_of, 503), "wait_for", "1", timeout_sec=1)


class AsyncWaitTest(WaitTest):
    is_async = True


class UploadTest(BothClients):
    """Uploads of two parts of ten bytes."""

    def upload(self, put: Service, completions: tuple[int, ...] = (200,), **more: Any) -> tuple[Any, list[str]]:
        paths: list[str] = []
        left = list(completions)

        def service(request: httpx.Request) -> httpx.Response:
            path = request.url.raw_path.decode()
            paths.append(path)
            again = "?again" if "part_from=2" in path else ""
            parts = [{"number": number, "url": f"/put/{number}{again}", "uploaded": False} for number in (1, 2)]
            shown = {"upload_id": "u", "status": "open", "size": 20, "part_size": 10, "parts": parts, "next_part": None}
            if path.startswith("/put/"):
                return put(request)
            if path.endswith("/complete"):
                return httpx.Response(left.pop(0), json={**shown, "status": "completed"}, headers=NOW)
            return httpx.Response(200, json={**shown, **more})

        options = {"resume": "u"} if more else {}
        try:
            result = self.call(service, "upload", b"a" * 20, name="a.mp4", parallel=1, **options)
        except ReelwrightError as error:
            result = error
        return result, paths

    def test_a_part_whose_address_has_expired_is_put_to_the_address_that_it_has_now(self) -> None:
        def expired(request: httpx.Request) -> httpx.Response:
            return httpx.Response(403 if request.url.raw_path == b"/put/2" else 200, headers=NOW)

        result, paths = self.upload(expired)
        self.assertEqual(result["status"], "completed")
        self.assertEqual([path for path in paths if "/put/" in path], ["/put/1", "/put/2", "/put/2?again"])

    def test_a_part_is_put_six_times_at_most_and_once_where_that_is_hopeless(self) -> None:
        for status, times in ((500, 6), (429, 6), (400, 1), (413, 1)):
            error, paths = self.upload(partial(answer_of, status))
            self.assertIsInstance(error, ReelwrightError)
            self.assertEqual((error.status, sum("/put/" in path for path in paths)), (status, times))
            self.assertFalse(any("part_from" in path for path in paths))

    def test_a_part_is_put_again_after_a_broken_connection(self) -> None:
        failures = [httpx.ConnectError("broken")]

        def broken(_: httpx.Request) -> httpx.Response:
            if failures:
                raise failures.pop()
            return httpx.Response(200)

        result, paths = self.upload(broken)
        self.assertEqual((result["status"], self.pauses), ("completed", [1]))
        self.assertEqual([path for path in paths if "/put/" in path], ["/put/1", "/put/1", "/put/2"])

    def test_a_part_goes_to_the_store_that_its_address_names_without_the_key(self) -> None:
        put, puts = one_after_another(httpx.Response(200))
        parts = [{"number": 1, "url": "https://store.test/put/1?signed", "uploaded": False}]
        self.upload(put, parts=parts, size=20, part_size=20)
        self.assertEqual([str(request.url) for request in puts], ["https://store.test/put/1?signed"])
        self.assertNotIn("x-api-key", puts[0].headers)

    def test_an_upload_is_announced_with_what_is_known_of_it_and_has_a_name(self) -> None:
        known = {"content_type": "video/mp4", "sha256": "a" * 64}
        for given in ({}, known):
            begun, requests = one_after_another(httpx.Response(400))
            with self.assertRaises(ReelwrightError):
                self.call(begun, "upload", b"a" * 20, name="a.mp4", **given)
            self.assertEqual(json.loads(requests[0].content), {"name": "a.mp4", "size": 20, **given})
        with self.assertRaisesRegex(ReelwrightError, "name"):
            self.call(stored, "upload", b"a" * 20)

    def test_a_store_that_asks_for_a_day_is_asked_again_after_a_minute(self) -> None:
        answers = [httpx.Response(503, headers={"retry-after": "86400"}), httpx.Response(200), httpx.Response(200)]
        result, _ = self.upload(lambda _: answers.pop(0))
        self.assertEqual((result["status"], self.pauses), ("completed", [60]))

    def test_an_upload_of_another_size_is_not_resumed_and_one_that_has_completed_is_not_sent_again(self) -> None:
        for size in (19, 21):
            error, paths = self.upload(stored, size=size)
            self.assertIn(f"{size} bytes", str(error))
            self.assertEqual(paths, ["/api/uploads/u"])
        result, paths = self.upload(stored, status="completed")
        self.assertEqual((result["status"], paths), ("completed", ["/api/uploads/u"]))

    def test_an_upload_is_done_once_the_service_has_checked_its_bytes(self) -> None:
        result, paths = self.upload(stored, completions=(202, 202, 200))
        self.assertEqual((result["status"], sum("/complete" in path for path in paths)), ("completed", 3))
        self.assertEqual(self.pauses, [0, 0])

    def test_a_service_that_checks_bytes_for_a_day_is_asked_again_after_a_minute(self) -> None:
        with patch.dict(NOW, {"retry-after": "86400"}):
            result, _ = self.upload(stored, completions=(202, 200))
        self.assertEqual((result["status"], self.pauses), ("completed", [60]))


class AsyncUploadTest(UploadTest):
    is_async = True


if __name__ == "__main__":
    unittest.main()

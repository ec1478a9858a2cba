from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx

from ._async_tasks import sleep
from ._retry import RetryOptions
from ._source import digest_headers
from ._version import __version__
from .errors import ReelwrightError, error_of, not_redirected, unreachable

# Uploads and long answers take longer than httpx's default of 5 s.
TIMEOUT = httpx.Timeout(60, connect=10)


class AsyncSession:
    """Sends requests, with bounded repetition."""

    def __init__(
        self, base_url: str, api_key: str, retry: RetryOptions, transport: httpx.AsyncBaseTransport | None
    ) -> None:
        if urlsplit(base_url).scheme not in ("http", "https"):
            raise ReelwrightError("invalid_request", f"base_url: expected https://…, found {base_url!r}")
        if not api_key:
            raise ReelwrightError("invalid_request", "api_key: expected one of the keys of the service, found none")
        self.base_url = base_url.rstrip("/")
        self._headers = {"x-api-key": api_key}
        self._retry = retry
        agent = {"user-agent": f"reelwright-python/{__version__}"}
        # A redirect would take the API key to the other origin.
        self._http = httpx.AsyncClient(timeout=TIMEOUT, headers=agent, transport=transport, follow_redirects=False)

    async def aclose(self) -> None:
        await self._http.aclose()

    async def send(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        json: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        """Sends a request with the API key, and returns any answer. Raises `unreachable`."""
        waited_sec, attempt = 0.0, 1
        while True:
            outcome: httpx.Response | httpx.TransportError
            try:
                outcome = await self._http.request(
                    method,
                    self.base_url + path,
                    params=params,
                    json=json,
                    headers={**self._headers, **(headers or {})},
                )
            except httpx.TransportError as error:
                outcome = error
            pause = self._retry.pause_after(outcome, (method, path), attempt, waited_sec)
            if pause is None:
                break
            await sleep(pause)
            waited_sec, attempt = waited_sec + pause, attempt + 1
        if isinstance(outcome, httpx.Response):
            return not_redirected(outcome)
        raise unreachable(self.base_url, outcome) from outcome

    async def call(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        json: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        """As `send`. Raises the error of a refusal."""
        response = await self.send(method, path, params=params, json=json, headers=headers)
        if response.status_code >= 400:
            raise error_of(response)
        return response

    async def json(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        json: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """The JSON of an answer. Raises the error of a refusal, and of what is not JSON."""
        return json_of(await self.call(method, path, params=params, json=json, headers=headers))

    async def put_once(self, url: str, content: bytes) -> httpx.Response | ReelwrightError:
        """Puts bytes without the API key, which stores refuse, at an address that may be relative."""
        address = url if "://" in url else self.base_url + url
        try:
            return await self._http.put(address, content=content, headers=digest_headers(content))
        except httpx.TransportError as error:
            return unreachable(address.split("?")[0], error)

    @asynccontextmanager
    async def stream(self, path: str, headers: Mapping[str, str], read_sec: float) -> AsyncIterator[httpx.Response]:
        """An answer whose body is read as it comes; at most `read_sec` seconds pass between its pieces."""
        timeout = httpx.Timeout(TIMEOUT.write, connect=TIMEOUT.connect, read=read_sec)
        sent = {**self._headers, **headers}
        async with self._http.stream("GET", self.base_url + path, headers=sent, timeout=timeout) as response:
            yield not_redirected(response)


def json_of(response: httpx.Response) -> Any:
    try:
        return response.json()
    except ValueError as cause:
        detail = f"{response.url} answered {response.status_code} with something other than JSON"
        raise ReelwrightError("unexpected_answer", detail, status=response.status_code) from cause

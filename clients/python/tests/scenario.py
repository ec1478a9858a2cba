"""Runs clients/scenario.json with the Python client: `scenario.py sync|async FILE`, with the variables as JSON on
standard input. Prints the requests that it made as JSON."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
import sys
import time
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import httpx

import reelwright
from reelwright import AsyncReelwright, Reelwright, ReelwrightError

given = json.load(sys.stdin)
variables: dict[str, Any] = {**given, "clip": Path(given["clip"])}
requests: list[str] = []


class Recording(httpx.HTTPTransport):
    def handle_request(self, request: httpx.Request) -> httpx.Response:
        requests.append(f"{request.method} {request.url.path}")
        return super().handle_request(request)


class AsyncRecording(httpx.AsyncHTTPTransport):
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        requests.append(f"{request.method} {request.url.path}")
        return await super().handle_async_request(request)


def snake(name: str) -> str:
    return re.sub(r"[A-Z]", lambda capital: f"_{capital[0].lower()}", name)


def field(path: str) -> Any:
    value: Any = variables
    for name in path.split("."):
        value = value[int(name)] if isinstance(value, list) else value[name]
    return value


def filled(value: Any) -> Any:
    """A value of the file with the variables in their places."""
    if isinstance(value, dict):
        return {name: filled(each) for name, each in value.items()}
    if isinstance(value, list):
        return [filled(each) for each in value]
    if not isinstance(value, str):
        return value
    whole = re.fullmatch(r"\$\{([\w.]+)\}", value)
    return field(whole[1]) if whole else re.sub(r"\$\{([\w.]+)\}", lambda name: str(field(name[1])), value)


def has(value: Any, part: Any) -> bool:
    if isinstance(part, dict):
        of = value if isinstance(value, dict) else vars(value) if isinstance(value, Exception) else None
        return of is not None and all(name in of and has(of[name], each) for name, each in part.items())
    if isinstance(part, list):
        return isinstance(value, list) and len(value) >= len(part) and all(map(has, value, part))
    return bool(value == part)


async def settled(value: Any) -> Any:
    """What a method of either client comes to."""
    if inspect.isawaitable(value):
        return await value
    if hasattr(value, "__aiter__"):
        return [item async for item in value]
    return list(value) if hasattr(value, "__next__") else value


async def received(job_id: str) -> Any:
    """The first webhook of a job, from the server of the test."""
    for _ in range(300):
        with urlopen(f"{variables['hook']}received") as answer:
            for webhook in json.load(answer):
                if json.loads(webhook["body"])["job_id"] == job_id:
                    return webhook
        await asyncio.sleep(0.1)
    raise TimeoutError(f"no webhook of {job_id}")


async def result_of(client: Any, step: dict[str, Any]) -> Any:
    if "receive" in step:
        return await received(step["receive"])
    if "http" in step:
        method, path = step["http"].split(" ")
        path = re.sub(r"\{(\w+)\}", lambda name: step["path"][name[1]], path)
        call = client.request(method, path, json=step.get("body"), headers=step.get("headers"))
        response = await settled(call)
        return {"status": response.status_code}
    name = snake(step["call"])
    if "webhook" in step:
        webhook = step["webhook"]
        body = webhook["body"] + step.get("suffix", "")
        return reelwright.verify_webhook(webhook["headers"], body, variables["webhookSecret"])
    method = getattr(client, name, None) or getattr(reelwright, name)
    options = {snake(option): value for option, value in step.get("options", {}).items()}
    return await settled(method(*step.get("with", []), **options))


async def run_step(client: Any, step: dict[str, Any]) -> None:
    step = filled(step)
    until = time.monotonic() + 30
    while True:
        try:
            result = await result_of(client, step)
        except ReelwrightError as error:
            if not has(error, step.get("throws", {"code": None})):
                raise
            return
        assert "throws" not in step, f"it does not raise, but gives {result}"
        if "until" not in step or has(result, step["until"]) or time.monotonic() > until:
            break
        await asyncio.sleep(0.2)
    wanted = step.get("until", step.get("expect"))
    assert wanted is None or has(result, wanted), f"expected {wanted}, found {result}"
    if "as" in step:
        variables[step["as"]] = result


async def main(kind: str, file: str) -> None:
    client: Any
    began = time.monotonic()
    if kind == "sync":
        client = Reelwright(variables["api"], variables["apiKey"], transport=Recording())
    else:
        client = AsyncReelwright(variables["api"], variables["apiKey"], transport=AsyncRecording())
    for step in json.loads(Path(file).read_text())["steps"]:
        print(f"{time.monotonic() - began:6.1f} s  {step['step']}", file=sys.stderr)
        try:
            await run_step(client, step)
        except Exception as error:
            raise SystemExit(f"{step['step']}: {type(error).__name__}: {error}") from error
    print(json.dumps(requests))


asyncio.run(main(sys.argv[1], sys.argv[2]))

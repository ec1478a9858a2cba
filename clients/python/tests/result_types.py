"""Read by mypy alone: the results of each type of job have its fields, and no other's."""

from __future__ import annotations

from typing import assert_type

from reelwright import AsyncReelwright, CompletedJob, Reelwright, models


def image_thumbnail(client: Reelwright) -> None:
    job = client.wait_for(client.submit({"type": "image:thumbnail", "hash": "a", "source": "a.png"}))
    assert_type(job, CompletedJob[models.ImageThumbnailResults])
    assert_type(job["results"]["outputs"][0]["width"], int)
    job["results"]["streaming"]  # type: ignore[typeddict-item]


def video_cover(client: Reelwright) -> None:
    job = client.wait_for(client.submit({"type": "video:cover", "hash": "a", "source": "a.mp4"}))
    assert_type(job["results"]["timestamp_sec"], float)
    job["results"]["frames"]  # type: ignore[typeddict-item]


def video_preview(client: Reelwright) -> None:
    job = client.wait_for(client.submit({"type": "video:preview", "hash": "a", "source": "a.mp4"}))
    assert_type(job["results"]["frames"], int)
    job["results"]["timestamp_sec"]  # type: ignore[typeddict-item]


async def video_transcode(client: AsyncReelwright) -> None:
    submitted = await client.submit(
        {"type": "video:transcode", "hash": "a", "source": "a.mp4", "options": {"encrypt": True}}, priority=3
    )
    job = await client.wait_for(submitted)
    assert_type(job["results"]["streaming"]["encrypted"], bool)
    job["results"]["stages"]  # type: ignore[typeddict-item]


async def video_full(client: AsyncReelwright) -> None:
    job = await client.wait_for(await client.submit({"type": "video:full", "hash": "a", "source": "a.mp4"}))
    assert_type(job["results"]["stages"]["cover"], models.StageResult)
    job["results"]["outputs"]  # type: ignore[typeddict-item]


def any_type(client: Reelwright) -> None:
    job = client.job("1")
    if job["type"] == "video:cover" and job["results"] is not None:
        assert_type(job["results"], models.VideoCoverResults)
    again = client.wait_for(client.rerun("1", reason="the source was replaced"))
    client.cancel(again)
    client.retry(job)
    client.upload("movie.mp4", resume=client.get_upload("1"))
    client.submit({"type": "video:cover", "hash": "a"})  # type: ignore[call-overload]
    client.submit({"type": "video:cover", "hash": "a", "source": "b", "options": {"encrypt": True}})  # type: ignore[call-overload]
    for listed in client.jobs(status="failed", limit=10):
        assert_type(listed["job_id"], str)
    client.jobs(stat="failed")  # type: ignore[call-arg]

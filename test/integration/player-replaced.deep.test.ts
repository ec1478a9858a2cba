import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { submitJob, waitForJob } from '../../demo/jobs.ts';
import { chromiumPath, stateOf, waitForTime } from '../../testing/browser.ts';
import { sample } from '../../testing/media.ts';
import { messageOf, visitPlayer } from '../../testing/player-page.ts';
import { secrets } from '../../testing/programs.ts';
import type { StageService } from '../../testing/stage/service.ts';
import { onStage } from '../../testing/stage/stage.ts';

// A stream that is replaced under its address, in a browser that has the old one in its cache for a year, as the
// specified header says.

const sizes = { old: '320x180', new: '180x320' };
let service: StageService;

async function publish(hash: string, source: string): Promise<void> {
  const api = { baseUrl: service.url, apiKey: secrets.API_KEY, signal: new AbortController().signal };
  const id = await submitJob({ type: 'video:transcode', hash, source, options: {} }, api);
  expect((await waitForJob(id, api)).status).toBe('completed');
}

/** Plays the last seconds, also where the end was reached before. */
const playToEnd = (page: Page) =>
  page.evaluate(`{
    const video = document.querySelector('video');
    video.currentTime = 16;
    void video.play();
  }`);

describe.skipIf(chromiumPath === null || !inject('postgres'))('a replaced stream in a real Chromium', () => {
  beforeAll(async () => {
    service = await onStage('service');
    for (const [name, size] of Object.entries(sizes)) {
      const inputs = `-f lavfi -i testsrc2=s=${size}:r=10:d=18 -f lavfi -i sine=d=18`;
      const codecs = '-c:v libx264 -preset ultrafast -pix_fmt yuv420p -c:a aac -shortest';
      const clip = await sample(`${name}.mp4`, `${inputs} ${codecs}`);
      await copyFile(clip, join(service.source, `replaced-${name}.mp4`));
    }
  });

  it('C17.33: whoever has played the old stream to its end plays the new one after a reload, and no segment of both', async () => {
    const hash = 'replaced';
    await publish(hash, 'replaced-old.mp4');
    const { page, requests } = await visitPlayer({ hash });
    /** The revisions of the segments that were requested since the last call. */
    let counted = 0;
    const revisions = async () => {
      const sent = await requests();
      const urls = sent.slice(counted).map(({ url }) => url);
      counted = sent.length;
      const found = urls.flatMap((url) => /\/([0-9a-f]{16})\/.*\.m4s$/.exec(new URL(url).pathname)?.[1] ?? []);
      return [...new Set(found)];
    };
    await waitForTime(page, 0.5);
    expect((await stateOf(page)).height).toBe(180);

    await publish(hash, 'replaced-new.mp4');
    await playToEnd(page);
    await waitForTime(page, 16.5);
    const [old, ...mixed] = await revisions();
    expect(mixed).toEqual([]);
    expect((await stateOf(page)).height).toBe(180);

    await page.reload();
    await waitForTime(page, 0.5);
    expect((await stateOf(page)).height).toBe(320);
    // The rung of an upright video has the name of its shorter side.
    expect(await page.locator('#quality option').last().innerText()).toMatch(/^180p · \d+ kb\/s$/);
    await playToEnd(page);
    await waitForTime(page, 16.5);
    const [current, ...others] = await revisions();
    expect(others).toEqual([]);
    expect(current).toMatch(/^[0-9a-f]{16}$/);
    expect(current).not.toBe(old);
    expect(await messageOf(page)).toBe('');
  });
});

import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { submitJob, waitForJob } from '../../demo/jobs.ts';
import { chromiumPath, messageOf, openBrowser, openPage, stateOf, waitForTime } from '../../testing/browser.ts';
import { runTool } from '../../testing/media.ts';
import { makeStreams, type Streams } from './player-streams.ts';

// A stream that is replaced under its address, in a browser that has the old one in its cache for a year, as the
// specified header says.

const sizes = { old: '320x180', new: '180x320' };
let folder: string;
let streams: Streams;
let browser: Browser;

async function publish(hash: string, source: string): Promise<void> {
  const id = await submitJob({ type: 'video:transcode', hash, source, options: {} }, streams.api);
  const { status } = await waitForJob(id, streams.api);
  expect(status).toBe('completed');
}

/** Plays the last seconds, also where the end was reached before. */
const playToEnd = (page: Page) =>
  page.evaluate(`{
    const video = document.querySelector('video');
    video.currentTime = 16;
    void video.play();
  }`);

describe.skipIf(chromiumPath === null)('a replaced stream in a real Chromium', () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'reelwright-replaced-'));
    for (const [name, size] of Object.entries(sizes)) {
      const inputs = `-v error -f lavfi -i testsrc2=s=${size}:r=10:d=18 -f lavfi -i sine=d=18`;
      const codecs = '-c:v libx264 -preset ultrafast -pix_fmt yuv420p -c:a aac -shortest';
      await runTool('ffmpeg', `${inputs} ${codecs} ${name}.mp4`.split(' '), folder);
    }
    streams = await makeStreams(join(folder, 'old.mp4'));
    await copyFile(join(folder, 'new.mp4'), join(dirname(streams.source), 'new.mp4'));
    browser = await openBrowser();
  }, 300_000);

  afterAll(async () => {
    await browser?.close();
    await streams?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it.each(['shaka', 'hls', 'dash'])(
    'C17.33: whoever has played the old stream to its end in %s plays the new one after a reload, and no segment of both',
    async (engine) => {
      const hash = `replaced-${engine}`;
      await publish(hash, 'video.mp4');
      const { page, requests } = await openPage(browser);
      onTestFinished(() => page.context().close());
      /** The revisions of the segments that were requested since the last call. */
      let counted = 0;
      const revisions = async () => {
        const sent = await requests();
        const urls = sent.slice(counted).map(({ url }) => url);
        counted = sent.length;
        const found = urls.flatMap((url) => /\/([0-9a-f]{16})\/.*\.m4s$/.exec(new URL(url).pathname)?.[1] ?? []);
        return [...new Set(found)];
      };
      await page.goto(`${streams.service.baseUrl}/player/#${new URLSearchParams({ hash, engine }).toString()}`);
      await waitForTime(page, 0.5);
      expect((await stateOf(page)).height).toBe(180);

      await publish(hash, 'new.mp4');
      await playToEnd(page);
      await waitForTime(page, 16.5);
      const [old, ...mixed] = await revisions();
      expect(mixed).toEqual([]);
      expect((await stateOf(page)).height).toBe(180);

      await page.reload();
      await waitForTime(page, 0.5);
      expect((await stateOf(page)).height).toBe(320);
      // The rung of an upright video has the name of its shorter side.
      expect(await page.locator('#quality option').last().innerText()).toMatch(/^180p · \d\.\d\d Mb\/s$/);
      await playToEnd(page);
      await waitForTime(page, 16.5);
      const [current, ...others] = await revisions();
      expect(others).toEqual([]);
      expect(current).toMatch(/^[0-9a-f]{16}$/);
      expect(current).not.toBe(old);
      expect(await messageOf(page)).toBe('');
    },
    120_000,
  );
});

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { signPlaybackToken } from '#domain/playback/token.ts';
import {
  chromiumPath,
  keepScreenshot,
  messageOf,
  openBrowser,
  openMenus,
  openPage,
  shownFrame,
  waitForTime,
} from '../../testing/browser.ts';
import { runTool } from '../../testing/media.ts';
import { clear, encrypted, makeStreams, type Streams } from './player-streams.ts';

// The player page over streams of audio alone, in a real browser.

let folder: string;
let streams: Streams;
let browser: Browser;

describe.skipIf(chromiumPath === null)('audio-only streams in a real Chromium', () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'reelwright-audio-'));
    const inputs = '-v error -f lavfi -i sine=f=440:r=48000:d=12 -f lavfi -i sine=f=880:r=48000:d=12 -map 0 -map 1';
    const languages = '-metadata:s:a:0 language=ger -metadata:s:a:1 language=eng';
    await runTool('ffmpeg', `${inputs} ${languages} -c:a flac audio.mka`.split(' '), folder);
    const settings = { MEDIA_PROFILES: JSON.stringify({ rules: [{ profile: 'audio' }] }) };
    streams = await makeStreams(join(folder, 'audio.mka'), settings);
    browser = await openBrowser();
  }, 300_000);

  afterAll(async () => {
    await browser?.close();
    await streams?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it.each([
    ['shaka', encrypted],
    ['hls', encrypted],
    ['dash', encrypted],
    ['hls', clear],
    ['shaka', clear],
  ])(
    'C14.10, C14.11: the page plays audio in %s, shows its waveform, and changes the language (%s)',
    async (engine, hash) => {
      const { page, errors } = await openPage(browser);
      onTestFinished(() => page.context().close());
      const exp = Math.floor(Date.now() / 1000) + 600;
      const token = hash === clear ? '' : signPlaybackToken({ hash, exp }, streams.secrets.values.KEY_TOKEN_SECRET);
      await page.goto(`${streams.service.baseUrl}/player/#${new URLSearchParams({ hash, engine, token }).toString()}`);
      await page.evaluate(`document.querySelector('video').loop = true`);
      await waitForTime(page, 0.1);
      expect(await messageOf(page)).toBe('');
      const encryption = page.locator('#figure-encryption');
      await expect.poll(() => encryption.innerText()).toBe(hash === clear ? 'none' : 'cbcs');
      await expect
        .poll(() => page.getAttribute('video', 'poster'))
        .toBe(`${streams.service.baseUrl}/stream/${hash}/waveform.webp`);
      await expect.poll(async () => (await shownFrame(page)).contrast, { timeout: 60_000 }).toBeGreaterThan(2);
      await keepScreenshot(page, `audio-${engine}-${hash}`);

      const chosen = () => page.locator('#audio option:checked').innerText();
      await expect.poll(chosen, { timeout: 60_000 }).toBe('German');
      await openMenus(page);
      await page.selectOption('#audio', { label: 'English' });
      await expect.poll(chosen, { timeout: 60_000 }).toBe('English');
      // It goes on playing after the change: the time passes a place that it had not reached.
      const before = await page.evaluate<number>(`document.querySelector('video').currentTime`);
      await page.waitForFunction(
        (time) => {
          const { currentTime, seeking } = (
            globalThis as unknown as {
              document: { querySelector(s: string): { currentTime: number; seeking: boolean } };
            }
          ).document.querySelector('video');
          return !seeking && currentTime !== time;
        },
        before,
        { timeout: 60_000 },
      );
      expect(errors).toEqual([]);
    },
  );
});

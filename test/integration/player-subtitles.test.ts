import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import {
  chromiumPath,
  keepScreenshot,
  openBrowser,
  openMenus,
  openPage,
  pauseAt,
  waitForTime,
} from '../../testing/browser.ts';
import { runTool } from '../../testing/media.ts';
import { clear, makeStreams, type Streams } from './player-streams.ts';

// The captions menu of the player page over a stream of the whole service, in a real browser.

let folder: string;
let streams: Streams;
let browser: Browser;

const cueOf = (text: string) => `1\n00:00:01,000 --> 00:00:11,000\n${text}\n`;

/** `[language, start, end, text]` of each cue that is shown. */
const shownCues = (page: Page) =>
  page.evaluate(`[...document.querySelector('video').textTracks].filter(({ mode }) => mode === 'showing')
    .flatMap(({ language, activeCues }) => [...(activeCues ?? [])]
      .map((cue) => [language, cue.startTime, cue.endTime, cue.text]))`);

/** Share of white pixels in the lower third of the frame, which is black without captions. */
async function whiteShare(page: Page): Promise<number> {
  const png = await page.locator('video').screenshot();
  const { width, height } = await sharp(png).metadata();
  const top = Math.floor((height * 2) / 3);
  const part = sharp(png).extract({ left: 0, top, width, height: height - top });
  const pixels = await part.greyscale().raw().toBuffer();
  return pixels.filter((value) => value > 200).length / pixels.length;
}

describe.skipIf(chromiumPath === null)('the captions in a real Chromium', () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'reelwright-subtitles-'));
    await writeFile(join(folder, 'de.srt'), cueOf('Grüße aus dem Untertitel'));
    await writeFile(join(folder, 'en.srt'), cueOf('Greetings from the captions'));
    const inputs = '-v error -f lavfi -i color=black:s=320x180:r=25:d=12 -i de.srt -i en.srt -map 0 -map 1 -map 2';
    const languages = '-metadata:s:s:0 language=ger -metadata:s:s:1 language=eng';
    const codecs = '-c:v libx264 -preset ultrafast -pix_fmt yuv420p -c:s srt long.mkv';
    await runTool('ffmpeg', `${inputs} ${languages} ${codecs}`.split(' '), folder);
    streams = await makeStreams(join(folder, 'long.mkv'));
    browser = await openBrowser();
  }, 300_000);

  afterAll(async () => {
    await browser?.close();
    await streams?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it.each(['hls', 'shaka', 'dash'])(
    'C14.13: the captions menu shows the chosen track in %s, and a key turns it off and on again',
    async (engine) => {
      const { page, errors } = await openPage(browser);
      onTestFinished(() => page.context().close());
      await page.goto(`${streams.service.baseUrl}/player/#${new URLSearchParams({ hash: clear, engine }).toString()}`);
      await waitForTime(page, 0.1);
      await pauseAt(page, 6);
      await expect.poll(() => page.locator('#captions option').allInnerTexts()).toEqual(['Off', 'German', 'English']);
      expect(await shownCues(page)).toEqual([]);
      expect(await whiteShare(page)).toBe(0);

      // The key and the button begin with the language of the browser.
      const toggle = page.locator('#captions-toggle');
      await page.keyboard.press('c');
      await expect.poll(() => page.locator('#captions option:checked').innerText()).toBe('English');
      expect(await toggle.getAttribute('aria-pressed')).toBe('true');
      await toggle.click();
      await expect.poll(() => toggle.getAttribute('aria-pressed')).toBe('false');

      await openMenus(page);
      await page.selectOption('#captions', { label: 'German' });
      const german = [['de', 1, 11, 'Grüße aus dem Untertitel']];
      await expect.poll(() => shownCues(page), { timeout: 60_000 }).toEqual(german);
      await expect.poll(() => whiteShare(page)).toBeGreaterThan(0.002);
      await keepScreenshot(page, `captions-${engine}`);
      // The captions stay after clicks on the video, and the keyboard belongs to the video again.
      await page.click('#video', { position: { x: 40, y: 40 } });
      await pauseAt(page, 7);
      expect(await shownCues(page)).toEqual(german);

      await page.keyboard.press('c');
      await expect.poll(() => shownCues(page)).toEqual([]);
      expect(await page.locator('#captions option:checked').innerText()).toBe('Off');
      await page.keyboard.press('c');
      await expect.poll(() => shownCues(page)).toEqual(german);

      // By keyboard alone: the list has its own keys while it has the focus.
      await openMenus(page);
      await page.focus('#captions');
      await page.keyboard.press('ArrowDown');
      await expect.poll(() => shownCues(page)).toEqual([['en', 1, 11, 'Greetings from the captions']]);
      expect(await page.locator('#captions option:checked').innerText()).toBe('English');
      expect(errors).toEqual([]);
    },
  );
});

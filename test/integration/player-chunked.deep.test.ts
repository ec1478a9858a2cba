import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath, openPage, pauseAt, stateOf, waitForTime } from '../../testing/browser.ts';
import { sample } from '../../testing/media.ts';
import { messageOf, playerUrl, tokenFor } from '../../testing/player-page.ts';
import { clear, encrypted, makeStreams, type Streams } from './player-streams.ts';

// Chunked encodes of the whole service in a real browser: what it shows at their seams, where two chunks meet that were
// encoded and packaged by themselves.

const rate = 10;
const seconds = 18;
/** Seconds; a chunk is one segment long. */
const chunkSec = 6;
const seams = [6, 12];
const patient = { timeout: 120_000 };

/** A frame shows its number: a bar for each of eight bits, white where it is set. */
const bars = Array.from(
  { length: 8 },
  (_, bit) => String.raw`drawbox=x=${bit * 40}:y=0:w=40:h=180:c=white:t=fill:enable=mod(floor(n/${2 ** bit})\,2)`,
).join(',');
const pattern = `-f lavfi -i color=black:s=320x180:r=${rate}:d=${seconds},${bars}`;
const tone = `-f lavfi -i sine=f=440:r=48000:d=${seconds}`;
const codecs = '-c:v libx264 -preset ultrafast -g 20 -pix_fmt yuv420p -c:a aac';

let streams: Streams;

/** The number of the frame that the page's video shows. The buttons of a paused video are below the upper part. */
async function shownFrame(page: Page): Promise<number> {
  const png = await page.locator('video').screenshot();
  const { width, height } = await sharp(png).metadata();
  const top = sharp(png).extract({ left: 0, top: 0, width, height: Math.floor(height / 4) });
  const columns = await top.greyscale().resize(24, 1, { fit: 'fill' }).raw().toBuffer();
  return Array.from({ length: 8 }, (_, bit) => ((columns[3 * bit + 1] ?? 0) > 128 ? 2 ** bit : 0)).reduce(
    (sum, value) => sum + value,
  );
}

async function expectFrame(page: Page, frame: number): Promise<void> {
  await pauseAt(page, (frame + 0.5) / rate);
  await expect.poll(() => shownFrame(page), patient).toBe(frame);
}

/** Counts the seeks of the page's video from now on, a player's own over a gap or out of a stall among them. */
const countSeeks = (page: Page) =>
  page.evaluate(`(() => {
    window.seeks = 0;
    document.querySelector('video').addEventListener('seeking', () => (window.seeks += 1));
  })()`);

/** Plays from where the video is until it is past `sec`, and pauses. */
async function playPast(page: Page, sec: number): Promise<void> {
  await page.evaluate(`window.seeks = 0, void document.querySelector('video').play()`);
  await expect.poll(async () => (await stateOf(page)).time, patient).toBeGreaterThan(sec);
  await page.evaluate(`document.querySelector('video').pause()`);
  expect(await page.evaluate('window.seeks')).toBe(0);
}

/** Beginning and end of each range that the page's video has loaded. */
const bufferedRanges = async (page: Page): Promise<[number, number][]> =>
  await page.evaluate(`(({ buffered }) => Array.from({ length: buffered.length },
    (_, index) => [buffered.start(index), buffered.end(index)]))(document.querySelector('video'))`);

/** What Chromium's demuxer, decoders and decryptor complain of: gaps and jumps of time, damage, failures. */
async function mediaProblems(page: Page): Promise<string[]> {
  const problems: string[] = [];
  const session = await page.context().newCDPSession(page);
  session.on('Media.playerErrorsRaised', ({ errors }) => problems.push(JSON.stringify(errors)));
  session.on('Media.playerMessagesLogged', ({ messages }) => {
    const bad = messages.filter(({ level }) => level === 'error' || level === 'warning');
    problems.push(...bad.map(({ message }) => message));
  });
  await session.send('Media.enable');
  return problems;
}

describe.skipIf(chromiumPath === null)('a chunked encode in a real Chromium', () => {
  beforeAll(async () => {
    const clip = await sample('long-numbers.mp4', `${pattern} ${tone} ${codecs}`);
    streams = await makeStreams(clip, { CHUNK_LENGTH: `${chunkSec}s` });
  }, 480_000);

  afterAll(async () => {
    await streams?.stop();
  });

  it('both streams were made in three chunks', async () => {
    const log = await readFile(join(streams.folder, 'data/service.log'), 'utf8');
    expect(log.match(/"chunks":\d+/g)).toEqual(['"chunks":3', '"chunks":3']);
  });

  it.each([
    [clear, 'hls'],
    [encrypted, 'hls'],
    [encrypted, 'shaka'],
    [encrypted, 'dash'],
  ])(
    'C12.15: the stream %s plays over every seam in %s, and each seek shows the frame of its time',
    async (hash, engine) => {
      const secret = streams.secrets.values.KEY_TOKEN_SECRET;
      const token = hash === encrypted ? { token: tokenFor(hash, { secret }) } : {};
      const { page, errors } = await openPage();
      const problems = await mediaProblems(page);
      await page.goto(playerUrl(streams.service.baseUrl, { hash, engine, ...token }));
      await waitForTime(page, 0.1);
      await countSeeks(page);
      // In their order: Chromium takes a seek to just before what is loaded for a seek to its beginning.
      for (const seam of seams) {
        const first = seam * rate;
        await expectFrame(page, first - 1);
        await playPast(page, seam + 0.2);
        const ranges = await bufferedRanges(page);
        expect(ranges.filter(([start, end]) => start < seam && end > seam + 0.2)).toHaveLength(1);
        await expectFrame(page, first);
      }
      for (const frame of [seconds * rate - 1, 93, 30]) await expectFrame(page, frame);
      expect(problems).toEqual([]);
      expect(await messageOf(page)).toBe('');
      expect(errors).toEqual([]);
    },
    480_000,
  );
});

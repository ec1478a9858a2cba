import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { chromiumPath, keepScreenshot, openBrowser, openPage } from '../../testing/browser.ts';
import { encrypted, makeCaptionedVideo, makeStreams, smallLadder, type Streams } from './player-streams.ts';

// The console over the whole service: it plays what the service made.

const axePath = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
let folder: string;
let streams: Streams;
let browser: Browser;

describe.skipIf(chromiumPath === null)('the console of the whole service', () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'reelwright-console-'));
    const profile = { ladder: smallLadder, storyboard: 'always', captions: 'always' };
    streams = await makeStreams(await makeCaptionedVideo(folder), {
      CONSOLE: 'home',
      MEDIA_PROFILES: JSON.stringify({ profiles: { default: profile } }),
    });
    browser = await openBrowser();
  }, 480_000);

  afterAll(async () => {
    await browser?.close();
    await streams?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it('C31.11: the console plays an encrypted stream with captions and storyboard, and sends its token to the key endpoint alone', async () => {
    const { page, requests, errors } = await openPage(browser);
    onTestFinished(() => page.context().close());
    const complaints: string[] = [];
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text());
    });
    // The address as the demo prints it.
    await page.goto(`${streams.service.baseUrl}/#key=${streams.api.apiKey}`);
    await page.locator('.tile', { hasText: encrypted }).waitFor();
    expect(page.url()).toBe(`${streams.service.baseUrl}/console/#/media`);
    await page.click(`text=${encrypted}`);
    const player = page.frameLocator('reelwright-player iframe');
    await player.locator('#big-play').click({ timeout: 60_000 });
    const time = () =>
      player.locator('video').evaluate((video) => (video as unknown as { currentTime: number }).currentTime);
    await expect.poll(time, { timeout: 60_000 }).toBeGreaterThan(1);
    await player.locator('#captions-toggle').click();
    const cues = () =>
      player.locator('video').evaluate((video) =>
        [
          ...(
            video as unknown as {
              textTracks: Iterable<{ mode: string; activeCues: Iterable<{ text: string }> | null }>;
            }
          ).textTracks,
        ]
          .filter(({ mode }) => mode === 'showing')
          .flatMap(({ activeCues }) => [...(activeCues ?? [])].map(({ text }) => text)),
      );
    await expect.poll(cues, { timeout: 60_000 }).toEqual(['Greetings']);
    const bar = (await player.locator('#seek').boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
    await page.mouse.move(bar.x + bar.width / 2, bar.y + bar.height / 2);
    await expect.poll(() => player.locator('#scrub-frame').isVisible()).toBe(true);
    await keepScreenshot(page, 'player', 'console');
    const withToken = (await requests()).filter(({ headers }) => headers['authorization'] !== undefined);
    expect(withToken.map(({ url }) => new URL(url).pathname)).toEqual([`/api/key/${encrypted}`]);
    expect([errors, complaints]).toEqual([[], []]);
    await page.evaluate(await readFile(axePath, 'utf8'));
    const { violations } = await page.evaluate<{ violations: { id: string }[] }>('axe.run()');
    expect(violations.map(({ id }) => id)).toEqual([]);
  }, 180_000);

  it('C31.13: a link plays the encrypted stream for a week, in a browser without an API key', async () => {
    const { page } = await openPage(browser);
    onTestFinished(() => page.context().close());
    await page.goto(`${streams.service.baseUrl}/#key=${streams.api.apiKey}`);
    await page.click(`text=${encrypted}`);
    await page.selectOption('[name=share-duration]', { label: '7 days' });
    await page.click('text=Make a link');
    const link = await page.locator('.share-link').inputValue();
    const [, payload = ''] = /^[^#]+\/player\/#hash=player-encrypted&token=([\w-]+)\./.exec(link) ?? [];
    const { hash, exp } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { hash: string; exp: number };
    expect([hash, Math.round((exp - Date.now() / 1000) / 86_400)]).toEqual([encrypted, 7]);
    const other = await openPage(browser);
    onTestFinished(() => other.page.context().close());
    await other.page.goto(link);
    await other.page.locator('#big-play').click({ timeout: 60_000 });
    const time = () => other.page.evaluate<number>('document.querySelector("video").currentTime');
    await expect.poll(time, { timeout: 60_000 }).toBeGreaterThan(0.5);
    const keys = (await other.requests()).flatMap(({ headers }) => headers['x-api-key'] ?? []);
    expect(keys).toEqual([]);
  }, 180_000);
});

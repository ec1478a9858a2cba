import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { chromiumPath, differenceOf, openBrowser, openPage, pictureOf, stateOf } from '../../testing/browser.ts';
import { serveGuidePage } from '../../testing/guide-page.ts';
import { clear, encrypted, makeStreams, type Streams } from './player-streams.ts';

// The pages of docs/players.md, run in a real Chromium from another origin than the service's.

describe.skipIf(chromiumPath === null)('docs/players.md', () => {
  let streams: Streams;
  let browser: Browser;
  beforeAll(async () => {
    streams = await makeStreams();
    browser = await openBrowser();
  }, 480_000);
  afterAll(async () => {
    await browser?.close();
    await streams?.stop();
  });

  it.each([
    ['shaka', encrypted],
    ['shaka', clear],
    ['hls', encrypted],
    ['hls', clear],
    ['dash', encrypted],
    ['dash', clear],
    ['videojs', clear],
    ['native', clear],
  ])('the %s page of docs/players.md plays %s from another origin', async (player, hash) => {
    const { page, errors } = await openPage(browser);
    onTestFinished(() => page.context().close());
    const { service, secrets } = streams;
    const tokenSecret = secrets.values.KEY_TOKEN_SECRET;
    await page.goto(await serveGuidePage({ player, baseUrl: service.baseUrl, hash, tokenSecret }));
    await page.evaluate(`{
      const video = Object.assign(document.querySelector('video'), { muted: true, autoplay: true, loop: true });
      // One that is loaded already does not begin by itself.
      if (video.readyState > 0) void video.play();
    }`);
    await page.waitForFunction('document.querySelector("video").currentTime > 1', undefined, { timeout: 90_000 });
    const first = await pictureOf(page);
    await expect.poll(async () => differenceOf(first, await pictureOf(page))).toBeGreaterThan(2);
    await expect.poll(async () => (await stateOf(page)).frames).toBeGreaterThan(20);
    expect(errors).toEqual([]);
  });
});

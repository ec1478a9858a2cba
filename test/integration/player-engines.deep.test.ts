import { beforeAll, describe, expect, inject, it } from 'vitest';
import {
  chromiumPath,
  differenceOf,
  loopVideo,
  openPage,
  shownFrame,
  stateOf,
  waitForTime,
} from '../../testing/browser.ts';
import {
  audioSegments,
  choose,
  chosenIn,
  messageOf,
  playerUrl,
  visitPlayer,
  withToken,
} from '../../testing/player-page.ts';
import { onStage } from '../../testing/stage/stage.ts';
import type { StageStreams } from '../../testing/stage/streams.ts';

// What test/integration/player.test.ts proves of Shaka Player, in the other engines of the player page.

let bars: StageStreams;

describe.skipIf(chromiumPath === null || !inject('postgres')).each(['hls', 'dash'])('the engine %s', (engine) => {
  beforeAll(async () => {
    bars = await onStage('streams of bars');
  });

  it('the page plays the encrypted stream, with the token sent for the licence only, and changes rung and language', async () => {
    const watched = await visitPlayer(withToken(bars.encrypted, engine));
    const { page, errors, requests } = watched;
    await loopVideo(page);
    await waitForTime(page, 1);
    const first = await shownFrame(page);
    await expect.poll(async () => differenceOf(first, await shownFrame(page))).toBeGreaterThan(2);
    await expect.poll(() => page.locator('#figure-encryption').innerText()).toBe('cbcs');
    expect([await audioSegments(watched, 'de'), await chosenIn(page, 'audio')]).toEqual([
      0,
      expect.stringMatching(/^English/),
    ]);
    for (const height of [360, 540]) {
      await choose(page, 'quality', `${height}p · `);
      await page.locator('#seek').fill('0.2');
      await expect.poll(async () => (await stateOf(page)).height).toBe(height);
    }
    await choose(page, 'audio', 'German');
    await expect.poll(() => audioSegments(watched, 'de')).toBeGreaterThan(0);
    const token = new URL(page.url()).hash.match(/token=([^&]*)/)?.[1] ?? 'none';
    const sent = (await requests()).filter(({ headers, url }) => JSON.stringify([headers, url]).includes(token));
    const paths = [...new Set(sent.map(({ url }) => new URL(url).pathname))];
    expect(paths.filter((path) => path !== '/player/')).toEqual([`/api/key/${bars.encrypted}/clearkey`]);
    expect([await messageOf(page), errors]).toEqual(['', []]);
  });
});

describe.skipIf(chromiumPath === null || !inject('postgres'))('hls.js', () => {
  it('an encrypted stream asks for https where the browser does not decrypt', async () => {
    const { encrypted, service } = await onStage('streams of bars');
    const { page } = await openPage();
    const host = 'http://media.example';
    await page.route(`${host}/**`, async (route) => {
      const url = route.request().url().replace(host, service.url);
      await route.fulfill({ response: await route.fetch({ url }) });
    });
    await page.goto(playerUrl(host, withToken(encrypted, 'hls')));
    await expect.poll(() => messageOf(page)).toMatch(/^insecure: Encrypted streams need https/);
  });
});

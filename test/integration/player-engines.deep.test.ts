import { beforeAll, describe, expect, inject, it } from 'vitest';
import {
  chromiumPath,
  differenceOf,
  keepScreenshot,
  loopVideo,
  openPage,
  pauseAt,
  shownFrame,
  stateOf,
  waitForTime,
} from '../../testing/browser.ts';
import {
  audioSegments,
  choose,
  chosenIn,
  frameAt,
  messageOf,
  playerUrl,
  shownCues,
  tokenFor,
  visitPlayer,
  withToken,
} from '../../testing/player-page.ts';
import { onStage } from '../../testing/stage/stage.ts';
import { markupName, type StageStreams } from '../../testing/stage/streams.ts';

// What test/integration/player.test.ts proves of Shaka Player, in the other engines of the player page.

let bars: StageStreams;
let captioned: StageStreams;
let audio: StageStreams;

describe.skipIf(chromiumPath === null || !inject('postgres')).each(['hls', 'dash'])('the engine %s', (engine) => {
  beforeAll(async () => {
    [bars, captioned, audio] = await Promise.all([
      onStage('streams of bars'),
      onStage('streams of captioned'),
      onStage('streams of audio'),
    ]);
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

  it('C14.17, C14.13: the page plays a clear stream, with frames of its storyboard, captions, and names as text', async () => {
    const { page, errors, requests } = await visitPlayer({ hash: captioned.clear, engine });
    await waitForTime(page, 0.1);
    await pauseAt(page, 5);
    expect((await requests()).some(({ url }) => url.includes('/api/key/'))).toBe(false);
    expect((await frameAt(page, 0.25)).image).toMatch(/\/storyboard\/sheet_1\.jpg"\)$/);
    await expect.poll(() => page.locator('#scrub-title').innerText()).toBe(markupName);
    expect(await page.locator('#audio option').allInnerTexts()).toEqual(['English', `German · ${markupName}`]);
    await page.keyboard.press('c');
    await expect.poll(() => shownCues(page)).toEqual(['Greetings']);
    await choose(page, 'captions', 'German');
    await expect.poll(() => shownCues(page)).toEqual(['Grüße']);
    await keepScreenshot(page, `captions-${engine}`);
    await page.keyboard.press('c');
    await expect.poll(() => shownCues(page)).toEqual([]);
    expect(await page.locator('#stage img, #stage script').count()).toBe(0);
    expect(errors).toEqual([]);
  });

  it('C14.10, C14.11: the page plays encrypted audio, shows its waveform, and changes the language', async () => {
    const { page, errors } = await visitPlayer(withToken(audio.encrypted, engine));
    await loopVideo(page);
    await waitForTime(page, 0.1);
    await expect.poll(() => page.getAttribute('video', 'poster')).toMatch(/\/waveform\.webp$/);
    await expect.poll(() => chosenIn(page, 'audio')).toBe('German');
    await choose(page, 'audio', 'English');
    const before = (await stateOf(page)).time;
    await expect.poll(async () => (await stateOf(page)).time).not.toBe(before);
    expect([await chosenIn(page, 'audio'), await messageOf(page), errors]).toEqual(['English', '', []]);
  });
});

describe.skipIf(chromiumPath === null || !inject('postgres'))('hls.js', () => {
  it('the page shows key-403 for a token of another media, and plays after the other player is chosen', async () => {
    const { encrypted } = await onStage('streams of bars');
    const { page } = await visitPlayer({ ...withToken(encrypted, 'hls'), token: tokenFor('another') });
    await expect.poll(() => messageOf(page)).toMatch(/^key-403: The token was refused/);
    await page.fill('#token', tokenFor(encrypted));
    await page.selectOption('#engine', 'shaka');
    await page.fill('#token', tokenFor(encrypted));
    await page.click('#picker button');
    await waitForTime(page, 1);
    expect(await messageOf(page)).toBe('');
  });

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

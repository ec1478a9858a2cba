import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import {
  chromiumPath,
  differenceOf,
  openBrowser,
  openPage,
  pauseAt,
  shownFrame,
  stateOf,
} from '../../testing/browser.ts';
import { serveGuidePage } from '../../testing/guide-page.ts';
import { clear, encrypted, makeCaptionedVideo, makeStreams, smallLadder, type Streams } from './player-streams.ts';

// The pages of examples/players, run in a real Chromium from another origin than the service's.

/** Shows the English captions and chooses the German audio in the page's `player`. */
const choices: Record<string, string> = {
  shaka: `player.selectTextTrack(player.getTextTracks()[0]); player.selectAudioTrack(player.getAudioTracks().find(({ language }) => language === 'de'))`,
  dash: `player.selectTextTrack(player.getTextTracks()[0]); player.selectAudioTrack(player.getAudioTracks().find(({ language }) => language === 'de'))`,
  dashjs: `player.setTextTrack(0); player.setCurrentTrack(player.getTracksFor('audio')[1])`,
  hls: `player.subtitleTrack = 0; player.audioTrack = 1`,
};
/** The captions are there from the beginning: see "Shaka Player" in the guide. */
const preferCaptions = `player.configure('preferredText', [{ language: 'en' }]);`;

/** A page whose player is `window.player`. */
const expose = (html: string) =>
  html
    .replace(/const (?:player|hls) = (.*)/, 'const player = window.player = $1')
    .replaceAll('  hls.', '  player.')
    .replace(/^ *await player\.attach.*$/m, (line) => `${line}\n${preferCaptions}`);

const shownCues = (page: Page) =>
  page.evaluate(`[...document.querySelector('video').textTracks].filter(({ mode }) => mode === 'showing')
    .flatMap(({ activeCues }) => [...(activeCues ?? [])].map(({ text }) => text))`);

describe.skipIf(chromiumPath === null)('examples/players', () => {
  let folder: string;
  let streams: Streams;
  let browser: Browser;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'reelwright-docs-'));
    const profiles = { profiles: { default: { ladder: smallLadder, first_bitrate: 300_000, storyboard: 'always' } } };
    const clip = await makeCaptionedVideo(folder);
    streams = await makeStreams(clip, { MEDIA_PROFILES: JSON.stringify(profiles) });
    browser = await openBrowser();
  }, 480_000);
  afterAll(async () => {
    await browser?.close();
    await streams?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  async function play(player: string, hash: string, change?: (html: string) => string) {
    const { page, errors, requests } = await openPage(browser);
    onTestFinished(() => page.context().close());
    const { service, secrets } = streams;
    const tokenSecret = secrets.values.KEY_TOKEN_SECRET;
    const given = { player, baseUrl: service.baseUrl, hash, tokenSecret };
    await page.goto(await serveGuidePage(change === undefined ? given : { ...given, change }));
    await page.evaluate(`{
      const video = Object.assign(document.querySelector('video'), { muted: true, autoplay: true, loop: true });
      // One that is loaded already does not begin by itself.
      if (video.readyState > 0) void video.play();
    }`);
    await page.waitForFunction('document.querySelector("video").currentTime > 1', undefined, { timeout: 90_000 });
    return { page, errors, requests };
  }

  it.each([
    ['shaka', encrypted],
    ['shaka', clear],
    ['hls', encrypted],
    ['hls', clear],
    ['dash', encrypted],
    ['dash', clear],
    ['dashjs', encrypted],
    ['dashjs', clear],
    ['videojs', clear],
    ['native', clear],
  ])('the page examples/players/%s.html plays %s from another origin', async (player, hash) => {
    const { page, errors } = await play(player, hash);
    const first = await shownFrame(page);
    await expect.poll(async () => differenceOf(first, await shownFrame(page))).toBeGreaterThan(2);
    await expect.poll(async () => (await stateOf(page)).frames).toBeGreaterThan(20);
    expect(errors).toEqual([]);
  });

  it.each(
    ['shaka', 'hls', 'dash', 'dashjs'].flatMap((player) => [
      [player, encrypted],
      [player, clear],
    ]),
  )(
    'C14.14: the %s page shows the captions of %s and changes the language of its audio',
    async (player = '', hash = '') => {
      const { page, errors, requests } = await play(player, hash, expose);
      await page.evaluate(choices[player] ?? '');
      const german = async () => (await requests()).filter(({ url }) => /\/audio_de_\w+\/seg_/.test(url)).length;
      await expect.poll(german, { timeout: 60_000 }).toBeGreaterThan(0);
      // Shaka Player stands still after a seek that comes while it changes the track.
      await page.waitForFunction('document.querySelector("video").readyState >= 3', undefined, { timeout: 60_000 });
      await pauseAt(page, 9);
      await expect.poll(() => shownCues(page), { timeout: 60_000 }).toEqual(['Greetings']);
      await page.evaluate(`void document.querySelector('video').play()`);
      await page.waitForFunction('document.querySelector("video").currentTime > 9.5', undefined, { timeout: 60_000 });
      expect(errors).toEqual([]);
    },
  );

  it.each(['shaka', 'dash'])('C14.17: the %s page finds the storyboard by getThumbnails', async (player) => {
    const { page } = await play(player, clear, expose);
    const tile = await page.evaluate<{ uris: string[]; width: number }>(
      `player.getThumbnails(player.getImageTracks()[0].id, 9)`,
    );
    expect([tile.uris[0]?.split('/').at(-1), tile.width]).toEqual(['sheet_1.jpg', 160]);
  });
});

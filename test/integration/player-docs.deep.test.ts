import { beforeAll, describe, expect, inject, it } from 'vitest';
import { chromiumPath, differenceOf, openPage, pauseAt, shownFrame, stateOf } from '../../testing/browser.ts';
import { serveGuidePage } from '../../testing/guide-page.ts';
import { audioSegments, shownCues } from '../../testing/player-page.ts';
import { secrets } from '../../testing/programs.ts';
import { onStage } from '../../testing/stage/stage.ts';

// The pages of examples/players, run in a real Chromium from another origin than the service's.

const [clear, encrypted] = ['captioned-clear', 'captioned-encrypted'];

/** Shows the English captions and chooses the German audio in the page's `player`. */
const choices: Record<string, string> = {
  shaka: `player.selectTextTrack(player.getTextTracks().find(({ language }) => language === 'en')); player.selectAudioTrack(player.getAudioTracks().find(({ language }) => language === 'de'))`,
  dash: `player.selectTextTrack(player.getTextTracks().find(({ language }) => language === 'en')); player.selectAudioTrack(player.getAudioTracks().find(({ language }) => language === 'de'))`,
  dashjs: `player.setTextTrack(1); player.setCurrentTrack(player.getTracksFor('audio')[1])`,
  hls: `player.subtitleTrack = 1; player.audioTrack = 1`,
};
/** The captions are there from the beginning: see "Shaka Player" in the guide. */
const preferCaptions = `player.configure('preferredText', [{ language: 'en' }]);`;

/** A page whose player is `window.player`. */
const expose = (html: string) =>
  html
    .replace(/const (?:player|hls) = (.*)/, 'const player = window.player = $1')
    .replaceAll('  hls.', '  player.')
    .replace(/^ *await player\.attach.*$/m, (line) => `${line}\n${preferCaptions}`);

describe.skipIf(chromiumPath === null || !inject('postgres'))('examples/players', () => {
  let baseUrl: string;
  beforeAll(async () => {
    ({ url: baseUrl } = (await onStage('streams of captioned')).service);
  });

  async function play(player: string, hash: string, change?: (html: string) => string) {
    const watched = await openPage();
    const { page } = watched;
    const given = { player, baseUrl, hash, tokenSecret: secrets.KEY_TOKEN_SECRET };
    await page.goto(await serveGuidePage(change === undefined ? given : { ...given, change }));
    await page.evaluate(`{
      const video = Object.assign(document.querySelector('video'), { muted: true, autoplay: true, loop: true });
      // One that is loaded already does not begin by itself.
      if (video.readyState > 0) void video.play();
    }`);
    await page.waitForFunction('document.querySelector("video").currentTime > 1');
    await expect.poll(async () => (await stateOf(page)).frames).toBeGreaterThan(20);
    return watched;
  }

  it.each(['videojs', 'native'])('the page examples/players/%s.html plays from another origin', async (player) => {
    const { page, errors } = await play(player, clear);
    const first = await shownFrame(page);
    await expect.poll(async () => differenceOf(first, await shownFrame(page))).toBeGreaterThan(2);
    expect(errors).toEqual([]);
  });

  it.each(['shaka', 'hls', 'dash', 'dashjs'].map((player) => [player, encrypted]))(
    'C14.14: the %s page shows the captions of %s, changes the language of its audio, and sends the token for keys alone',
    async (player = '', hash = '') => {
      const watched = await play(player, hash, expose);
      const { page, errors, requests } = watched;
      await page.evaluate(choices[player] ?? '');
      await expect.poll(() => audioSegments(watched, 'de')).toBeGreaterThan(0);
      // Shaka Player stands still after a seek that comes while it changes the track.
      await page.waitForFunction('document.querySelector("video").readyState >= 3');
      await pauseAt(page, 9);
      await expect.poll(() => shownCues(page)).toEqual(['Greetings']);
      await page.evaluate(`void document.querySelector('video').play()`);
      await page.waitForFunction('document.querySelector("video").currentTime > 9.5');
      const sent = (await requests()).filter(({ headers }) => 'authorization' in headers);
      expect([...new Set(sent.map(({ url }) => new URL(url).pathname.replace('/clearkey', '')))]).toEqual([
        `/api/key/${hash}`,
      ]);
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

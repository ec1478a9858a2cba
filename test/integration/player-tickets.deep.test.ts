import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { signStreamTicket } from '#domain/playback/ticket.ts';
import { chromiumPath, openPage, stateOf } from '../../testing/browser.ts';
import { checkout } from '../../testing/checkout.ts';
import { serveGuidePage } from '../../testing/guide-page.ts';
import { secrets } from '../../testing/programs.ts';
import { onStage } from '../../testing/stage/stage.ts';

// The recipes of docs/guides/players.md, "Signed streams", in the pages of examples/players, in a real Chromium.

const guide = await readFile(join(checkout, 'docs/guides/players.md'), 'utf8');
const blocks = [...guide.matchAll(/^```js\n([\s\S]*?)^```$/gm)].map(([, code = '']) => code);
const recipeOf = (name: string) => blocks.find((code) => code.startsWith(`// ${name}`)) ?? '';
const prelude = blocks.find((code) => code.startsWith('let ticket')) ?? '';

interface Player {
  readonly name: string;
  /** The page with the recipe in its place. */
  readonly withRecipe: (html: string) => string;
  /** Chooses the German audio in `window.player`. */
  readonly chooseGerman: string;
}

const before = (line: string, code: string) => (html: string) => html.replace(line, () => `${code}\n${line}`);
const shakaGerman = `player.selectAudioTrack(player.getAudioTracks().find(({ language }) => language === 'de'))`;
const players: Record<string, Player> = {
  shaka: {
    name: 'Shaka Player',
    withRecipe: before('await player.load', recipeOf('Shaka')),
    chooseGerman: shakaGerman,
  },
  dash: {
    name: 'Shaka Player, DASH',
    withRecipe: before('await player.load', recipeOf('Shaka')),
    chooseGerman: shakaGerman,
  },
  hls: {
    name: 'hls.js',
    withRecipe: (html) =>
      html.replace('new Hls({', () => `new Hls({${/\n( *xhrSetup.*)\n/.exec(recipeOf('hls.js'))?.[1] ?? ''}`),
    chooseGerman: 'player.audioTrack = 1',
  },
  dashjs: {
    name: 'dash.js',
    withRecipe: before('player.attachSource', recipeOf('dash.js')),
    chooseGerman: `player.setCurrentTrack(player.getTracksFor('audio')[1])`,
  },
  videojs: {
    name: 'Video.js',
    withRecipe: before('player.src', recipeOf('Video.js')),
    chooseGerman: 'player.audioTracks()[1].enabled = true',
  },
};

const ticketOf = (hash: string, generation: number) =>
  signStreamTicket({ hash, generation, exp: Math.floor(Date.now() / 1000) + 900 }, secrets.STREAM_SECRET);

describe.skipIf(chromiumPath === null || !inject('postgres'))('signed streams in players', () => {
  let baseUrl: string;
  beforeAll(async () => {
    ({ url: baseUrl } = (await onStage('streams of captioned')).service);
  });

  const call = async (path: string, method: string) => {
    const answer = await fetch(`${baseUrl}${path}`, { method, headers: { 'x-api-key': secrets.API_KEY } });
    return (await answer.json()) as { playback_generation: number };
  };

  it.each(
    Object.keys(players).flatMap((page) =>
      (page === 'videojs' ? ['captioned-clear'] : ['captioned-clear', 'captioned-encrypted']).map(
        (hash) => [page, hash] as const,
      ),
    ),
  )('the page %s plays %s by a ticket, and on by the next one when that is withdrawn', async (name, hash) => {
    const player = players[name] as Player;
    const first = ticketOf(hash, (await call(`/api/media/${hash}`, 'GET')).playback_generation);
    const change = (html: string) =>
      player
        .withRecipe(html)
        .replace(
          '<script type="module">',
          () =>
            `<script type="module">\nwindow.ticket = '${first}'; const newTicket = async () => window.ticket;\n${prelude}`,
        )
        .replace('let ticket = await newTicket();', '')
        .replaceAll('(ticket = await newTicket())', '0')
        .replace('${host}/stream/', '${host}/s/${ticket}/')
        .replace(/const (?:player|hls) = (.*)/, 'const player = window.player = $1')
        .replaceAll('  hls.', '  player.');
    const { page, errors, requests } = await openPage();
    await page.goto(
      await serveGuidePage({ player: name, baseUrl, hash, tokenSecret: secrets.KEY_TOKEN_SECRET, change }),
    );
    await page.evaluate(`{
      const video = Object.assign(document.querySelector('video'), { muted: true, autoplay: true, loop: true });
      if (video.readyState > 0) void video.play();
    }`);
    await page.waitForFunction('document.querySelector("video").currentTime > 1', undefined, { timeout: 120_000 });
    const { playback_generation: generation } = await call(`/api/media/${hash}/playback/withdraw`, 'POST');
    const refused = async () => (await fetch(`${baseUrl}/s/${first}/${hash}/master.m3u8`)).status;
    await expect.poll(refused, { timeout: 10_000 }).toBe(403);
    const second = ticketOf(hash, generation);
    await page.evaluate(`window.ticket = '${second}'`);
    await page.evaluate(player.chooseGerman);
    const germanUnder = async (ticket: string) =>
      (await requests()).filter(({ url }) => url.includes(`/s/${ticket}/`) && /audio_de.*\.(?:m4s|mp4)$/.test(url))
        .length;
    await expect.poll(() => germanUnder(second), { timeout: 60_000 }).toBeGreaterThan(0);
    const { time, frames } = await stateOf(page);
    await expect.poll(async () => (await stateOf(page)).time, { timeout: 30_000 }).not.toBe(time);
    await expect.poll(async () => (await stateOf(page)).frames, { timeout: 30_000 }).toBeGreaterThan(frames);
    expect(await germanUnder(first)).toBe(0);
    expect((await requests()).filter(({ url }) => new URL(url).pathname.startsWith('/stream/'))).toEqual([]);
    expect(errors).toEqual([]);
  });
});

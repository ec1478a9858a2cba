import { copyFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parse as parseHls, setOptions } from 'hls-parser';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { getJob, submitJob, waitForJob } from '../../demo/jobs.ts';
import { chromiumPath, messageOf, openBrowser, openPage, waitForTime } from '../../testing/browser.ts';
import { hostileSource } from '../../testing/hostile-metadata.ts';
import { readDash, readHls } from '../../testing/parsed-stream.ts';
import { makeStreams, type Streams } from './player-streams.ts';

// Titles, languages and chapters that are no honest source's, through the whole service, to what others read of them:
// results, playlists, the manifest, and the page.

const seeds = [0, 1, 2, 3, 4, 5, 6, 7];
const engines = ['shaka', 'hls', 'dash'];
const hashOf = (seed: number) => `hostile-${seed}`;
let streams: Streams;
let browser: Browser | null = null;
/** The ids of jobs, by seed. */
const jobs = new Map<number, string>();

beforeAll(async () => {
  for (const seed of seeds) {
    const { file, folder } = await hostileSource(seed);
    try {
      streams ??= await makeStreams(file);
      await copyFile(file, join(dirname(streams.source), `${seed}.mkv`));
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
  for (const seed of seeds) {
    const job = { type: 'video:transcode', hash: hashOf(seed), source: `${seed}.mkv`, options: {} } as const;
    const id = await submitJob(job, streams.api);
    expect((await waitForJob(id, streams.api)).status).toBe('completed');
    jobs.set(seed, id);
  }
  if (chromiumPath !== null) browser = await openBrowser();
}, 480_000);

afterAll(async () => {
  await browser?.close();
  await streams?.stop();
});

const addressOf = (seed: number, name: string) => `${streams.service.baseUrl}/stream/${hashOf(seed)}/${name}`;

async function resultsOf(seed: number) {
  const { results } = await getJob(jobs.get(seed) ?? '', streams.api);
  if (results === null || !('video_tracks' in results)) throw new Error('expected the results of a stream');
  return results;
}

/** Every string of a document, the names of fields included. */
function stringsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => [name, ...stringsOf(inner)]);
}

it.each(seeds)(
  'results of hostile metadata are well-formed Unicode without control characters (seed %i)',
  async (seed) => {
    const strings = stringsOf(await resultsOf(seed));
    expect(strings.filter((text) => !text.isWellFormed())).toEqual([]);
    // oxlint-disable-next-line no-control-regex -- what must not be there
    expect(strings.filter((text) => /[\u0000-\u001f\u007f-\u009f]/.test(text))).toEqual([]);
    expect(Math.max(...strings.map(({ length }) => length))).toBeLessThan(1024);
  },
);

it.each(seeds)(
  'playlists and the manifest name nothing foreign, by two parsers of HLS and one of DASH (seed %i)',
  async (seed) => {
    setOptions({ strictMode: true });
    const { master, media } = await readHls(addressOf(seed, 'master.m3u8'));
    const read = parseHls(master.text);
    if (!read.isMasterPlaylist) throw new Error('the master playlist was read as another');
    const uris = [
      ...read.variants.flatMap((variant) => [
        variant.uri,
        ...[...variant.audio, ...variant.subtitles].map(({ uri }) => uri ?? ''),
      ]),
      ...read.sessionDataList.map(({ uri }) => uri ?? ''),
    ];
    for (const { text } of media.values()) {
      const playlist = parseHls(text);
      if (playlist.isMasterPlaylist) throw new Error('a media playlist was read as a master');
      expect(playlist.segments.filter(({ key }) => key !== null && key !== undefined)).toEqual([]);
      uris.push(...playlist.segments.map(({ uri }) => uri));
    }
    // Tags are ours alone, whatever lines a title brings.
    expect(uris.filter((uri) => !/^[\w./-]*$/.test(uri) || uri.startsWith('//'))).toEqual([]);
    expect(media.size).toBeGreaterThan(2);
    const dash = await readDash(addressOf(seed, 'manifest.mpd'));
    expect(dash.warnings).toEqual([]);
    const { origin } = new URL(streams.service.baseUrl);
    const urls = [...dash.tracks.values()].flatMap(({ segments }) => segments.map(({ url }) => url));
    expect(urls.filter((url) => new URL(url).origin !== origin)).toEqual([]);
  },
);

describe.skipIf(chromiumPath === null)('hostile metadata on the player page in a real Chromium', () => {
  it.each(seeds.map((seed) => [engines[seed % engines.length] ?? '', seed] as const))(
    'the page shows hostile metadata as text, runs none of it and asks no other host (%s, seed %i)',
    async (engine, seed) => {
      const { page, requests, errors } = await openPage(browser as Browser);
      onTestFinished(() => page.context().close());
      const violations: string[] = [];
      page.on('console', (message) => {
        if (/content security policy|violates/i.test(message.text())) violations.push(message.text());
      });
      page.on('dialog', (dialog) => void (violations.push(dialog.message()), dialog.dismiss()));
      const fragment = new URLSearchParams({ hash: hashOf(seed), engine }).toString();
      await page.goto(`${streams.service.baseUrl}/player/#${fragment}`);
      await waitForTime(page, 0.2);
      const { text_tracks: captions = [], chapters } = await resultsOf(seed);
      const textsOf = (menu: string) => page.locator(`#${menu} option`).allTextContents();
      const titles = (chapters?.list ?? []).map(({ title }) => title);
      expect(titles.length).toBeGreaterThan(0);
      await expect
        .poll(async () => (await textsOf('chapter')).map((text) => text.replace(/^[\d:]+ /, '')))
        .toEqual(titles);
      expect((await textsOf('captions')).length).toBe(1 + captions.length);
      const elements = await page.evaluate<string[]>(
        `[...document.querySelectorAll('#stage *, #title, #title *')].map(({ localName }) => localName)`,
      );
      expect(elements.filter((name) => ['script', 'img', 'iframe', 'object', 'embed', 'a'].includes(name))).toEqual([]);
      const { origin } = new URL(streams.service.baseUrl);
      const foreign = (await requests())
        .map(({ url }) => url)
        .filter((url) => /^https?:/.test(url) && new URL(url).origin !== origin);
      expect([foreign, violations, errors, await messageOf(page)]).toEqual([[], [], [], '']);
    },
    90_000,
  );
});

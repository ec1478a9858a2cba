import { copyFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { parse as parseHls, setOptions } from 'hls-parser';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { type ApiAccess, getJob, submitJob, waitForJob } from '../../demo/jobs.ts';
import { chromiumPath, waitForTime } from '../../testing/browser.ts';
import { hostileSource } from '../../testing/hostile-metadata.ts';
import { readDash, readHls } from '../../testing/parsed-stream.ts';
import { messageOf, visitPlayer } from '../../testing/player-page.ts';
import { secrets } from '../../testing/programs.ts';
import { onStage } from '../../testing/stage/stage.ts';

// Titles, languages and chapters that are no honest source's, through the whole service, to what others read of them:
// results, playlists, the manifest, and the page.

const seeds = [0, 1, 2, 3, 4, 5, 6, 7];
const engines = ['shaka', 'hls', 'dash'];
const hashOf = (seed: number) => `hostile-${seed}`;
let api: ApiAccess;
/** The ids of jobs, by seed. */
const jobs = new Map<number, string>();

beforeAll(async () => {
  if (!inject('postgres')) return;
  const service = await onStage('service');
  api = { baseUrl: service.url, apiKey: secrets.API_KEY, signal: new AbortController().signal };
  for (const seed of seeds) {
    const { file, folder } = await hostileSource(seed);
    const source = `${hashOf(seed)}.mkv`;
    await copyFile(file, join(service.source, source));
    await rm(folder, { recursive: true, force: true });
    const job = { type: 'video:transcode', hash: hashOf(seed), source, options: {} } as const;
    const id = await submitJob(job, api);
    expect((await waitForJob(id, api)).status).toBe('completed');
    jobs.set(seed, id);
  }
});

const addressOf = (seed: number, name: string) => `${api.baseUrl}/stream/${hashOf(seed)}/${name}`;

async function resultsOf(seed: number) {
  const { results } = await getJob(jobs.get(seed) ?? '', api);
  if (results === null || !('video_tracks' in results)) throw new Error('expected the results of a stream');
  return results;
}

/** Every string of a document, the names of fields included. */
function stringsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => [name, ...stringsOf(inner)]);
}

it.skipIf(!inject('postgres')).each(seeds)(
  'results of hostile metadata are well-formed Unicode without control characters (seed %i)',
  async (seed) => {
    const strings = stringsOf(await resultsOf(seed));
    expect(strings.filter((text) => !text.isWellFormed())).toEqual([]);
    // oxlint-disable-next-line no-control-regex -- what must not be there
    expect(strings.filter((text) => /[\u0000-\u001f\u007f-\u009f]/.test(text))).toEqual([]);
    expect(Math.max(...strings.map(({ length }) => length))).toBeLessThan(1024);
  },
);

it.skipIf(!inject('postgres')).each(seeds)(
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
    const { origin } = new URL(api.baseUrl);
    const urls = [...dash.tracks.values()].flatMap(({ segments }) => segments.map(({ url }) => url));
    expect(urls.filter((url) => new URL(url).origin !== origin)).toEqual([]);
  },
);

describe.skipIf(chromiumPath === null || !inject('postgres'))(
  'hostile metadata on the player page in a real Chromium',
  () => {
    it.each(seeds.map((seed) => [engines[seed % engines.length] ?? '', seed] as const))(
      'the page shows hostile metadata as text, runs none of it and asks no other host (%s, seed %i)',
      async (engine, seed) => {
        const { page, requests, errors, complaints } = await visitPlayer({ hash: hashOf(seed), engine });
        const dialogs: string[] = [];
        page.on('dialog', (dialog) => void (dialogs.push(dialog.message()), dialog.dismiss()));
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
        expect(elements.filter((name) => ['script', 'img', 'iframe', 'object', 'embed', 'a'].includes(name))).toEqual(
          [],
        );
        const { origin } = new URL(api.baseUrl);
        const foreign = (await requests())
          .map(({ url }) => url)
          .filter((url) => /^https?:/.test(url) && new URL(url).origin !== origin);
        const violations = complaints.filter((text) => /content security policy|violates/i.test(text));
        expect([foreign, dialogs, violations, errors, await messageOf(page)]).toEqual([[], [], [], [], '']);
      },
    );
  },
);

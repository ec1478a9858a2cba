import { readFile, rm } from 'node:fs/promises';
import { Parser } from 'm3u8-parser';
import { parse as parseMpd } from 'mpd-parser';
import { afterAll, describe, expect, it } from 'vitest';
import { hostileSource } from '../../testing/hostile-metadata.ts';
import { removeRigs, run, runnerRig } from '../../testing/runner.ts';

// Titles, languages and chapters of a source may be anything: what comes of them is bounded, well-formed, and stays in
// its place in playlists and manifests.

const folders: string[] = [];
afterAll(async () => {
  await removeRigs();
  for (const folder of folders) await rm(folder, { recursive: true });
});

async function sourceOf(seed: number): Promise<string> {
  const { file, folder } = await hostileSource(seed);
  folders.push(folder);
  return file;
}

/** Every string of a document, with the longest first. */
function stringsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsOf) : [];
}

const strict = new TextDecoder('utf-8', { fatal: true });

describe.concurrent('the metadata of a source', () => {
  it.each([1, 2])('whatever it holds, results and playlists are bounded and well-formed (%i)', async (seed) => {
    const rig = await runnerRig('video:transcode', await sourceOf(seed), {});
    const { exitCode, stdout, stderr } = await run(rig, ['all']);
    expect([exitCode, exitCode === 0 ? '' : stderr]).toEqual([0, '']);
    expect(stdout.length).toBeLessThan(100_000);
    const manifest = await rig.manifest();
    if (manifest === null) throw new Error('no manifest');
    const { results, rev } = manifest;

    expect(JSON.stringify(results).length).toBeLessThan(20_000);
    for (const text of stringsOf(results)) {
      expect([text.isWellFormed(), text.length <= 1024, /[\p{Cc}\u2028\u2029]/u.test(text)]).toEqual([
        true,
        true,
        false,
      ]);
    }
    expect(results.chapters?.list).toHaveLength(6);
    const read = async (path: string) => strict.decode(await readFile(rig.at(path)));

    const master = results.streaming.master_playlist.replace('master', `${rev}/master`);
    const parser = new Parser();
    parser.push(await read(master));
    parser.end();
    const { mediaGroups } = parser.manifest;
    const names = [mediaGroups.AUDIO, mediaGroups.SUBTITLES].flatMap((kind) =>
      Object.values(kind).flatMap((group) => Object.keys(group)),
    );
    expect(names).toHaveLength(1 + (results.text_tracks?.length ?? 0));
    expect((await read(master)).match(/^#EXT-X-(?!VERSION|INDEPENDENT)[A-Z-]+/gm)?.toSorted()).toEqual(
      [
        ...Array<string>(3).fill('MEDIA'),
        'SESSION-DATA',
        'STREAM-INF',
        'STREAM-INF',
        'I-FRAME-STREAM-INF',
        'IMAGE-STREAM-INF',
      ]
        .map((tag) => `#EXT-X-${tag}`)
        .toSorted(),
    );

    const dash = parseMpd(await read(results.streaming.dash_manifest ?? ''), {
      manifestUri: 'https://media.example/manifest.mpd',
      eventHandler: () => {},
    });
    expect(dash.playlists.length).toBe(results.video_tracks.length);
    const chapters = await read(results.chapters?.cues ?? '');
    expect(chapters.match(/-->/g)).toHaveLength(6);
    expect(chapters).not.toContain('<');
  });
});

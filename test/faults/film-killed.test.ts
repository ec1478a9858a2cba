import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { filmKey, filmRecordsRoot, resultManifestKey } from '#domain/media/object-keys.ts';
import { parseFilm, parseFilmRecord } from '#domain/runner/film.ts';
import { parseManifest } from '#domain/runner/manifest.ts';
import { until } from '../../testing/controller-rig.ts';
import { type CountedFfmpeg, countedFfmpeg } from '../../testing/counted-ffmpeg.ts';
import { type Fleet, openFleet } from '../../testing/fleet.ts';
import { sample } from '../../testing/media.ts';
import { endPrograms } from '../../testing/programs.ts';

describe.skipIf(!inject('postgres') || !inject('redis'))('a worker in the middle of a film', () => {
  let fleet: Fleet;
  let ffmpeg: CountedFfmpeg;
  beforeEach(async () => {
    [fleet, ffmpeg] = [await openFleet(), await countedFfmpeg()];
  });
  afterEach(async () => {
    await endPrograms();
    await fleet.close();
    await ffmpeg.remove();
  });

  it('C3.24: a film whose worker is killed at 20, 50 and 80 % costs the chunks that were being encoded, and no other', async () => {
    const clip = '-f lavfi -i testsrc2=s=192x108:r=10:d=60 -f lavfi -i sine=f=440:r=48000:d=60';
    await fleet.addSource(
      'clip.mp4',
      await sample('killed.mp4', `${clip} -c:v libx264 -g 20 -pix_fmt yuv420p -c:a aac`),
    );
    const env = { CHUNK_LENGTH: '6s', FFMPEG_PATH: ffmpeg.program };
    let worker = await fleet.start('worker', env);
    const id = await fleet.submit('video:transcode', 'clip.mp4', { options: { encrypt: true } });
    const records = async () => {
      const film = await readFile(join(fleet.media, filmKey(id)), 'utf8').then(parseFilm, () => null);
      if (film === null) return [];
      const folder = join(fleet.media, filmRecordsRoot(film.rev));
      const names = await readdir(folder).catch(() => []);
      return names.filter((name) => name !== 'audio.json').map((name) => join(folder, name));
    };
    const written = new Map<string, number>();
    for (const chunks of [2, 5, 8]) {
      await until(records, (paths) => paths.length >= chunks, 60_000);
      worker.signal('SIGKILL');
      await worker.ended;
      for (const [path, mtimeMs] of await Promise.all((await records()).map(modified)))
        written.set(path, written.get(path) ?? mtimeMs);
      worker = await fleet.start('worker', env);
    }
    const job = await fleet.finished(id);
    expect(job).toMatchObject({ status: 'completed', attempt: 4, failures: 0, disruptions: 3, progress: 95 });
    // One chunk of ten was encoded at each kill: at most 10 % of the film for each.
    const encodes = await ffmpeg.encodes();
    expect(new Set(encodes).size).toBe(10);
    expect(encodes.length).toBeLessThanOrEqual(10 + 3);
    expect(await ffmpeg.cuts()).toBe(10);
    const all = await records();
    expect(all).toHaveLength(10);
    for (const [path, mtimeMs] of await Promise.all(all.map(modified)))
      expect(mtimeMs).toBe(written.get(path) ?? mtimeMs);
    const manifest = parseManifest(await readFile(join(fleet.media, resultManifestKey(id, 4)), 'utf8'));
    const published = new Map(manifest.objects.map(({ key, sha256 }) => [key, sha256]));
    for (const path of all) {
      for (const { key, sha256 } of parseFilmRecord(await readFile(path, 'utf8')).objects)
        expect(published.get(key)).toBe(sha256);
    }
  });
});

async function modified(path: string): Promise<[string, number]> {
  return [path, (await stat(path)).mtimeMs];
}

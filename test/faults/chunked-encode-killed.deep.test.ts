import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { splitKey, chunkResultsRoot, resultManifestKey } from '#domain/media/object-keys.ts';
import { parseSplit, parseChunkResult } from '#domain/work/split.ts';
import { parseManifest } from '#domain/work/manifest.ts';
import { until } from '../../testing/controller-rig.ts';
import { countedFfmpeg } from '../../testing/counted-ffmpeg.ts';
import { openFleet } from '../../testing/fleet.ts';
import { sample } from '../../testing/media.ts';

/** No wait takes a tenth of it on a quiet machine. */
const hangMs = 300_000;

describe.skipIf(!inject('postgres') || !inject('redis'))('a worker in the middle of a chunked encode', () => {
  it('C12.14: a chunked encode whose worker is killed at 20, 50 and 80 % costs the chunks that were being encoded, and no other', async (context) => {
    const [fleet, ffmpeg] = [await openFleet(context), await countedFfmpeg()];
    context.onTestFinished(ffmpeg.remove);
    const clip = '-f lavfi -i testsrc2=s=192x108:r=10:d=60 -f lavfi -i sine=f=440:r=48000:d=60';
    await fleet.addSource(
      'clip.mp4',
      await sample('killed.mp4', `${clip} -c:v libx264 -g 20 -pix_fmt yuv420p -c:a aac`),
    );
    const env = { CHUNK_LENGTH: '6s', FFMPEG_PATH: ffmpeg.program };
    let worker = await fleet.start('worker', env);
    const id = await fleet.submit('video:transcode', 'clip.mp4', { options: { encrypt: true } });
    const records = async () => {
      const split = await readFile(join(fleet.media, splitKey(id)), 'utf8').then(parseSplit, () => null);
      if (split === null) return [];
      const folder = join(fleet.media, chunkResultsRoot(split.rev));
      const names = await readdir(folder).catch(() => []);
      return names.filter((name) => name !== 'audio.json').map((name) => join(folder, name));
    };
    const written = new Map<string, number>();
    for (const chunks of [2, 5, 8]) {
      await until(records, (paths) => paths.length >= chunks, hangMs);
      worker.signal('SIGKILL');
      await worker.ended;
      for (const [path, mtimeMs] of await Promise.all((await records()).map(modified)))
        written.set(path, written.get(path) ?? mtimeMs);
      worker = await fleet.start('worker', env);
    }
    const job = await fleet.finished(id, hangMs);
    expect(job).toMatchObject({ status: 'completed', attempt: 4, failures: 0, disruptions: 3, progress: 95 });
    // One chunk of ten was encoded at each kill: at most 10 % of the video for each.
    const encodes = await ffmpeg.encodes();
    expect(new Set(encodes).size).toBe(10);
    expect(encodes.length).toBeLessThanOrEqual(10 + 3);
    expect(await ffmpeg.cuts()).toBe(10);
    const all = await records();
    expect(all).toHaveLength(10);
    for (const [path, mtimeMs] of await Promise.all(all.map(modified)))
      expect(mtimeMs).toBe(written.get(path) ?? mtimeMs);
    const manifest = parseManifest(await readFile(join(fleet.media, resultManifestKey(id, 4)), 'utf8'));
    const published = new Map(manifest.objects.map(({ key, size }) => [key, size]));
    for (const path of all) {
      for (const { key, size } of parseChunkResult(await readFile(path, 'utf8')).objects)
        expect(published.get(key)).toBe(size);
    }
  });
});

async function modified(path: string): Promise<[string, number]> {
  return [path, (await stat(path)).mtimeMs];
}

import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { keyFrameRanges } from '#domain/media/key-frame-ranges.ts';
import { digestDocuments } from '#domain/work/object-digests.ts';
import {
  chunkResultKey,
  chunkSourceKey,
  encodePlanKey,
  resultManifestKey,
  splitKey,
  videoKey,
  videoRoot,
} from '#domain/media/object-keys.ts';
import { mediaProfilesSchema } from '#domain/media/profiles.ts';
import { foldersOf } from '#domain/work/manifest.ts';
import { parseChunkResult, parseSplit } from '#domain/work/split.ts';
import { parseTask } from '#domain/work/task.ts';
import { openObjectStore } from '#platform/storage/open.ts';
import { makeChunked, runUnit, split } from '../../testing/chunked.ts';
import { changedSample, decodingErrors, decrypt, packetTimes, sample } from '../../testing/media.ts';
import {
  contentKey,
  inOnePiece,
  keyEnvironment,
  removeRigs,
  type RunnerRig,
  runnerRig,
  wholeTrack,
} from '../../testing/runner.ts';

// The units of a chunked encode, which any number of processes may do at once and again, and what is not in chunks.

afterAll(removeRigs);

// A sheet of the storyboard needs chunks of a minute.
const { byName } = mediaProfilesSchema.parse({
  profiles: {
    surround: {
      ladder: [{ short_side: 108, bitrate: 200_000 }],
      storyboard: 'never',
      audio: { loudness: -16, surround: true },
    },
  },
});

const x264 = '-c:v libx264 -preset veryfast -pix_fmt yuv420p -g 20';
const pattern = (seconds: number) => `-f lavfi -i testsrc2=s=192x108:r=10:d=${seconds}`;
const tone = (seconds: number) => `-f lavfi -i sine=f=440:r=48000:d=${seconds}`;
const clip = () => sample('long-units.mp4', `${pattern(20)} ${tone(20)} ${x264} -c:a aac`);

describe('the units of a chunked encode', () => {
  it('a split that fails while it publishes has named its revision, so that cleanup finds what it wrote', async () => {
    const rig = await runnerRig('video:transcode', await clip(), {});
    const { hash, job_id: id } = parseTask(rig.task);
    // A file lies where the folder of the stream must be.
    const folder = rig.at(videoRoot(hash));
    await mkdir(dirname(folder), { recursive: true });
    await writeFile(folder, '');
    await expect(split(rig)).rejects.toThrow('storage_error');
    const { rev } = parseSplit(await readFile(rig.at(splitKey(id)), 'utf8'));
    await rm(folder);
    await rm(join(rig.dir, `workspace-split${id}`), { recursive: true });
    expect((await split(rig))?.rev).toBe(rev);
  });

  it('two processes that encode one chunk at once leave one encrypted stream, and its records name what is stored', async () => {
    const rig = await runnerRig('video:transcode', await clip(), { encrypt: true });
    const plan = await split(rig, keyEnvironment);
    const rev = plan?.rev ?? '';
    const encode = (chunk: number, name: string) =>
      runUnit(rig, { kind: 'chunk', chunk }, { rev, env: keyEnvironment, name });
    await Promise.all([encode(1, 'a'), encode(1, 'b')]);
    await encode(0, 'a');
    await expect(runUnit(rig, { kind: 'finish' }, { rev, env: keyEnvironment })).rejects.toThrow('storage_error');
    await encode(2, 'a');
    // A segment that vanished is found before anything is published, and its chunk is encoded again.
    const { objects } = parseChunkResult(await readFile(rig.at(chunkResultKey(rev, 2)), 'utf8'));
    await rm(rig.at(objects[0]?.key ?? ''));
    await expect(runUnit(rig, { kind: 'finish' }, { rev, env: keyEnvironment })).rejects.toThrow('storage_error');
    await expect(stat(rig.at(chunkResultKey(rev, 2)))).rejects.toThrow('ENOENT');
    // The sources of encoded chunks were removed: the next attempt splits the video again, for this chunk alone.
    const sources = async () => (await rig.keys()).filter((key) => key.endsWith('.nut'));
    expect(await sources()).toEqual([]);
    await rm(join(rig.dir, `workspace-split${parseTask(rig.task).job_id}`), { recursive: true });
    expect(await split(rig, keyEnvironment)).toEqual(plan);
    expect(await sources()).toEqual([chunkSourceKey(rev, 2)]);
    await encode(2, 'b');
    await runUnit(rig, { kind: 'finish' }, { rev, env: keyEnvironment });
    const manifest = await rig.manifest();
    const [track] = manifest?.results.video_tracks ?? [];
    if (manifest === null || track === undefined) throw new Error('no stream');
    const stored = await Promise.all(
      manifest.objects.map(async ({ key }) => {
        const bytes = await readFile(rig.at(key));
        return { key, size: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
      }),
    );
    const { job_id: jobId, attempt } = parseTask(rig.task);
    const document: unknown = JSON.parse(await readFile(rig.at(resultManifestKey(jobId, attempt)), 'utf8'));
    expect(document).toMatchObject({ folders: foldersOf(stored) });
    for (const { key, text } of digestDocuments(stored)) expect(await readFile(rig.at(key), 'utf8')).toBe(text);
    const clear = join(rig.dir, 'clear.mp4');
    await decrypt(await wholeTrack(rig, track), clear, contentKey, 'video');
    expect(await decodingErrors(clear)).toBe('');
    expect(await packetTimes(clear)).toHaveLength(200);
  });

  it('C12.14: another job over the same source has the same chunks, and a source under three chunks has none', async () => {
    const rig = await runnerRig('video:transcode', await clip());
    const etag = await etagOf(rig);
    const first = await split(withTask(rig, { source: { ...parseTask(rig.task).source, etag } }));
    await runUnit(rig, { kind: 'chunk', chunk: 0 }, { rev: first?.rev ?? '' });
    const kept = [chunkResultKey(first?.rev ?? '', 0), chunkSourceKey(first?.rev ?? '', 1)];
    const times = () => Promise.all(kept.map(async (key) => (await stat(rig.at(key))).mtimeMs));
    const written = await times();
    const lost = rig.at(chunkSourceKey(first?.rev ?? '', 2));
    await rm(lost);
    const retry = withTask(rig, { job_id: randomUUID(), source: { ...parseTask(rig.task).source, etag } });
    expect(await split(retry)).toEqual(first);
    expect(await times()).toEqual(written);
    expect((await stat(lost)).size).toBeGreaterThan(0);
    const other = await split(withTask(rig, { job_id: randomUUID() }));
    expect(other?.rev).not.toBe(first?.rev);
    const brief = await runnerRig('video:transcode', await sample('long-brief.mp4', `${pattern(13)} ${x264}`));
    expect(await split(brief)).toBeNull();
    expect((await brief.manifest())?.status).toBe('completed');
  });
});

describe('a chunked encode that several processes make at once', () => {
  it('C12.14: a stream never changes while other jobs make the same chunks again', async () => {
    const rig = await runnerRig('video:transcode', await clip());
    const { source } = parseTask(rig.task);
    const first = withTask(rig, { source: { ...source, etag: await etagOf(rig) } });
    const second = withTask(first, { job_id: randomUUID() });
    const reader = pollingReader(rig);
    const plan = await split(first);
    const rev = plan?.rev ?? '';
    expect(await split(second)).toEqual(plan);
    const make = async (of: RunnerRig, name: string, chunks: readonly number[]) => {
      for (const chunk of chunks) await runUnit(of, { kind: 'chunk', chunk }, { rev, name });
    };
    await Promise.all([make(first, 'a', [0, 1, 2]), make(second, 'b', [0, 2, 1])]);
    const finish = (of: RunnerRig, name: string) => runUnit(of, { kind: 'finish' }, { rev, name });
    await Promise.all([finish(first, 'a'), finish(second, 'b')]);
    // A third job comes after cleanup, and encodes every chunk in another way.
    await rm(rig.at(dirname(encodePlanKey(rev))), { recursive: true });
    const third = withTask(first, { job_id: randomUUID() });
    expect(await split(third)).toEqual(plan);
    await make(third, 'c', [0, 1, 2]);
    await finish(third, 'c');
    const { changed, missing, rounds } = await reader.stop();
    expect([changed, missing]).toEqual([[], []]);
    expect(rounds).toBeGreaterThan(1);
    const tracks = (await rig.manifest())?.results.video_tracks ?? [];
    expect(tracks).not.toEqual([]);
    for (const { playlist } of tracks) await expectIframesOf(rig, dirname(playlist));
  });
});

describe('what of a chunked encode is not in chunks', () => {
  it('C12.15, C14.19, C16.4: audio by its profile, subtitles and chapters equal the stream in one piece', async () => {
    const srt = '1\n00:00:01,000 --> 00:00:03,000\nEarly\n\n2\n00:00:13,500 --> 00:00:14,500\nLate\n';
    const text = await changedSample('late.srt', import.meta.filename, () => Buffer.from(srt));
    const titled = ';FFMETADATA1\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\nEND=8500\ntitle=Früh & <spät>\n';
    const chapters = await changedSample('chapters.txt', import.meta.filename, () => Buffer.from(titled));
    const channels = Array.from({ length: 6 }, (_, index) => `0.1*sin(${300 + 100 * index}*t)`).join('|');
    const source = await sample(
      'long-beside.mkv',
      `${pattern(19)} -f lavfi -i aevalsrc=${channels}:c=5.1:s=48000:d=19 -f srt -i ${text} -f ffmetadata -i ${chapters} ` +
        `-map 0 -map 1 -map 1 -map 2 -map 2 -map_chapters 3 ${x264} -c:a flac -c:s srt ` +
        '-metadata:s:a:1 language=fra -metadata:s:s:0 language=ger -disposition:s:1 forced',
    );
    const profile = byName.get('surround') ?? null;
    const chunked = await makeChunked(source, { profile });
    const whole = await inOnePiece(source, { type: 'video:transcode', profile });
    expect(resultsOf(chunked)).toEqual(resultsOf(whole));
    expect(chunked.results.text_tracks).toHaveLength(2);
    expect(chunked.results.audio_tracks.map((track) => track.channels)).toEqual([2, 6, 2, 6]);
    for (const { loudness } of chunked.results.audio_tracks) expect(loudness?.integrated_lufs).toBeCloseTo(-16, 0);
    expect(chunked.results.chapters?.list[0]?.title).toBe('Früh & <spät>');
    expect(await textsOf(chunked.rig, chunked.split.rev)).toEqual(await textsOf(whole.rig, whole.rev));
    for (const name of ['master.m3u8', 'manifest.mpd']) {
      const [made, expected] = await Promise.all(
        [[chunked.rig, chunked.split.rev] as const, [whole.rig, whole.rev] as const].map(async ([rig, rev]) =>
          withoutRates(await readFile(rig.at(videoKey('clip-1', rev, name)), 'utf8')),
        ),
      );
      expect(made).toBe(expected);
    }
  });
});

describe('a video:full in chunks', () => {
  it('a video:full in chunks has the results of one in one piece, and its retry has the same chunks', async () => {
    const source = await clip();
    const options = { transcode: { encrypt: true } };
    const rig = await runnerRig('video:full', source, options);
    const whole = await inOnePiece(source, { type: 'video:full', options, env: keyEnvironment });
    const etag = await etagOf(rig);
    const full = withTask(rig, { source: { ...parseTask(rig.task).source, etag } });
    const plan = await split(full, keyEnvironment);
    const rev = plan?.rev ?? '';
    const retry = withTask(full, { job_id: randomUUID(), type: 'video:transcode', options: options.transcode });
    expect(await split(retry, keyEnvironment)).toEqual(plan);
    for (const chunk of [0, 1, 2]) await runUnit(full, { kind: 'chunk', chunk }, { rev, env: keyEnvironment });
    await runUnit(full, { kind: 'finish' }, { rev, env: keyEnvironment });
    const made = await rig.manifest();
    expect(resultsOf(made)).toEqual(resultsOf(whole));
    expect(made?.results.stages.cover.status).toBe('ready');
    for (const { key, size } of made?.objects ?? []) expect([key, (await stat(rig.at(key))).size]).toEqual([key, size]);
    const images = made?.objects.filter(({ key }) => !key.includes(rev)).map(({ key }) => key) ?? [];
    expect(images).toEqual([made?.results.artifacts.cover?.key, made?.results.artifacts.preview?.key]);
  });
});

/** Results without the revision, and without what differs by what chunks cost. */
function resultsOf(manifest: { readonly results: unknown } | null) {
  const json = JSON.stringify(manifest?.results ?? null).replaceAll(/\/[0-9a-f]{16}\//g, '/REV/');
  const results = JSON.parse(json) as { artifacts?: { preview?: object } };
  return {
    ...results,
    video_tracks: [],
    artifacts: { ...results.artifacts, preview: results.artifacts?.preview !== undefined },
  };
}

/** Subtitles, and the playlists of audio and text. */
async function textsOf(rig: RunnerRig, rev: string): Promise<Record<string, string>> {
  const keys = (await rig.keys()).filter((key) => /\.vtt$|\/(text|audio)\/.*m3u8$/.test(key));
  const texts = keys.map(async (key) => [key.replace(rev, 'REV'), await readFile(rig.at(key), 'utf8')]);
  return Object.fromEntries(await Promise.all(texts)) as Record<string, string>;
}

/** Bit rates differ by what chunks cost, and segments of one length are counted in each chunk by itself. */
function withoutRates(text: string): string {
  return text.replaceAll(/bandwidth="?=?"?\d+"?/gi, '').replaceAll(/^ *<S .*\n/gm, '');
}

/** Every byte range of an I-frame playlist is a key frame of the segment that is stored. */
async function expectIframesOf(rig: RunnerRig, folder: string): Promise<void> {
  const text = await readFile(rig.at(join(folder, 'iframes.m3u8')), 'utf8');
  const named = [...text.matchAll(/^#EXT-X-BYTERANGE:(\d+)@(\d+)\n(.+)$/gm)].map(([, bytes, offset, uri]) => ({
    uri,
    offset: Number(offset),
    bytes: Number(bytes),
  }));
  const stored = [];
  for (const uri of new Set(named.map((entry) => entry.uri ?? '')))
    for (const range of keyFrameRanges(await readFile(rig.at(join(folder, uri))))) stored.push({ uri, ...range });
  expect(stored.length).toBeGreaterThan(0);
  expect(named).toEqual(stored);
}

/** Reads every published object again and again: bytes never change, and what a playlist names can be read. */
function pollingReader(rig: RunnerRig) {
  const digests = new Map<string, string>();
  const [changed, missing] = [new Set<string>(), new Set<string>()];
  const stopping = new AbortController();
  let rounds = 0;
  const read = async (path: string) => {
    const bytes = await readFile(path);
    const digest = createHash('sha256').update(bytes).digest('hex');
    if (digest !== (digests.get(path) ?? digest)) changed.add(path);
    digests.set(path, digest);
    if (!path.endsWith('.m3u8')) return;
    const named = bytes.toString().matchAll(/^[^#\n]+|(?<=URI=")[^":]+(?=")/gm);
    for (const [uri] of named) {
      const target = join(dirname(path), uri);
      await stat(target).catch(() => missing.add(target));
    }
  };
  const poll = async () => {
    const folder = join(rig.media, 'videos');
    const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
    for (const entry of entries) if (entry.isFile()) await read(join(entry.parentPath, entry.name));
    for (const path of digests.keys()) await stat(path).catch(() => missing.add(path));
    rounds += 1;
  };
  const polling = (async () => {
    while (!stopping.signal.aborted) {
      await poll();
      // Reading without a pause would take a core from the processes that write.
      await sleep(20);
    }
    await poll();
  })();
  return {
    stop: async () => {
      stopping.abort();
      await polling;
      return { changed: [...changed], missing: [...missing], rounds };
    },
  };
}

function withTask<T extends RunnerRig>(rig: T, changes: object): T {
  return { ...rig, task: JSON.stringify({ ...parseTask(rig.task), ...changes }) };
}

async function etagOf(rig: RunnerRig): Promise<string> {
  const dir = join(rig.dir, 'source');
  const info = await openObjectStore({ bucket: `file:${dir}`, dir }).head('clip');
  return info?.etag ?? '';
}

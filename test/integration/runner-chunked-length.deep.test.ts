import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { link, readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, request as forward } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { Parser } from 'm3u8-parser';
import { afterAll, describe, expect, inject, it, onTestFinished } from 'vitest';
import type { JobResults } from '#domain/job-types/index.ts';
import { exampleJob } from '../../testing/example-job.ts';
import { Metrics } from '#platform/telemetry/metrics.ts';
import { segmentTimes } from '#domain/media/dash-manifest.ts';
import {
  splitKey,
  encodePlanKey,
  chunkResultKey,
  masterKey,
  resultManifestKey,
  videoKey,
} from '#domain/media/object-keys.ts';
import { mediaProfilesSchema } from '#domain/media/profiles.ts';
import { parseManifest } from '#domain/work/manifest.ts';
import { type ChunkResult, parseChunkResult } from '#domain/work/split.ts';
import { parseTask } from '#domain/work/task.ts';
import { completeAttempt } from '#jobs/completion/complete-attempt.ts';
import { findSplitWork } from '#jobs/completion/next-units.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import { openObjectStore } from '#platform/storage/open.ts';
import { encodePlanSchema } from '../../runner/handlers/video-transcode/chunked/plan.ts';
import { runUnit, split } from '../../testing/chunked.ts';
import { sample } from '../../testing/media.ts';
import { removeRigs, type RunnerRig, runnerRig } from '../../testing/runner.ts';

// The last part and the completion of the longest video there may be: twelve hours in 720 chunks, made up from two that
// were encoded, in a bucket with a file for each of its 30,000 objects.

afterAll(removeRigs);

const chunks = 720;
const chunkSec = 60;
const segmentsPerChunk = 10;
const durationSec = chunks * chunkSec;
/** MiB that the last part may have for its objects, besides what the runner is compiled to. */
const heapMebibytes = 192;

const { byName } = mediaProfilesSchema.parse({
  profiles: {
    four: {
      ladder: [
        { short_side: 64, bitrate: 200_000 },
        { short_side: 108, bitrate: 400_000 },
        { short_side: 180, bitrate: 800_000 },
        { short_side: 288, bitrate: 1_600_000 },
      ],
    },
  },
});

/** The record of a chunk, moved to one that is `later` chunks after it. */
function movedBy(record: ChunkResult, later: number, chunkTicks: number): ChunkResult {
  const json = JSON.stringify(record)
    .replaceAll(/seg_(\d+)\./g, (_, number) => `seg_${Number(number) + later * segmentsPerChunk}.`)
    .replaceAll(/sheet_(\d+)\./g, (_, number) => `sheet_${Number(number) + later}.`)
    .replaceAll(/ t=\\"(\d+)\\"/g, (_, ticks) => String.raw` t=\"${Number(ticks) + later * chunkTicks}\"`);
  return parseChunkResult(json);
}

interface Bucket {
  readonly store: ObjectStore;
  /** Its folder. */
  readonly dir: string;
}

/** Makes an encode of twelve hours out of one of three minutes, as if all its chunks were encoded. */
async function lengthen(rig: RunnerRig, rev: string, { store, dir }: Bucket): Promise<void> {
  const read = (key: string) => readFile(rig.at(key), 'utf8');
  const put = (key: string, bytes: string | Buffer) => store.put(key, bytes, { contentType: 'text/plain' });
  const write = (key: string, value: unknown) => put(key, JSON.stringify(value));
  const recordOf = async (chunk: number | 'audio') => parseChunkResult(await read(chunkResultKey(rev, chunk)));
  const plan = encodePlanSchema.parse(JSON.parse(await read(encodePlanKey(rev))));
  const frames = plan.chunks[0]?.frames ?? 0;
  const planned = Array.from({ length: chunks }, (_, chunk) => ({
    firstFrame: chunk * frames,
    frames,
    firstSegment: 1 + chunk * segmentsPerChunk,
  }));
  await write(encodePlanKey(rev), { ...plan, chunks: planned, frames: chunks * frames });
  await write(splitKey(parseTask(rig.task).job_id), { v: 1, rev, chunk_frames: planned.map(() => frames) });
  await write(chunkResultKey(rev, 'audio'), await recordOf('audio'));
  const [first, second] = [await recordOf(0), await recordOf(1)];
  for (const { key } of [...first.objects, ...second.objects]) await put(key, await readFile(rig.at(key)));
  const { start, timescale } = segmentTimes(second.dash, `video/${plan.video[0]?.id}`) ?? { start: 0, timescale: 1 };
  expect(start).toBe(chunkSec * timescale);
  for (const chunk of planned.keys()) {
    const record = chunk === 0 ? first : movedBy(second, chunk - 1, start);
    await write(chunkResultKey(rev, chunk), record);
    if (chunk < 2) continue;
    // One file under many names is in the bucket at once.
    for (const [index, { key }] of record.objects.entries())
      await link(join(dir, second.objects[index]?.key ?? ''), join(dir, key));
  }
}

/** `GET`, `PUT`, … or `LIST`. */
function kindOf({ method = '', url = '' }: IncomingMessage): string {
  return url.includes('list-type=2') ? 'LIST' : method;
}

/** Passes requests on to a server, and counts them by kind. */
async function startCounter(target: string) {
  const counts: Record<string, number> = {};
  const server = createServer((request, response) => {
    const kind = kindOf(request);
    counts[kind] = (counts[kind] ?? 0) + 1;
    const { method, url: path, headers } = request;
    const { hostname, port } = new URL(target);
    const passed = forward({ hostname, port, method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    passed.on('error', () => response.destroy());
    request.pipe(passed);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    /** The requests since the last call. */
    take: () => {
      const taken = { ...counts };
      for (const kind of Object.keys(counts)) delete counts[kind];
      return taken;
    },
  };
}

/** How many pages a list of this many objects has. */
const pages = (count: number) => Math.ceil(count / 1000);

function parsed(playlist: string) {
  const parser = new Parser();
  parser.push(playlist);
  parser.end();
  return parser.manifest;
}

describe.skipIf(!inject('s3')?.dir)('a video of twelve hours', () => {
  it('C12.15: a video of twelve hours is finished and completed by listing its objects, in bounded memory', async () => {
    const { endpoint, dir, accessKeyId, secretAccessKey } = inject('s3')!;
    const counter = await startCounter(endpoint);
    const bucket = `video-${randomBytes(6).toString('hex')}`;
    const keys = { accessKeyId, secretAccessKey };
    const client = new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true, credentials: keys });
    await client.send(new CreateBucketCommand({ Bucket: bucket }));
    client.destroy();
    const media = openObjectStore({
      bucket,
      s3: {
        endpoint: counter.endpoint,
        region: 'us-east-1',
        forcePathStyle: true,
        keys,
        timeoutMs: 600_000,
        chainVariables: {},
        checksums: 'when_supported',
      },
    });
    onTestFinished(() => media.close());

    const pattern = `-f lavfi -i testsrc2=s=512x288:r=5:d=${3 * chunkSec}`;
    const source = await sample('long-hours.mp4', `${pattern} -c:v libx264 -preset ultrafast -g 10 -pix_fmt yuv420p`);
    const rig = await runnerRig('video:transcode', source, {}, byName.get('four') ?? null);
    const { job_id: jobId, hash, type } = parseTask(rig.task);
    const rev = (await split(rig, {}, chunkSec))?.rev ?? '';
    for (const chunk of [0, 1]) await runUnit(rig, { kind: 'chunk', chunk }, { rev });
    await lengthen(rig, rev, { store: media, dir: join(dir ?? '', bucket) });
    counter.take();

    expect((await findSplitWork(jobId, media))?.finished.size).toBe(chunks);
    expect(counter.take()).toEqual({ GET: 1, LIST: 1 });

    await runUnit(
      rig,
      { kind: 'finish' },
      {
        rev,
        env: {
          NODE_OPTIONS: `--max-old-space-size=${heapMebibytes}`,
          MEDIA_BUCKET: bucket,
          MEDIA_S3_ENDPOINT: counter.endpoint,
          MEDIA_S3_ACCESS_KEY_ID: accessKeyId,
          MEDIA_S3_SECRET_ACCESS_KEY: secretAccessKey,
        },
      },
    );
    const finish = counter.take();
    const readText = async (key: string) => {
      const object = await media.get(key);
      return object === null ? '' : text(object.body);
    };
    const manifestText = await readText(resultManifestKey(jobId, 1));
    const { objects, ...manifest } = parseManifest(manifestText);
    const results = manifest.results as JobResults<'video:transcode'>;
    // A key of 100 bytes and a digest of 64 for each would be 4 MB.
    expect(manifestText.length).toBeLessThan(400_000);
    expect(objects.length).toBeGreaterThan(20_000);
    const texts = objects.filter(({ key }) => /\.(m3u8|mpd|vtt)$/.test(key)).length;
    // The plan and the results of chunks and audio are read, and nothing is asked of single objects.
    // Beside playlists and captions, the digests and the manifest are written.
    expect(finish).toEqual({ HEAD: 1, GET: chunks + 2, LIST: pages(objects.length - texts), PUT: texts + 2 });

    counter.take();
    const job = exampleJob({ id: jobId, type, hash });
    const completion = await completeAttempt(
      { job, attempt: 1 },
      {
        jobs: {
          finish: async ({ beforeCommit }) => {
            await beforeCommit?.({ hasNewerStream: false });
            return job;
          },
        },
        media,
        metrics: new Metrics(),
        randomUuid: randomUUID,
      },
    );
    expect(completion).toMatchObject({ outcome: 'recorded' });
    // Manifest, split and master; the top master is written.
    expect(counter.take()).toEqual({ GET: 3, LIST: pages(objects.length + 1), PUT: 1 });

    expect(parsed(await readText(masterKey(hash))).playlists).toHaveLength(results.video_tracks.length);
    const dash = await readText(videoKey(hash, rev, 'manifest.mpd'));
    expect(results.video_tracks.length).toBeGreaterThan(2);
    for (const { id, playlist } of results.video_tracks) {
      const { segments } = parsed(await readText(playlist));
      expect(segments).toHaveLength(chunks * segmentsPerChunk);
      expect(segments.reduce((sum, { duration }) => sum + duration, 0)).toBeCloseTo(durationSec, 3);
      expect(segments.at(-1)?.uri).toBe(`seg_${chunks * segmentsPerChunk}.m4s`);
      const { start, duration, timescale } = segmentTimes(dash, `video/${id}`) ?? {};
      expect([start, (duration ?? 0) / (timescale ?? 1)]).toEqual([0, durationSec]);
    }
  });
});

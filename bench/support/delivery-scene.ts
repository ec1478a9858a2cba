import { randomBytes } from 'node:crypto';
import { link, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { videoKey, videoRoot } from '#domain/media/object-keys.ts';
import { signThumbPath, thumbSecretsOf } from '#domain/playback/thumb.ts';
import { signPlaybackToken } from '#domain/playback/token.ts';
import { ContentKeyStore } from '#platform/postgres/content-key-store.ts';
import { openDatabase } from '#platform/postgres/database.ts';
import { openObjectStore } from '#platform/storage/open.ts';
import { secrets } from '../../testing/programs.ts';
import { startS3 } from '../../testing/servers.ts';
import type { PacedOptions } from './client-options.ts';
import { startOnOwnServers } from './own-servers.ts';
import { photo } from './photo.ts';
import { renice } from './priority.ts';

// A server on PostgreSQL, Redis and an S3 server, with streams to play, large objects to read
// slowly, and images that were never made.

const bucket = 'media';
const rev = '0123456789abcdef';
const streams = Array.from({ length: 10 }, (_, n) => `stream-${n}`);
const mebibyte = 1024 * 1024;
const segmentBytes = mebibyte;
const segmentsPerStream = 200;
/** More than the buffers of both ends of a connection hold. */
const largeBytes = 64 * mebibyte;
const largeCount = 300;
/** Requests a minute to `/api/key` are limited by token. */
const tokensPerStream = 20;
const [thumbSecret = ''] = thumbSecretsOf([], secrets.KEY_TOKEN_SECRET);

export interface DeliveryScene {
  readonly databaseUrl: string;
  /** Variables of a further process on the same servers. */
  readonly env: Readonly<Record<string, string>>;
  /** The folder behind the media bucket. */
  readonly bucketDir: string;
  readonly port: number;
  readonly pid: number;
  /** What players request. */
  readonly requests: PacedOptions['requests'];
  readonly largePaths: string[];
  readonly imagePaths: string[];
}

export async function setUpDelivery(
  stops: (() => Promise<unknown>)[],
  variables: Readonly<Record<string, string>>,
): Promise<DeliveryScene> {
  const s3 = await startS3();
  stops.push(() => s3.stop());
  if (s3.dir === null) throw new Error('expected versitygw');
  // Storage is on other machines: here it comes after the server that is measured.
  await renice(s3.pid ?? 0, 5);
  await fillBucket(s3, s3.dir);
  const media = {
    MEDIA_BUCKET: bucket,
    MEDIA_S3_ENDPOINT: s3.endpoint,
    MEDIA_S3_ACCESS_KEY_ID: s3.accessKeyId,
    MEDIA_S3_SECRET_ACCESS_KEY: s3.secretAccessKey,
  };
  const { program, databaseUrl, redisUrl, sourceDir } = await startOnOwnServers(stops, {
    args: ['--mode=server'],
    variables: { ...media, ...variables },
  });
  const database = openDatabase(databaseUrl);
  const keys = new ContentKeyStore(database, { encryptionKeys: [secrets.ENCRYPTION_KEY] });
  for (const hash of streams) await keys.findOrCreate(hash);
  await database.close();
  return {
    databaseUrl,
    env: {
      ...secrets,
      ...media,
      DATABASE_URL: databaseUrl,
      REDIS_URL: redisUrl,
      SOURCE_BUCKET: `file:${sourceDir}`,
      LOG_LEVEL: 'warn',
    },
    bucketDir: join(s3.dir, bucket),
    port: Number(new URL(program.url).port),
    pid: program.pid,
    requests: { segments: segments(), keys: keyRequests(), playlists: playlists() },
    largePaths: Array.from({ length: largeCount }, (_, n) => `/stream/large/${rev}/video/t/seg_${n}.m4s`),
    imagePaths: imagePaths(),
  };
}

interface S3Access {
  readonly endpoint: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** One object of each kind is written; the others are links to its file, which have its ETag too. */
async function fillBucket({ endpoint, accessKeyId, secretAccessKey }: S3Access, dir: string): Promise<void> {
  const keys = { accessKeyId, secretAccessKey };
  const settings = { region: 'us-east-1', forcePathStyle: true };
  const client = new S3Client({ endpoint, credentials: keys, ...settings });
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  client.destroy();
  const s3 = {
    endpoint,
    keys,
    timeoutMs: 60_000,
    ...settings,
    chainVariables: {},
    checksums: 'when_supported',
  } as const;
  const store = openObjectStore({ bucket, s3 });
  const write = async (contentType: string, bytes: Buffer, [first = '', ...others]: readonly string[]) => {
    await store.put(first, bytes, { contentType });
    for (const key of others) {
      await mkdir(dirname(join(dir, bucket, key)), { recursive: true });
      await link(join(dir, bucket, first), join(dir, bucket, key));
    }
  };
  const list = Array.from({ length: 150 }, (_, n) => `#EXTINF:6.000,\nseg_${n}.m4s\n`);
  const m3u8 = 'application/vnd.apple.mpegurl';
  await write(
    'video/iso.segment',
    randomBytes(segmentBytes),
    streams.flatMap((hash) => numbered(hash, segmentsPerStream)),
  );
  await write('video/iso.segment', randomBytes(largeBytes), numbered('large', largeCount));
  await write(m3u8, Buffer.from(`#EXTM3U\n${list.join('')}#EXT-X-ENDLIST\n`), streams.map(mediaPlaylist));
  const master = `#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n${rev}/video/t/playlist.m3u8\n`;
  await write(
    m3u8,
    Buffer.from(master),
    streams.map((hash) => `${videoRoot(hash)}/master.m3u8`),
  );
  await write('image/jpeg', await photo(2000, 1500), [imageKey]);
  await store.close();
}

const imageKey = `images/ab/photos/${rev}/photo.jpg`;
const numbered = (hash: string, count: number) =>
  Array.from({ length: count }, (_, n) => videoKey(hash, rev, `video/t/seg_${n}.m4s`));
const mediaPlaylist = (hash: string) => videoKey(hash, rev, 'video/t/playlist.m3u8');

/** In the order in which viewers of all streams at once come to them. */
function segments(): { path: string }[] {
  return Array.from({ length: segmentsPerStream }, (_, n) => n).flatMap((n) =>
    streams.map((hash) => ({ path: `/stream/${hash}/${rev}/video/t/seg_${n}.m4s` })),
  );
}

function playlists(): { path: string }[] {
  return streams.flatMap((hash) =>
    ['master.m3u8', `${rev}/video/t/playlist.m3u8`].map((path) => ({ path: `/stream/${hash}/${path}` })),
  );
}

function keyRequests(): { path: string; token: string }[] {
  const exp = Math.floor(Date.now() / 1000) + 3600;
  return Array.from({ length: tokensPerStream }, (_, n) => n).flatMap((n) =>
    streams.map((hash) => ({
      path: `/api/key/${hash}`,
      token: signPlaybackToken({ hash, exp: exp + n }, secrets.KEY_TOKEN_SECRET),
    })),
  );
}

/** AVIF, which takes the longest; each address is another image. */
function imagePaths(): string[] {
  const widths = Array.from({ length: 200 }, (_, n) => 1000 + n);
  return [60, 61, 62, 63, 64].flatMap((q) =>
    widths.map((w) => signThumbPath(imageKey, { w, q, f: 'avif' }, thumbSecret)),
  );
}

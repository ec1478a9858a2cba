import { randomBytes } from 'node:crypto';
import { chmod, link, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { videoRoot } from '#domain/media/object-keys.ts';
import { certificate } from '../../testing/certificate.ts';

// One media in an origin that serves files, and what players request of it.

export const mediaHash = 'bench';
export const bucket = 'media';
const rev = '0123456789abcdef';
const segmentBytes = 2 * 1024 * 1024;
/** Each run requests names that no run before it has requested, more than can be served in its time. */
export const coldCount = 60_000;
/** As many as a few renditions have in use: these are in memory after the first second. */
const hotCount = 20;

/** The settings of a server whose media bucket is at an origin that checks no signature. */
export function mediaVariables(endpoint: string): Record<string, string> {
  return {
    MEDIA_BUCKET: bucket,
    MEDIA_S3_ENDPOINT: endpoint,
    MEDIA_S3_ACCESS_KEY_ID: 'bench',
    MEDIA_S3_SECRET_ACCESS_KEY: 'a-secret-that-is-not-checked',
  };
}

export interface StreamCase {
  readonly id: string;
  readonly what: string;
  readonly path: { readonly prefix: string; readonly count: number; readonly suffix: string };
  readonly sizeBytesMin: number;
}

const trackPath = `/${mediaHash}/${rev}/video`;

export const streamCases = {
  hot: {
    id: 'segments-hot',
    what: '2 MB segments, hot',
    path: { prefix: `/stream${trackPath}/hot/seg_`, count: hotCount, suffix: '.m4s' },
    sizeBytesMin: segmentBytes,
  },
  cold: {
    id: 'segments-cold',
    what: '2 MB segments, cold',
    path: { prefix: `/stream${trackPath}/cold/seg_`, count: coldCount, suffix: '.m4s' },
    sizeBytesMin: segmentBytes,
  },
  playlists: {
    id: 'playlists',
    what: '4 kB playlists',
    path: { prefix: `/stream${trackPath}/list`, count: hotCount, suffix: '/playlist.m3u8' },
    sizeBytesMin: 4000,
  },
} as const satisfies Readonly<Record<string, StreamCase>>;

export const certificateFile = (folder: string) => join(folder, 'certificate.pem');
export const keyFile = (folder: string) => join(folder, 'key.pem');

/** One segment under many names, so that it is in the page cache for all contenders alike. */
export async function fillOrigin(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  await writeFile(certificateFile(folder), certificate.cert);
  await writeFile(keyFile(folder), certificate.key);
  const track = join(folder, bucket, videoRoot(mediaHash), rev, 'video');
  for (const name of ['hot', 'cold']) await mkdir(join(track, name), { recursive: true });
  const segment = join(folder, 'segment');
  await writeFile(segment, randomBytes(segmentBytes));
  for (let n = 1; n <= hotCount; n++) await link(segment, join(track, 'hot', `seg_${n}.m4s`));
  for (let n = 1; n <= coldCount; n++) await link(segment, join(track, 'cold', `seg_${n}.m4s`));
  for (let n = 1; n <= hotCount; n++) {
    await mkdir(join(track, `list${n}`));
    const segments = Array.from({ length: 150 }, (_, index) => `#EXTINF:6.000,\nseg_${index + 1}.m4s\n`);
    await writeFile(join(track, `list${n}`, 'playlist.m3u8'), `#EXTM3U\n${segments.join('')}#EXT-X-ENDLIST\n`);
  }
}

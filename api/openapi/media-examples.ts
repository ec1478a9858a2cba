import { receiptOf } from '#domain/library/deletion.ts';
import { openPlayback } from '#domain/media/playback.ts';
import { deletionToWire, listedMediaToWire, mediaToWire } from '../wire/media.ts';
import { playbackToWire } from '../wire/playback.ts';

// Examples of what the routes of media answer, made by the functions that make the answers.

const hash = 'movie-1';
const [createdAt, updatedAt] = [new Date('2026-11-23T10:00:00Z'), new Date('2026-11-23T10:02:11Z')];
const jobId = '5b2f0d3e-3d0c-4a53-8f0e-6c5d8a1f9e27';
const [objects, bytes] = [412, 183_224_019];
const media = { hash, createdAt, updatedAt, expiresAt: null, legalHold: false, bytes, objects };
const job = { jobId, type: 'video:cover', status: 'completed', createdAt } as const;
const cover = {
  key: 'videos/c3/movie-1/9f86d081884c7d65/cover.jpg',
  format: 'jpg',
  size: 48_112,
  width: 1280,
  height: 720,
  timestamp_sec: 12.4,
};
const made = {
  ...job,
  source: 'uploads/movie-1.mp4',
  sourceEtag: '"9b2cf535f27731c974343645a3985328"',
  profile: null,
  streamRev: '9f86d081884c7d65',
  toolVersion: '1.4.0',
  isCurrent: true,
  bytes,
  objects,
  results: cover as never,
};
const kid = '9a04f07998404286ab92e65be0885f95';
const requested = {
  id: 'f2a1d6c4-7c39-4f0b-9d7e-0a4f6f0f2b11',
  hash,
  reason: 'request' as const,
  requestedAt: new Date('2026-11-24T08:00:00Z'),
  kid,
};
const listed = { objects, bytes, objectsSha256: 'a'.repeat(64), finishedAt: new Date('2026-11-24T08:00:09Z') };
const receipt = receiptOf({ ...requested, ...listed }, 'an example, not a secret');
const notListed = { objects: null, bytes: null, objectsSha256: null, objectsDeleted: 0, finishedAt: null };
const shownMedia = listedMediaToWire({ ...media, isDeleting: false });

export const mediaExamples = {
  Media: {
    live: { value: mediaToWire({ media, playback: openPlayback, deletion: null, kid, jobs: [job], made: [made] }) },
  },
  ListedMedia: { live: { value: shownMedia } },
  MediaList: { page: { value: { media: [shownMedia], next_cursor: null } } },
  MediaFiles: {
    page: {
      value: {
        files: [
          {
            key: cover.key,
            size: cover.size,
            etag: '"0cc175b9c0f1b6a8"',
            sha256: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
            last_modified: updatedAt.toISOString(),
          },
        ],
        next_cursor: null,
      },
    },
  },
  PlaybackDays: {
    days: {
      value: playbackToWire([
        { day: '2026-11-24', requests: 8_412, starved: 59, sessions: 131, throughputKbps: 18_300 },
        { day: '2026-11-23', requests: 377, starved: 0, sessions: 6, throughputKbps: null },
      ]),
    },
  },
  MediaDeletion: {
    deleting: { value: deletionToWire({ ...requested, ...notListed, receipt: null }) },
    deleted: { value: deletionToWire({ ...requested, ...listed, objectsDeleted: objects, receipt }) },
  },
};

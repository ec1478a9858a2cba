import { imageKeysOf } from '#domain/job-types/image-keys.ts';
import type { MediaDeletion } from '#domain/library/deletion.ts';
import { purgePathsOf } from '#domain/library/deletion.ts';
import type { Media, MediaStatus } from '#domain/library/media.ts';
import type { ListedMedia } from '#platform/postgres/media-list.ts';
import type { MadeByJob, WholeMedia } from '#platform/postgres/media-store.ts';
import type { Wire } from './schemas.ts';

/** `GET /api/media/{hash}` (C29.1). */
export function mediaToWire({ media, deletion, kid, jobs, made }: WholeMedia): Wire<'Media'> {
  const { hash } = media;
  const current = made.find(({ isCurrent }) => isCurrent)?.streamRev ?? null;
  return {
    ...describedMedia(media, statusOf(deletion)),
    kid,
    current,
    playback: current === null ? null : { master: `/stream/${hash}/master.m3u8`, ...revisionAddresses(hash, current) },
    revisions: made.flatMap((job) => (job.streamRev === null ? [] : [revisionToWire(hash, job, job.streamRev)])),
    images: made.flatMap((job) => [...imageKeysOf(job.results)].map((key) => ({ job_id: job.jobId, key }))),
    jobs: jobs.map(({ jobId, type, status, createdAt }) => ({
      job_id: jobId,
      type,
      status,
      created_at: createdAt.toISOString(),
    })),
    deletion: deletion === null ? null : deletionToWire(deletion),
  };
}

/** A media of a list (C29.3). */
export function listedMediaToWire(media: ListedMedia): Wire<'ListedMedia'> {
  return describedMedia(media, media.isDeleting ? 'deleting' : 'live');
}

/** The answer to a deletion (C29.9). */
export function deletionToWire(deletion: MediaDeletion): Wire<'MediaDeletion'> {
  const { id, hash, reason, requestedAt, finishedAt, objects, bytes, objectsDeleted, kid, receipt } = deletion;
  return {
    deletion_id: id,
    hash,
    status: finishedAt === null ? 'deleting' : 'deleted',
    reason,
    requested_at: requestedAt.toISOString(),
    finished_at: finishedAt?.toISOString() ?? null,
    objects_total: objects,
    objects_left: objects === null ? null : finishedAt === null ? Math.max(0, objects - objectsDeleted) : 0,
    bytes,
    kid,
    purge_paths: [...purgePathsOf(hash)],
    receipt,
  };
}

function describedMedia(media: Media, status: MediaStatus): Wire<'ListedMedia'> {
  return {
    hash: media.hash,
    status,
    created_at: media.createdAt.toISOString(),
    updated_at: media.updatedAt.toISOString(),
    expires_at: media.expiresAt?.toISOString() ?? null,
    legal_hold: media.legalHold,
    bytes: media.bytes,
    objects: media.objects,
  };
}

function statusOf(deletion: MediaDeletion | null): MediaStatus {
  if (deletion === null) return 'live';
  return deletion.finishedAt === null ? 'deleting' : 'deleted';
}

function revisionToWire(hash: string, job: MadeByJob, rev: string): Wire<'Media'>['revisions'][number] {
  return {
    revision: rev,
    job_id: job.jobId,
    type: job.type,
    created_at: job.createdAt.toISOString(),
    source: job.source,
    source_etag: job.sourceEtag,
    profile: job.profile ?? 'default',
    tool_version: job.toolVersion,
    bytes: job.bytes,
    objects: job.objects,
    current: job.isCurrent,
    ...revisionAddresses(hash, rev),
    tracks: tracksOf(job.results),
  };
}

function revisionAddresses(hash: string, rev: string): { readonly playlist: string; readonly manifest: string } {
  return { playlist: `/stream/${hash}/${rev}/master.m3u8`, manifest: `/stream/${hash}/${rev}/manifest.mpd` };
}

type Results = MadeByJob['results'];

function tracksOf(results: Results): string[] {
  const { video_tracks: video = [], audio_tracks: audio = [] } = results as {
    readonly video_tracks?: readonly { readonly id: string }[];
    readonly audio_tracks?: readonly { readonly id: string }[];
  };
  return [...video, ...audio].map(({ id }) => id);
}

import type { z } from 'zod';
import { imageKeysOf } from '#domain/job-types/image-keys.ts';
import type { MediaDeletion } from '#domain/library/deletion.ts';
import { purgePathsOf } from '#domain/library/deletion.ts';
import type { Description } from '#domain/media/description.ts';
import type { Media, MediaStatus } from '#domain/library/media.ts';
import type { ListedMedia } from '#platform/postgres/media-list.ts';
import type { MadeByJob, WholeMedia } from '#platform/postgres/media-store.ts';
import type { listedMediaSchema, mediaDeletionSchema, mediaSchema, revisionSchema } from './media-schemas.ts';

/** `GET /api/media/{hash}` (C29.1). */
export function mediaToWire({
  media,
  description,
  playback,
  deletion,
  kid,
  jobs,
  made,
}: WholeMedia): z.output<typeof mediaSchema> {
  const { hash } = media;
  const begin = playback.mode === 'signed' ? `/s/{ticket}/${hash}` : `/stream/${hash}`;
  const current = made.find(({ isCurrent }) => isCurrent)?.streamRev ?? null;
  return {
    ...describedMedia({ ...media, ...description }, statusOf(deletion)),
    kid,
    current,
    playback: current === null ? null : { master: `${begin}/master.m3u8`, ...revisionAddresses(begin, current) },
    playback_mode: playback.mode,
    playback_generation: playback.generation,
    revisions: made.flatMap((job) => (job.streamRev === null ? [] : [revisionToWire(begin, job, job.streamRev)])),
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
export function listedMediaToWire(media: ListedMedia): z.output<typeof listedMediaSchema> {
  return describedMedia(media, media.isDeleting ? 'deleting' : 'live');
}

/** The answer to a deletion (C29.9). */
export function deletionToWire(deletion: MediaDeletion): z.output<typeof mediaDeletionSchema> {
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

function describedMedia(media: Media & Description, status: MediaStatus): z.output<typeof listedMediaSchema> {
  return {
    hash: media.hash,
    status,
    title: media.title,
    metadata: media.metadata ?? {},
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

function revisionToWire(begin: string, job: MadeByJob, rev: string): z.output<typeof revisionSchema> {
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
    ...revisionAddresses(begin, rev),
    tracks: tracksOf(job.results),
  };
}

/** `begin` is where the addresses of the media begin: `/stream/{hash}`, or `/s/{ticket}/{hash}`. */
function revisionAddresses(begin: string, rev: string): { readonly playlist: string; readonly manifest: string } {
  return { playlist: `${begin}/${rev}/master.m3u8`, manifest: `${begin}/${rev}/manifest.mpd` };
}

type Results = MadeByJob['results'];

function tracksOf(results: Results): string[] {
  const { video_tracks: video = [], audio_tracks: audio = [] } = results as {
    readonly video_tracks?: readonly { readonly id: string }[];
    readonly audio_tracks?: readonly { readonly id: string }[];
  };
  return [...video, ...audio].map(({ id }) => id);
}

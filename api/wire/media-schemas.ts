import { z } from 'zod';
import { deletionReasons } from '#domain/library/deletion.ts';
import { currentRevisionSchema, mediaChangeSchema, mediaStatuses } from '#domain/library/media.ts';
import { playbackModes } from '#domain/media/playback.ts';
import { answers, bodies } from '#platform/http/route-doc.ts';
import {
  count,
  etagField,
  hashField,
  jobIdField,
  jobStatusField,
  jobTypeField,
  kidField,
  metadataField,
  nextCursorField,
  profileField,
  sha256Example,
  titleField,
} from './fields.ts';
import { sourceField, time } from './fields.ts';

// The shapes of media on the wire.

const bytes = count.meta({ examples: [183_224_019] });
const objects = count.meta({ examples: [412] });

export const listedMediaSchema = z
  .object({
    hash: hashField,
    status: z.enum(mediaStatuses).describe('Whether it is there, being deleted, or deleted.'),
    title: titleField,
    metadata: metadataField,
    created_at: time.describe('When its first job was accepted.'),
    updated_at: time.describe('When it last changed.'),
    expires_at: time
      .nullable()
      .describe('When it is deleted without a request; null: never.')
      .meta({ examples: [null] }),
    legal_hold: z.boolean().describe('Whether nothing of it may be deleted.'),
    bytes: bytes.describe('Bytes of the objects that the results of its jobs name.'),
    objects: objects.describe('How many objects the results of its jobs name.'),
  })
  .register(answers, { id: 'ListedMedia' });

/** Addresses that are true to one revision. */
const revisionAddresses = {
  playlist: z
    .string()
    .describe('The path of the HLS playlist of the revision.')
    .meta({ examples: ['/stream/movie-1/9f86d081884c7d65/master.m3u8'] }),
  manifest: z
    .string()
    .describe('The path of the DASH manifest of the revision.')
    .meta({ examples: ['/stream/movie-1/9f86d081884c7d65/manifest.mpd'] }),
};

const deletionId = z.uuid().describe('The deletion.');
const deletionReason = z.enum(deletionReasons).describe('Why it was deleted.');
const deletionReceiptSchema = z.object({
  v: z.literal(1).describe('The version of the form.'),
  deletion_id: deletionId,
  hash: hashField,
  reason: deletionReason,
  requested_at: time.describe('When it was requested.'),
  finished_at: time.describe('When nothing was left.'),
  objects: objects.describe('How many objects were deleted.'),
  bytes: bytes.describe('How many bytes they had.'),
  objects_sha256: z.string().describe('SHA-256 of the list of the objects, in hex.').meta(sha256Example),
  kid: kidField.nullable().describe('The key id of the content key that was destroyed; null where there was none.'),
  signature: z.string().describe('HMAC-SHA256 of the receipt in canonical JSON, in hex.').meta(sha256Example),
});

export const mediaDeletionSchema = z
  .object({
    deletion_id: deletionId,
    hash: hashField,
    status: z.enum(['deleting', 'deleted']).describe('Whether something is left.'),
    reason: deletionReason,
    requested_at: time.describe('When it was requested.'),
    finished_at: time.nullable().describe('When nothing was left.'),
    objects_total: objects.nullable().describe('How many objects there were; null until they were listed.'),
    objects_left: objects
      .nullable()
      .describe('How many objects are left; null until they were listed.')
      .meta({ examples: [0] }),
    bytes: bytes.nullable().describe('How many bytes they have; null until they were listed.'),
    kid: kidField.nullable().describe('The key id of the content key that was destroyed; null where there was none.'),
    purge_paths: z
      .array(z.string())
      .describe('The paths that a CDN must purge; `*` stands for one segment, at the end for everything below.')
      .meta({ examples: [['/stream/movie-1/*']] }),
    receipt: deletionReceiptSchema.nullable().describe('The signed receipt, once nothing is left.'),
  })
  .register(answers, { id: 'MediaDeletion' });

export const revisionSchema = z.object({
  revision: z
    .string()
    .describe('The revision.')
    .meta({ examples: ['9f86d081884c7d65'] }),
  job_id: jobIdField.describe('The job that made it.'),
  type: jobTypeField,
  created_at: time.describe('When the job was accepted.'),
  source: sourceField.describe('The key of its source.'),
  source_etag: etagField
    .nullable()
    .describe('The ETag of the source object that it was made of; null where it is not known.'),
  profile: profileField.describe('The encoding profile.'),
  tool_version: z
    .string()
    .nullable()
    .describe('The version of the service that made it; null where it recorded none.')
    .meta({ examples: ['1.4.0'] }),
  bytes: bytes.nullable().describe('Bytes of its objects; null: not known.'),
  objects: objects.nullable().describe('How many objects it has; null: not known.'),
  current: z.boolean().describe('Whether it is the revision that `playback.master` leads to.'),
  ...revisionAddresses,
  tracks: z
    .array(z.string())
    .describe('The ids of its tracks.')
    .meta({ examples: [['r720_h264', 'audio_en_aac_2ch']] }),
});

export const mediaSchema = listedMediaSchema
  .extend({
    kid: kidField.nullable().describe('The key id of its content key; null where it has none.'),
    current: z
      .string()
      .nullable()
      .describe('The revision that `playback.master` leads to; null without a stream.')
      .meta({ examples: ['9f86d081884c7d65'] }),
    playback: z
      .object({
        master: z
          .string()
          .describe('The path of the HLS playlist of whatever revision is current.')
          .meta({ examples: ['/stream/movie-1/master.m3u8'] }),
        ...revisionAddresses,
      })
      .nullable()
      .describe('Where it plays, in a signed media with `{ticket}` in place of a ticket; null without a stream.'),
    playback_mode: z.enum(playbackModes).describe('Whether `/stream` plays it, or `/s` with a ticket.'),
    playback_generation: count.describe('Tickets of a lower one are withdrawn.').meta({ examples: [0] }),
    revisions: z.array(revisionSchema).describe('Its revisions with a stream, of the newest 50 outputs.'),
    images: z
      .array(
        z.object({
          job_id: jobIdField.describe('The job that made it.'),
          key: z
            .string()
            .describe('The key of the image, for `/thumb`.')
            .meta({ examples: ['videos/c3/movie-1/9f86d081884c7d65/cover.jpg'] }),
        }),
      )
      .describe('The images of the newest 50 outputs.'),
    jobs: z
      .array(
        z.object({
          job_id: jobIdField,
          type: jobTypeField,
          status: jobStatusField,
          created_at: time.describe('When it was accepted.'),
        }),
      )
      .describe('The newest 100 jobs.'),
    deletion: mediaDeletionSchema
      .nullable()
      .describe('Its deletion; null unless one was requested.')
      .meta({ examples: [null] }),
  })
  .register(answers, { id: 'Media' });

export const mediaListSchema = z
  .object({ media: z.array(listedMediaSchema).describe('The media.'), next_cursor: nextCursorField })
  .register(answers, { id: 'MediaList' });

const fileSchema = z.object({
  key: z
    .string()
    .describe('The key of the object in the media bucket.')
    .meta({ examples: ['videos/c3/movie-1/9f86d081884c7d65/cover.jpg'] }),
  size: count.describe('The size in bytes.').meta({ examples: [48_112] }),
  etag: etagField.describe('The ETag of the object.'),
  sha256: z
    .string()
    .nullable()
    .describe('SHA-256 of the bytes in hex; null where it is not known.')
    .meta(sha256Example),
  last_modified: time.describe('When it was written.'),
});
export const mediaFilesSchema = z
  .object({
    files: z.array(fileSchema).describe('The objects in the order of their keys.'),
    next_cursor: nextCursorField,
  })
  .register(answers, { id: 'MediaFiles' });

/** The bodies of `PATCH /api/media/{hash}` and `PUT /api/media/{hash}/current`. */
export const changeBodySchema = mediaChangeSchema.register(bodies, { id: 'MediaChange' });
export const publishBodySchema = currentRevisionSchema.register(bodies, { id: 'CurrentRevision' });

import { z } from 'zod';
import { jobTypeNames } from '#domain/job-types/index.ts';
import { jobStatusSchema } from '#domain/jobs/status.ts';
import { metadataSchema, titleSchema } from '#domain/media/description.ts';

// Fields that several answers and requests have. The types of the answers, the OpenAPI document with its examples and
// the clients derive from the schemas in this folder and beside the routes; each field says there what it means.

/** A number of things or bytes. */
export const count = z.int().min(0);
/** A moment in UTC. */
export const time = z.iso.datetime().meta({ examples: ['2026-11-24T08:00:00.000Z'] });
/** SHA-256 in hex. */
export const sha256Example = { examples: ['e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'] };

export const jobIdField = z
  .uuid()
  .describe('The job.')
  .meta({ examples: ['0b6f1c52-7d0e-4c7a-9d2b-3f5a1e8c6d40'] });
export const jobTypeField = z.enum(jobTypeNames).describe('The job type.');
export const jobStatusField = jobStatusSchema.describe('The status of the job; the last three are final.');
export const hashField = z
  .string()
  .describe('The name of the media that its submitter chose.')
  .meta({ examples: ['movie-1'] });
/** The API key that asked for something. */
export const keyIdField = z
  .string()
  .nullable()
  .meta({ examples: ['2bb80d53'] });

export const etagField = z.string().meta({ examples: ['"9b2cf535f27731c974343645a3985328"'] });
export const kidField = z.string().meta({ examples: ['9a04f07998404286ab92e65be0885f95'] });
export const profileField = z.string().meta({ examples: ['default'] });
export const sourceField = z.string().meta({ examples: ['uploads/movie-1.mp4'] });
export const fileNameField = z
  .string()
  .describe('The name of the file.')
  .meta({ examples: ['movie-1.mp4'] });
export const contentTypeField = z.string().meta({ examples: ['video/mp4'] });

/** The title that a caller gives a media or job. */
export const titleField = titleSchema.nullable().describe('What people call it; null: nothing was said.');
/** The title of an upload or import, whose job a rule of events makes. */
export const titleOfFile =
  'The title of the media that an event of the bucket makes of it, in place of that of the rule.';
export const metadataField = metadataSchema.describe('The strings that its submitter gave it.');

/** The `next_cursor` of a list. */
export const nextCursorField = z
  .string()
  .nullable()
  .describe('The `cursor` of the next page; null on the last.')
  .meta({ examples: [null] });
/** The query of a list. */
export const pageQuery = {
  limit: z.coerce.number<string>().int().min(1).max(100).default(50).describe('Entries of a page.'),
  cursor: z.string().max(256).optional().describe('The `next_cursor` of the page before.'),
};

/** A line of text of a caller. */
export const lineOfText = (max: number) =>
  z
    .string()
    .max(max)
    .refine((text) => text.isWellFormed(), 'must be well-formed Unicode')
    // eslint-disable-next-line no-control-regex -- control characters are what is refused
    .refine((text) => !/[\u0000-\u001f\u007f-\u009f]/.test(text), 'must not contain control characters');

/** The digest of a file that a caller names. */
export const sha256Schema = z
  .string()
  .regex(/^[0-9A-Fa-f]{64}$/, 'must be 64 hexadecimal characters')
  .meta(sha256Example);

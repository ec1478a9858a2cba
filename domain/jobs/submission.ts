import { z } from 'zod';
import type { Fault } from '../errors.ts';
import { type JobOptions, type JobType, jobTypeNames, jobTypes } from '../job-types/index.ts';
import { explain, faultsOf } from './faults.ts';

const encoder = new TextEncoder();

/** The caller's stable media identifier (C11.5). */
export const mediaHashSchema = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._~-]{0,127}$/,
    'must be 1–128 of A–Z, a–z, 0–9, ".", "_", "~" and "-", and begin with a letter or digit',
  )
  .refine((hash) => !hash.includes('..'), 'must not contain ".."');

/** An object key of the source bucket. */
export const sourceKeySchema = z
  .string()
  .min(1)
  .refine((key) => encoder.encode(key).length <= 1024, 'must be at most 1024 bytes of UTF-8')
  .refine((key) => key.isWellFormed(), 'must be well-formed Unicode')
  // eslint-disable-next-line no-control-regex -- control characters are what is refused
  .refine((key) => !/[\u0000-\u001f\u007f-\u009f]/.test(key), 'must not contain control characters')
  .refine((key) => !key.startsWith('/'), 'must not begin with "/"')
  // `.` as well: a server or a file system may resolve either to another place, so no store here reads such a key.
  .refine(
    (key) => !key.split('/').some((segment) => segment === '.' || segment === '..'),
    'must not contain a "." or ".." segment',
  );

/** An address that a caller names, and this service calls. */
export const callerUrlSchema = z
  .string()
  .max(2048)
  // A URL parser drops or escapes these silently; what is stored and shown must be what is called.
  // eslint-disable-next-line no-control-regex -- control characters are what is refused
  .refine((url) => !/[\u0000-\u0020\u007f-\u009f]/.test(url), 'must not contain spaces or control characters')
  .refine((url) => url.isWellFormed(), 'must be well-formed Unicode')
  .refine(
    // A parser also reads `https:host`, `https:/host` and `https:\\host`, in which others find no host.
    (url) => URL.canParse(url) && /^https?:\/\/[^/\\?#]/i.test(url),
    'must be an http or https URL',
  )
  .refine(
    (url) => !URL.canParse(url) || (new URL(url).username === '' && new URL(url).password === ''),
    'must not contain credentials',
  );
const callbackUrlSchema = callerUrlSchema.optional();

const sharedFields = {
  hash: mediaHashSchema
    .describe('Your name for the media; everything made under it belongs together.')
    .meta({ examples: ['movie-1'] }),
  source: sourceKeySchema
    .describe('The key of the source object in the source bucket.')
    .meta({ examples: ['uploads/movie-1.mp4'] }),
  callback_url: callbackUrlSchema
    .describe('Where the webhook of the end goes; without it none is sent.')
    .meta({ examples: ['https://example.com/hooks/media'] }),
};

const typeSchema = z.enum(jobTypeNames);

/** The body of `POST /api/jobs`; the type decides what `options` may have. */
const bodySchema = z.strictObject({ type: typeSchema, options: z.unknown().optional(), ...sharedFields });

/**
 * The body of `POST /api/jobs` as documents show it: one shape a type. `parseSubmission` reports faults in more detail.
 */
export const submissionBodySchema = z.discriminatedUnion(
  'type',
  jobTypeNames.map(bodySchemaOf) as unknown as [z.ZodObject<{ type: z.ZodLiteral<JobType> }>],
);

function bodySchemaOf(type: JobType) {
  return z.strictObject({
    type: z.literal(type).describe('What to make of the source.'),
    ...sharedFields,
    options: jobTypes[type].options.optional().describe('The options of the type; what is left out has its default.'),
  });
}

/** A valid submission; `options` has its defaults filled in. */
export interface Submission<T extends JobType = JobType> {
  readonly type: T;
  readonly hash: string;
  readonly source: string;
  readonly options: JobOptions<T>;
  readonly callbackUrl: string | null;
}

const addressRefused = 'must lead to a public address or to a network that WEBHOOK_ALLOWED_CIDRS names';

type Parsed =
  | { readonly submission: Submission; readonly faults?: never }
  | { readonly faults: readonly Fault[]; readonly submission?: never };

/**
 * Reads the body of `POST /api/jobs`: the submission, or every fault of the body at once.
 *
 * @param isCallbackAllowed whether a webhook may go to this URL, as far as that can be known before it is called
 */
export function parseSubmission(body: unknown, isCallbackAllowed: (url: URL) => boolean = () => true): Parsed {
  if (body === undefined)
    return { faults: [{ pointer: '', code: 'invalid_type', detail: 'the body is empty; send a JSON object' }] };
  const outer = bodySchema.safeParse(body, { error: explain });
  const given = typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {};
  const type = typeSchema.safeParse(given['type']);
  const faults = outer.success
    ? []
    : faultsOf(outer.error, { schema: type.success ? bodySchemaOf(type.data) : bodySchema });
  const callback = callbackUrlSchema.safeParse(given['callback_url']);
  if (callback.data !== undefined && !isCallbackAllowed(new URL(callback.data)))
    faults.push({ pointer: '/callback_url', code: 'address_refused', detail: addressRefused });
  if (!type.success) return { faults };
  const schema = jobTypes[type.data].options;
  const options = schema.safeParse(given['options'] === undefined ? {} : given['options'], { error: explain });
  if (!options.success) faults.push(...faultsOf(options.error, { under: ['options'], schema }));
  if (!outer.success || !options.success || faults.length > 0) return { faults };
  const { hash, source, callback_url: callbackUrl } = outer.data;
  return { submission: { type: type.data, hash, source, options: options.data, callbackUrl: callbackUrl ?? null } };
}

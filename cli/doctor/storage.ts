import { randomUUID } from 'node:crypto';
import type { BucketSettings, StorageSettings } from '#platform/config/storage-settings.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import { openObjectStore } from '#platform/storage/open.ts';
import { openUploadBucket } from '#platform/storage/upload-bucket.ts';
import { clockFindings } from './clocks.ts';
import { type Check, fault, type Finding, type Ground } from './check.ts';
import { connectionFault } from './connection-faults.ts';

// The buckets: whether each is there, and which right is missing. Rights are tried on an object of the check's own,
// which is deleted at once.

interface Place {
  /** The beginning of the names of its variables. */
  readonly prefix: string;
  readonly bucket: string;
}

/** Errors of S3 servers, by their codes, and what to do about each. */
const refusals: Readonly<Record<string, (place: Place) => Finding>> = {
  NoSuchBucket: ({ prefix, bucket }) =>
    fault(
      `${prefix}_BUCKET: the bucket ${bucket} does not exist`,
      'create the bucket, or correct its name or endpoint',
    ),
  InvalidAccessKeyId: ({ prefix }) =>
    fault(`${prefix}_S3_ACCESS_KEY_ID: the server does not know this access key`, 'correct the access key'),
  SignatureDoesNotMatch: ({ prefix }) =>
    fault(`${prefix}_S3_SECRET_ACCESS_KEY: the server refuses the signature`, 'correct the secret of the access key'),
  RequestTimeTooSkewed: ({ prefix }) =>
    fault(`${prefix}_S3_ENDPOINT: the clock of the server differs from this one`, 'synchronise both clocks with NTP'),
  PermanentRedirect: ({ prefix, bucket }) =>
    fault(`${prefix}_S3_REGION: the bucket ${bucket} is in another region`, 'name the region of the bucket'),
  AuthorizationHeaderMalformed: ({ prefix, bucket }) =>
    fault(`${prefix}_S3_REGION: the bucket ${bucket} is in another region`, 'name the region of the bucket'),
  CredentialsProviderError: ({ prefix }) =>
    fault(
      `${prefix}_S3_ACCESS_KEY_ID: there are no credentials`,
      'set the access key and its secret, or a cloud identity',
    ),
};

function missingRight(right: string, { prefix, bucket }: Place): Finding {
  const resource = right === 's3:ListBucket' ? bucket : `${bucket}/*`;
  const remedy = `allow ${right} on arn:aws:s3:::${resource} in the policy of its key`;
  return fault(`${prefix}_BUCKET: the key lacks the right ${right}`, remedy);
}

/** Null when it succeeds, the finding when it fails; `right` is what it needs. */
async function attempt(work: () => Promise<unknown>, right: string, place: Place): Promise<Finding | null> {
  try {
    await work();
    return null;
  } catch (error) {
    return storageFinding(error, right, place);
  }
}

function storageFinding(error: unknown, right: string, place: Place): Finding {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : (error as Error);
  const { name, message, code, $metadata } = cause as Error & {
    readonly code?: string;
    readonly $metadata?: { readonly httpStatusCode?: number };
  };
  const known = Object.hasOwn(refusals, name) ? refusals[name] : undefined;
  if (known !== undefined) return known(place);
  // The fast reads and the list of deleted objects have the refusal in their message.
  const isDenied = name === 'AccessDenied' || /\banswered 403\b|: AccessDenied$/.test(message);
  if (isDenied || $metadata?.httpStatusCode === 403) return missingRight(right, place);
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS')
    return fault(
      `${place.prefix}_BUCKET: ${place.bucket} refuses ${right} (${code})`,
      'give this user the right there',
    );
  const what = `${place.prefix}_BUCKET, ${place.bucket}`;
  return connectionFault(error, what) ?? fault(`${what}: ${name}: ${message}`, 'look at the log of the object storage');
}

async function withStore<T>(settings: StorageSettings, work: (store: ObjectStore) => Promise<T>): Promise<T> {
  const store = openObjectStore(settings);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

async function listed(store: ObjectStore): Promise<void> {
  for await (const _ of store.list('doctor/')) return;
}

/** Whether it answers: a key without the right to list is a matter of the rights. */
async function bucketFindings(settings: StorageSettings, place: Place): Promise<Finding[]> {
  return await withStore(settings, async (store) => {
    const finding = await attempt(() => listed(store), 's3:ListBucket', place);
    return finding === null || isRight(finding) ? [] : [finding];
  });
}

function isRight({ fault: text }: Finding): boolean {
  return text.includes('lacks the right');
}

const notThere = () => `doctor/${randomUUID()}`;

async function readingFindings(settings: StorageSettings, place: Place): Promise<Finding[]> {
  return await withStore(settings, async (store) => {
    const list = await attempt(() => listed(store), 's3:ListBucket', place);
    // Without that right, a missing object and a denied one look the same.
    const read = list === null ? await attempt(() => store.get(notThere()), 's3:GetObject', place) : null;
    return [list, read].filter((finding) => finding !== null);
  });
}

async function writingFindings(settings: StorageSettings, place: Place, folder: string): Promise<Finding[]> {
  return await withStore(settings, async (store) => {
    const key = `${folder}doctor-${randomUUID()}`;
    const list = await attempt(() => listed(store), 's3:ListBucket', place);
    const put = await attempt(() => store.put(key, 'doctor', { contentType: 'text/plain' }), 's3:PutObject', place);
    const get = await attempt(() => readWhole(store, key), 's3:GetObject', place);
    const remove = await attempt(() => store.delete([key]), 's3:DeleteObject', place);
    return [list, put, get, remove].filter((finding) => finding !== null);
  });
}

async function readWhole(store: ObjectStore, key: string): Promise<void> {
  const object = await store.get(key);
  object?.body.destroy();
}

/** The media store without its bucket of working objects, and that bucket by itself. */
function partsOf({ work, ...media }: StorageSettings): {
  readonly media: StorageSettings;
  readonly work: BucketSettings | null;
} {
  return { media, work: work ?? null };
}

function sourceOf({ config }: Ground): StorageSettings {
  if (config.source === null) throw new TypeError('delivery alone has no source bucket');
  return config.source;
}

const noSource = ({ config }: Ground) =>
  config.source === null ? 'a server that only delivers reads no sources' : null;
const noWork = ({ config }: Ground) =>
  partsOf(config.media).work === null ? 'working objects are in the media bucket' : null;
const noUploads = ({ config }: Ground) => (config.uploads === null ? 'uploads are off' : null);

const sourcePlace = (ground: Ground): Place => ({ prefix: 'SOURCE', bucket: sourceOf(ground).bucket });
const mediaPlace = ({ config }: Ground): Place => ({ prefix: 'MEDIA', bucket: config.media.bucket });

const sourceBucket: Check = {
  name: 'source bucket',
  needs: ['configuration', 'folders'],
  unless: noSource,
  run: (ground) => bucketFindings(sourceOf(ground), sourcePlace(ground)),
};
const sourceRights: Check = {
  name: 'source rights',
  needs: ['source bucket'],
  run: (ground) => readingFindings(sourceOf(ground), sourcePlace(ground)),
};
const mediaBucket: Check = {
  name: 'media bucket',
  needs: ['configuration', 'folders'],
  run: (ground) => bucketFindings(partsOf(ground.config.media).media, mediaPlace(ground)),
};
const mediaRights: Check = {
  name: 'media rights',
  needs: ['media bucket'],
  // An object there is a cached image, which may be deleted at any time.
  run: (ground) => writingFindings(partsOf(ground.config.media).media, mediaPlace(ground), 'cache/thumb/'),
};
const workBucket: Check = {
  name: 'work bucket',
  needs: ['configuration', 'folders'],
  unless: noWork,
  run: async ({ config }) => {
    const { work } = partsOf(config.media);
    if (work === null) return [];
    const place = { prefix: 'WORK', bucket: work.bucket };
    const findings = await bucketFindings(work, place);
    return findings.length > 0 ? findings : await writingFindings(work, place, 'work/');
  },
};

const uploadRights: Check = {
  name: 'upload rights',
  needs: ['configuration', 'folders'],
  unless: noUploads,
  run: async ({ config }) => {
    if (config.uploads === null) return [];
    const bucket = openUploadBucket(config.uploads);
    const place = { prefix: 'UPLOAD', bucket: config.uploads.store.bucket };
    const key = `${config.uploads.prefix}doctor-${randomUUID()}`;
    try {
      const begin = await attempt(() => bucket.parts.begin(key, { contentType: 'text/plain' }), 's3:PutObject', place);
      const abort =
        begin === null ? await attempt(() => bucket.parts.abort(key), 's3:AbortMultipartUpload', place) : null;
      return [begin, abort].filter((finding) => finding !== null);
    } finally {
      await bucket.close();
    }
  },
};

/** The header `Date` of an S3 server, which is in whole seconds. */
const storageClock: Check = {
  name: 'storage clock',
  needs: ['media bucket'],
  unless: ({ config }) => (config.media.s3 === undefined ? 'the media bucket is a folder' : null),
  run: async ({ config, signal }) => {
    const { endpoint, region } = config.media.s3 ?? { region: '' };
    const before = Date.now();
    const response = await fetch(endpoint ?? `https://s3.${region}.amazonaws.com`, {
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(8_000)]),
    }).catch(() => null);
    await response?.body?.cancel();
    const date = Date.parse(response?.headers.get('date') ?? '');
    if (Number.isNaN(date)) return [];
    return clockFindings('the object storage', date, { before, after: Date.now() }, 1_000);
  },
};

export const storageChecks: readonly Check[] = [
  sourceBucket,
  sourceRights,
  mediaBucket,
  mediaRights,
  workBucket,
  uploadRights,
  storageClock,
];

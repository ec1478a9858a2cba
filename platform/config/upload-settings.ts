import { type BucketSettings, bucketValue, chainVariablesOf, folderSettings, isFolder } from './storage-settings.ts';
import { httpUrlValue, integerValue, plainText, positiveDurationValue, type TextValue } from './values.ts';
import { declareFor, type Environment, readVariables, type Values } from './variable.ts';

/** Where uploads go, and their limits. */
export interface UploadSettings {
  /** With the right to write; a bucket of the source store's server, or a folder. */
  readonly store: BucketSettings;
  /** The server's address for clients, where it is another one than this process uses. */
  readonly publicEndpoint: string | undefined;
  /** Before every key of an upload; empty or with a `/` at its end. */
  readonly prefix: string;
  /** How long an upload may stay open. */
  readonly expiryMs: number;
  /** Uploads of one API key that are open at once. */
  readonly openMax: number;
}

const prefixValue: TextValue<string> = {
  expected: 'the beginning of a key that ends with "/", such as uploads/, of letters, digits and ". _ ~ - /"',
  read: (text) => (/^(?!\.{0,2}\/|.*\/\.{0,2}\/)[\w.~/-]{1,256}\/$/.test(text) ? text : null),
};

const declare = declareFor('api', 'worker');
const notGiven = () => undefined;

export const uploadVariables = {
  bucket: declare('UPLOAD_BUCKET', bucketValue, {
    absent: notGiven,
    defaultDoc: '`SOURCE_BUCKET`',
    doc: "A bucket of the source bucket's server, or `file:DIR`. Uploads are on where this or `UPLOAD_S3_ACCESS_KEY_ID` is set.",
  }),
  prefix: declare('UPLOAD_PREFIX', prefixValue, {
    default: 'uploads/',
    doc: 'Beginning of every key of an upload; the right to write needs to cover no other key.',
  }),
  accessKeyId: declare('UPLOAD_S3_ACCESS_KEY_ID', plainText, {
    absent: notGiven,
    isSecret: true,
    doc: "Access key with the right to write uploads; without one, the SDK's chain.",
  }),
  secretAccessKey: declare('UPLOAD_S3_SECRET_ACCESS_KEY', plainText, {
    absent: notGiven,
    isSecret: true,
    doc: 'Secret of that access key.',
  }),
  publicEndpoint: declare('UPLOAD_S3_PUBLIC_ENDPOINT', httpUrlValue, {
    absent: notGiven,
    defaultDoc: '`SOURCE_S3_ENDPOINT`',
    doc: 'Address of the S3 server for clients, in addresses of parts.',
  }),
  expiryMs: declare('UPLOAD_EXPIRY', positiveDurationValue, {
    default: '24h',
    doc: 'How long an upload may stay open.',
  }),
  openMax: declare('UPLOADS_OPEN_MAX', integerValue(1, 100_000), {
    default: '100',
    doc: 'Open uploads of one API key, and likewise imports.',
  }),
};

/**
 * The settings of uploads, null where none are accepted, or every fault at once.
 *
 * @param source the bucket of sources, whose server is used with other keys
 */
export function parseUploadSettings(
  env: Environment,
  source: BucketSettings,
): { readonly uploads: UploadSettings | null } | { readonly faults: readonly string[] } {
  const read = readVariables(uploadVariables, env);
  if (read.faults.length > 0) return { faults: read.faults };
  const { bucket, accessKeyId, secretAccessKey, ...rest } = read.values as Values<typeof uploadVariables>;
  if (bucket === undefined && accessKeyId === undefined) return { uploads: null };
  const name = bucket ?? source.bucket;
  if (isFolder(name) !== (source.s3 === undefined))
    return { faults: ['UPLOAD_BUCKET: expected a bucket beside a bucket, or a folder beside a folder'] };
  if (isFolder(name)) return { uploads: { ...rest, store: folderSettings(name) } };
  if ((accessKeyId === undefined) !== (secretAccessKey === undefined))
    return { faults: ['UPLOAD_S3_SECRET_ACCESS_KEY: expected together with UPLOAD_S3_ACCESS_KEY_ID, or neither'] };
  const keys =
    accessKeyId === undefined || secretAccessKey === undefined ? undefined : { accessKeyId, secretAccessKey };
  const chainVariables = keys === undefined ? chainVariablesOf(env) : {};
  const s3 = source.s3 === undefined ? undefined : { ...source.s3, keys, chainVariables };
  return { uploads: { ...rest, store: { bucket: name, s3 } } };
}

import { resolve } from 'node:path';
import { booleanValue, httpUrlValue, plainText, type TextValue, timerValue, wordValue } from './values.ts';
import { declareFor, type Environment, readVariables, type Values } from './variable.ts';

/** Which of the two stores: sources are only read, media is read and written. */
export type StorageName = 'SOURCE' | 'MEDIA';

/** How a bucket of an S3 server is reached. */
export interface S3Settings {
  /** Absent: Amazon's own for the region. */
  readonly endpoint?: string | undefined;
  readonly region: string;
  /** Both or neither; without keys, the SDK's own chain (IRSA, instance roles, `AWS_*`). */
  readonly keys?: { readonly accessKeyId: string; readonly secretAccessKey: string } | undefined;
  readonly forcePathStyle: boolean;
  /** `when_required` for old stores that refuse or corrupt uploads with the newer checksums. */
  readonly checksums: 'when_supported' | 'when_required';
  /** How long a request may wait for an answer or for another byte. */
  readonly timeoutMs: number;
  /**
   * The `AWS_*` variables that the SDK's chain reads and that other processes are handed; empty when `keys` are given.
   */
  readonly chainVariables: Readonly<Record<string, string>>;
}

/** `bucket` as configured; with it either `s3`, or `dir`, an absolute path (`bucket` is then `file:<dir>`). */
export interface BucketSettings {
  readonly bucket: string;
  readonly s3?: S3Settings | undefined;
  readonly dir?: string;
}

export interface StorageSettings extends BucketSettings {
  /** Holds the working objects of the media store in its place; reached in the same way. */
  readonly work?: BucketSettings;
}

export const bucketValue: TextValue<string> = {
  expected: 'the name of a bucket, or file:DIR',
  read: (text) => (/^(file:.+|(?!file:$)[A-Za-z0-9][A-Za-z0-9._:-]{1,254})$/s.test(text) ? text : null),
};

const notGiven = () => undefined;

/** The variables of a store. Delivery reads no sources. */
export function storageVariables(which: StorageName) {
  const declare = which === 'SOURCE' ? declareFor('api', 'worker') : declareFor('api', 'delivery', 'worker');
  return {
    bucket: declare(`${which}_BUCKET`, bucketValue, {
      doc: "A bucket's name, or `file:DIR`, a folder that exists.",
    }),
    endpoint: declare(`${which}_S3_ENDPOINT`, httpUrlValue, {
      absent: notGiven,
      defaultDoc: "Amazon's, by region",
      doc: 'Address of the S3 server.',
    }),
    region: declare(`${which}_S3_REGION`, plainText, { default: 'us-east-1', doc: 'Region of the bucket.' }),
    accessKeyId: declare(`${which}_S3_ACCESS_KEY_ID`, plainText, {
      absent: notGiven,
      isSecret: true,
      doc: "Access key; without one, the SDK's chain (IRSA, instance roles, `AWS_*`).",
    }),
    secretAccessKey: declare(`${which}_S3_SECRET_ACCESS_KEY`, plainText, {
      absent: notGiven,
      isSecret: true,
      doc: 'Secret of the access key.',
    }),
    forcePathStyle: declare(`${which}_S3_FORCE_PATH_STYLE`, booleanValue, {
      default: 'true',
      doc: 'Whether the bucket is in the path (`true`) or host name (`false`) of addresses.',
    }),
    checksums: declare(`${which}_S3_CHECKSUMS`, wordValue(['when_supported', 'when_required']), {
      default: 'when_supported',
      doc: '`when_required` for stores without the newer checksums.',
    }),
    timeoutMs: declare(`${which}_S3_TIMEOUT`, timerValue, {
      default: '30s',
      doc: 'How long a request may wait for an answer or another byte.',
    }),
  };
}

/** The variables of the media store. */
export const mediaVariables = {
  ...storageVariables('MEDIA'),
  workBucket: declareFor('worker')('WORK_BUCKET', bucketValue, {
    absent: notGiven,
    defaultDoc: '`MEDIA_BUCKET`',
    doc: 'For working objects (`work/`): another bucket of the same server, or another folder.',
  }),
};

/** The settings of one store, or every fault at once. */
export function parseStorageSettings(
  env: Environment,
  which: StorageName,
): { readonly settings: StorageSettings } | { readonly faults: readonly string[] } {
  const variables = which === 'MEDIA' ? mediaVariables : storageVariables(which);
  const { values, faults } = readVariables(variables, env);
  const { bucket, workBucket, accessKeyId, secretAccessKey, ...rest } = values as Values<typeof mediaVariables>;
  if (faults.length > 0) return { faults };
  if (bucket === undefined) return { faults: [`${which}_BUCKET: is required`] };
  if (workBucket !== undefined && isFolder(workBucket) !== isFolder(bucket))
    return { faults: ['WORK_BUCKET: expected a bucket beside a bucket, or a folder beside a folder'] };
  if (!isFolder(bucket) && (accessKeyId === undefined) !== (secretAccessKey === undefined)) {
    return { faults: [`${which}_S3_SECRET_ACCESS_KEY: expected together with ${which}_S3_ACCESS_KEY_ID, or neither`] };
  }
  const keys =
    accessKeyId === undefined || secretAccessKey === undefined ? undefined : { accessKeyId, secretAccessKey };
  const s3 = { ...rest, keys, chainVariables: keys === undefined ? chainVariablesOf(env) : {} };
  const settingsOf = (name: string) => (isFolder(name) ? folderSettings(name) : { bucket: name, s3 });
  const isApart = workBucket !== undefined && workBucket !== bucket;
  return { settings: { ...settingsOf(bucket), ...(isApart ? { work: settingsOf(workBucket) } : {}) } };
}

const folderScheme = 'file:';
/** Whether the name of a bucket names a folder. */
export const isFolder = (name: string): boolean => name.startsWith(folderScheme);

/** The settings of a folder by its name, `file:DIR`. */
export function folderSettings(bucket: string): BucketSettings {
  const dir = resolve(bucket.slice(folderScheme.length));
  return { bucket: `${folderScheme}${dir}`, dir };
}

/** The variables that the SDK's chain of credentials reads. */
export function chainVariablesOf(env: Environment): Record<string, string> {
  const entries = Object.entries(env).flatMap(([name, value]) =>
    name.startsWith('AWS_') && value !== undefined && value !== '' ? [[name, value] as const] : [],
  );
  return Object.fromEntries(entries);
}

/** The settings of one store out of an environment. @throws Error that names every fault, and no value */
export function readStorageSettings(env: Environment, which: StorageName): StorageSettings {
  const read = parseStorageSettings(env, which);
  if ('faults' in read) throw new Error(`the ${which} store is not configured: ${read.faults.join('; ')}`);
  return read.settings;
}

/** The environment from which `readStorageSettings` reads these settings: what a step's process is handed. */
export function storageEnvironment({ bucket, s3, work }: StorageSettings, which: StorageName): Record<string, string> {
  const workBucket = work === undefined ? {} : { [mediaVariables.workBucket.name]: work.bucket };
  if (s3 === undefined) return { [`${which}_BUCKET`]: bucket, ...workBucket };
  const { keys, chainVariables, timeoutMs, ...plain } = s3;
  const values: Record<string, string | boolean | undefined> = {
    bucket,
    ...plain,
    ...keys,
    timeoutMs: `${timeoutMs}ms`,
  };
  const named = Object.entries(storageVariables(which)).flatMap(([field, { name }]) =>
    values[field] === undefined ? [] : [[name, String(values[field])]],
  );
  return { ...chainVariables, ...(Object.fromEntries(named) as Record<string, string>), ...workBucket };
}

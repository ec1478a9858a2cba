import { resolve } from 'node:path';
import { z } from 'zod';
import { type Environment, readSettings, setting } from './settings.ts';
import { booleanValue, httpUrlValue, positiveDurationValue, readBy, wordValue } from './values.ts';

/** Which of the two stores: sources are only read, media is read and written (section 1, `SOURCE_*`, `MEDIA_*`). */
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
  /** How long a request may go without an answer or another byte. */
  readonly timeoutMs: number;
  /** The `AWS_*` variables that the SDK's chain reads, for handing them on; empty when `keys` are given. */
  readonly chainVariables: Readonly<Record<string, string>>;
}

/** `bucket` as configured; with it either `s3`, or `dir`, an absolute path (`bucket` is then `file:<dir>`). */
export type StorageSettings = { readonly bucket: string } & {
  readonly s3?: S3Settings | undefined;
  readonly dir?: string;
};

const bucketValue = readBy('the name of a bucket, or file:DIR', (text) => {
  if (text.startsWith('file:')) return text.length > 'file:'.length ? text : null;
  return /^[A-Za-z0-9][A-Za-z0-9._:-]{1,254}$/.test(text) ? text : null;
});
const plainText = readBy('text without spaces', (text) => (/^\S+$/.test(text) ? text : null));

/** The settings of a store; in a variable's name `SOURCE_` or `MEDIA_` stands before each. */
export const storageSettingsSchema = z.object({
  BUCKET: setting(bucketValue, { meaning: "The store: a bucket's name, or `file:DIR`, a folder that exists." }),
  S3_ENDPOINT: setting(httpUrlValue.optional(), {
    meaning: 'Address of the S3 server.',
    defaultNote: "Amazon's, by region",
  }),
  S3_REGION: setting(plainText.prefault('us-east-1'), { meaning: 'Region of the bucket.' }),
  S3_ACCESS_KEY_ID: setting(plainText.optional(), {
    meaning: "Access key; without one, the SDK's own chain (IRSA, instance roles, `AWS_*`).",
    isSecret: true,
  }),
  S3_SECRET_ACCESS_KEY: setting(plainText.optional(), { meaning: 'Secret of the access key.', isSecret: true }),
  S3_FORCE_PATH_STYLE: setting(booleanValue.prefault('true'), {
    meaning: "Whether the bucket stands in the address's path (`true`) or in its host name (`false`).",
  }),
  S3_CHECKSUMS: setting(wordValue(['when_supported', 'when_required']).prefault('when_supported'), {
    meaning: '`when_required` for old stores that do not know the newer checksums.',
  }),
  S3_TIMEOUT: setting(positiveDurationValue.prefault('30s'), {
    meaning: 'How long a request may go without an answer or another byte.',
  }),
});

/** The settings of one store, or every fault at once. */
export function parseStorageSettings(
  env: Environment,
  which: StorageName,
): { readonly settings: StorageSettings } | { readonly faults: readonly string[] } {
  const { values, faults } = readSettings(storageSettingsSchema, env, `${which}_`);
  if (faults !== undefined) return { faults };
  if (values.BUCKET.startsWith('file:')) {
    const dir = resolve(values.BUCKET.slice('file:'.length));
    return { settings: { bucket: `file:${dir}`, dir } };
  }
  const { S3_ACCESS_KEY_ID: accessKeyId, S3_SECRET_ACCESS_KEY: secretAccessKey } = values;
  if ((accessKeyId === undefined) !== (secretAccessKey === undefined)) {
    return { faults: [`${which}_S3_SECRET_ACCESS_KEY: expected together with ${which}_S3_ACCESS_KEY_ID, or neither`] };
  }
  const keys =
    accessKeyId === undefined || secretAccessKey === undefined ? undefined : { accessKeyId, secretAccessKey };
  const s3: S3Settings = {
    endpoint: values.S3_ENDPOINT,
    region: values.S3_REGION,
    keys,
    forcePathStyle: values.S3_FORCE_PATH_STYLE,
    checksums: values.S3_CHECKSUMS,
    timeoutMs: values.S3_TIMEOUT,
    chainVariables: keys === undefined ? chainVariablesOf(env) : {},
  };
  return { settings: { bucket: values.BUCKET, s3 } };
}

function chainVariablesOf(env: Environment): Record<string, string> {
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
export function storageEnvironment(settings: StorageSettings, which: StorageName): Record<string, string> {
  const { bucket, s3 } = settings;
  if (s3 === undefined) return { [`${which}_BUCKET`]: bucket };
  const values = {
    BUCKET: bucket,
    S3_ENDPOINT: s3.endpoint,
    S3_REGION: s3.region,
    S3_ACCESS_KEY_ID: s3.keys?.accessKeyId,
    S3_SECRET_ACCESS_KEY: s3.keys?.secretAccessKey,
    S3_FORCE_PATH_STYLE: String(s3.forcePathStyle),
    S3_CHECKSUMS: s3.checksums,
    S3_TIMEOUT: `${s3.timeoutMs}ms`,
  } satisfies Record<keyof typeof storageSettingsSchema.shape, string | undefined>;
  const named = Object.entries(values).flatMap(([key, value]) =>
    value === undefined ? [] : [[`${which}_${key}`, value] as const],
  );
  return { ...s3.chainVariables, ...Object.fromEntries(named) };
}

import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { digestOfKey, isNamedKey } from '#domain/keys/api-key.ts';
import { explain, faultsOf } from '#domain/jobs/faults.ts';
import { readYaml } from '#platform/config/yaml-document.ts';
import type { Component } from '#platform/lifecycle/component.ts';
import { periodicComponent, type PeriodicTask } from '#platform/lifecycle/periodic-component.ts';
import type { Database } from '#platform/postgres/database.ts';
import { KeyStore, type NewKey } from '#platform/postgres/key-store.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import type { Metrics } from '#platform/telemetry/metrics.ts';
import { keyBodySchema, newKeyOf } from './wire/key.ts';

// API_KEYS_FILE: named keys that a file declares. Its entries are rows with the origin `file`, which come, change and go
// with it; keys that were made by the API are never touched. A file with any fault changes nothing, so that a slip does
// not lock everybody out. What was applied is not applied again: where servers see a new file one after another, a late
// one does not bring back what the others took away.

/** A Secret that changes is there a minute later anyhow: this adds little. */
const readEveryMs = 10_000;
const keysMax = 1_000;

const entrySchema = keyBodySchema
  .safeExtend({
    key: z.string().refine(isNamedKey, 'must be rw_ and 43 characters of A–Z, a–z, 0–9, "_" and "-"').optional(),
    sha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/, 'must be 64 hex digits, the SHA-256 of a key')
      .optional(),
  })
  .refine(({ key, sha256 }) => (key === undefined) !== (sha256 === undefined), 'must have either key or sha256');
const fileSchema = z.array(entrySchema).max(keysMax);

/** The keys of a file's text, or its faults, which show no secret. */
export function readKeyFile(
  text: string,
): { readonly keys: readonly NewKey[] } | { readonly faults: readonly string[] } {
  const written = readYaml(text);
  if ('faults' in written) return written;
  const { data, error } = fileSchema.safeParse(written.document, { error: explain });
  if (data === undefined) return { faults: faultsOf(error).map(({ pointer, detail }) => `${pointer}: ${detail}`) };
  const keys = data.map(({ key, sha256 = '', ...given }) =>
    newKeyOf(given, key === undefined ? Buffer.from(sha256, 'hex') : digestOfKey(key)),
  );
  const faults = [
    ...repeated(keys.map(({ name }) => name)).map((index) => `/${index}/name: another entry has it`),
    ...repeated(keys.map(({ id }) => id)).map((index) => `/${index}: another entry has the same secret`),
  ];
  return faults.length > 0 ? { faults } : { keys };
}

/** The places of texts that stand before them already. */
function repeated(texts: readonly string[]): number[] {
  return texts.flatMap((text, index) => (texts.indexOf(text) < index ? [index] : []));
}

interface KeyFileDependencies {
  readonly path: string;
  readonly database: Database;
  readonly metrics: Pick<Metrics, 'keyFileFaults'>;
  readonly log: Logger;
}

/** Reads the file, and applies it when it has changed. */
export function keyFileTask({ path, database, metrics, log }: KeyFileDependencies): PeriodicTask {
  const store = new KeyStore(database);
  let applied: string | null = null;
  let reported = '';
  /** Once for each outcome: the file is read again and again. */
  const report = (faults: readonly string[]) => {
    metrics.keyFileFaults.set(faults.length);
    const isNews = faults.length > 0 && faults.join('\n') !== reported;
    reported = faults.join('\n');
    if (isNews) log.error({ path, faults }, 'API keys of the file not applied');
  };
  const work = async () => {
    const text = await readFile(path, 'utf8');
    if (text === applied) return;
    const read = readKeyFile(text);
    if ('faults' in read) {
      report(read.faults);
      return;
    }
    const { refused, revoked } = await store.applyFile(read.keys);
    report(refused.map((name) => `${name}: a key that was made by the API has this name or secret; revoke it`));
    // A name becomes free when that key is revoked.
    applied = refused.length === 0 ? text : null;
    if (applied !== null || revoked.length > 0)
      log.info({ path, keys: read.keys.length - refused.length, revoked }, 'API keys of the file applied');
  };
  return { name: 'API keys file', work };
}

/** Keeps the named keys of `API_KEYS_FILE` what the file says. */
export function keyFileComponent(dependencies: KeyFileDependencies): Component {
  return periodicComponent({ ...keyFileTask(dependencies), everyMs: readEveryMs, log: dependencies.log });
}

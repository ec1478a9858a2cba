import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Right } from '#domain/keys/rights.ts';
import { openUploadBucket } from '#platform/storage/upload-bucket.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import { type ApiUnderTest, startApi } from './api-under-test.ts';

// The API with all that named keys have rights to: uploads, imports and the console too.

/** Ends with its folder of uploads. */
export async function startWholeApi(replaced: { readonly log?: Logger } = {}): Promise<ApiUnderTest> {
  const dir = await mkdtemp(join(tmpdir(), 'reelwright-keys-'));
  const bucket = { publicEndpoint: undefined, prefix: 'uploads/', expiryMs: 3_600_000, openMax: 9 };
  const uploads = openUploadBucket({ store: { bucket: `file:${dir}`, dir }, ...bucket });
  const imports = { hosts: ['a.example'], allowedCidrs: [], bytesMax: 100, concurrency: 1 };
  const api = await startApi({ console: 'on', imports }, { ...replaced, uploads });
  const close = async () => {
    await api.close();
    await rm(dir, { recursive: true });
  };
  return { ...api, close };
}

/** An operation of the API that wants an API key, with what its documentation says of it. */
export interface Operation {
  readonly method: string;
  readonly path: string;
  /** Each opens it, perhaps for a part of it only; undefined: a key of whatever rights. */
  readonly rights: readonly (Right | undefined)[];
  readonly isForSessions: boolean;
  readonly example: unknown;
}

interface Documented {
  readonly security: readonly Record<string, readonly Right[]>[];
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly example?: unknown } } };
}

export async function operationsOf(api: ApiUnderTest): Promise<Operation[]> {
  const { paths } = (await api.raw('/openapi.json')).json as { paths: Record<string, Record<string, Documented>> };
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, { security, requestBody }]) => {
      const given = security.flatMap((scheme) => (scheme['api_key'] === undefined ? [] : [scheme['api_key'][0]]));
      if (given.length === 0) return [];
      const example = requestBody?.content['application/json'].example;
      const isForSessions = security.some((scheme) => 'session' in scheme);
      return [{ method: method.toUpperCase(), path, rights: given, isForSessions, example }];
    }),
  );
}

import type { FastifyRequest } from 'fastify';
import { KnownProblem } from '#domain/errors.ts';
import { type ApiKey, ownsHash } from '#domain/keys/api-key.ts';
import type { Subject } from '#domain/keys/rights.ts';
import { unknownMedia } from '#jobs/delete-media.ts';
import type { OwnerStore } from '#platform/postgres/owner-store.ts';
import { noSuchImport, noSuchJob, noSuchUpload } from '../missing.ts';

interface Asked {
  readonly key: ApiKey;
  /** The parameters of the path. */
  readonly id: string;
  readonly hash: string;
  readonly owners: OwnerStore;
}

/** Refuses what a key with a `hash_prefix` does not own, as if it were not there; by what an operation is about. */
const requireOf: Readonly<Record<Subject, (asked: Asked) => Promise<void> | void>> = {
  own: () => undefined,
  nothing: () => undefined,
  everything: ({ key }) => {
    const detail = `The API key ${key.name} sees media below ${key.hashPrefix} alone; this address shows those of all.`;
    throw new KnownProblem('forbidden', detail);
  },
  media: ({ key, hash }) => {
    if (!ownsHash(key, hash)) throw unknownMedia;
  },
  job: async ({ key, id, owners }) => {
    const hash = await owners.hashOfJob(id);
    if (hash === null || !ownsHash(key, hash)) throw noSuchJob(id);
  },
  upload: async ({ key, id, owners }) => {
    if ((await owners.keyOfUpload(id)) !== key.id) throw noSuchUpload();
  },
  import: async ({ key, id, owners }) => {
    if ((await owners.keyOfImport(id)) !== key.id) throw noSuchImport();
  },
};

/**
 * Lets a key with a `hash_prefix` pass to what it owns alone: the hash of a job and the key of an upload never change,
 * so what is looked at here holds for the whole request.
 *
 * @throws KnownProblem `not_found`, the same as for what is not there; `forbidden` for what is about all media
 */
export async function requireSubject(request: FastifyRequest, key: ApiKey, owners: OwnerStore): Promise<void> {
  if (key.hashPrefix === null) return;
  const { doc } = request.routeOptions.config;
  const subject = doc?.credential === 'api_key' ? doc.subject : 'everything';
  const { id = '', hash = '' } = request.params as { readonly id?: string; readonly hash?: string };
  await requireOf[subject]({ key, id, hash, owners });
}

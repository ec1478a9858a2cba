import type { Database } from '#platform/postgres/database.ts';
import { KeyStore } from '#platform/postgres/key-store.ts';

type Query = readonly [what: string, examinedMax: number, call: (d: Database) => Promise<unknown>];

/** What API keys ask of the database. */
export function keyQueries(): Query[] {
  const digest = Buffer.alloc(32);
  const unbounded = { hashPrefix: null, sourcePrefix: null, profiles: null, priorityMax: 0, expiresAt: null };
  const key = { id: '00000000', name: 'key', rights: ['read'], ...unbounded, sha256: digest } as const;
  return [
    ['keys: those with digests', 0, (d) => new KeyStore(d).find([digest])],
    ['keys: the list', 0, (d) => new KeyStore(d).list({ after: '', limit: 50 })],
    ['keys: a new one', 0, (d) => new KeyStore(d).insert(key)],
    ['keys: the use of one', 0, (d) => new KeyStore(d).markUsed('00000000')],
    ['keys: one that is revoked', 0, (d) => new KeyStore(d).remove('00000000')],
  ];
}

import type { Database } from '#platform/postgres/database.ts';
import { ImportStore } from '#platform/postgres/import-store.ts';
import { listJobs } from '#platform/postgres/job-list.ts';
import { KeyStore } from '#platform/postgres/key-store.ts';
import { listMedia } from '#platform/postgres/media-list.ts';
import { OwnerStore } from '#platform/postgres/owner-store.ts';
import { SessionStore } from '#platform/postgres/session-store.ts';
import { idOfRow } from './many-rows.ts';

type Query = readonly [what: string, examinedMax: number, call: (d: Database) => Promise<unknown>];

/** The queries about API keys. */
export function keyQueries(): Query[] {
  const digest = Buffer.alloc(32);
  const unbounded = {
    hashPrefix: null,
    sourcePrefix: null,
    profiles: null,
    priorityMax: 0,
    weight: 1,
    expiresAt: null,
  };
  const key = { id: '00000000', name: 'key', rights: ['read'], ...unbounded, sha256: digest } as const;
  const page = { after: null, limit: 51 };
  return [
    ['keys: those with digests', 0, (d) => new KeyStore(d).find([digest])],
    ['keys: the list', 0, (d) => new KeyStore(d).list({ after: '', limit: 50 })],
    ['keys: a new one', 0, (d) => new KeyStore(d).insert(key)],
    ['keys: the use of one', 0, (d) => new KeyStore(d).markUsed('00000000')],
    ['keys: the owner of a job', 1, (d) => new OwnerStore(d).hashOfJob(idOfRow(5))],
    ['keys: the owner of an upload', 1, (d) => new OwnerStore(d).keyOfUpload(idOfRow(5))],
    ['keys: the owner of an import', 1, (d) => new OwnerStore(d).keyOfImport(idOfRow(5))],
    ['keys: their files', 1, (d) => new OwnerStore(d).storedBy('00000000', [`uploads/${idOfRow(5)}/a.mp4`])],
    ['keys: the jobs below a prefix that most have', 100, (d) => listJobs(d, { hashPrefix: 'h' }, page)],
    ['keys: the jobs below a prefix that few have', 51, (d) => listJobs(d, { hashPrefix: 'nobody-' }, page)],
    [
      'keys: the media below a prefix',
      51,
      (d) => listMedia(d, { by: 'prefix', prefix: 'a' }, { ...page, hashPrefix: 'a' }),
    ],
    ['keys: the imports of a key', 51, (d) => new ImportStore(d).list({ ...page, keyId: '00000000' })],
    ['keys: one that is revoked', 0, (d) => new KeyStore(d).remove('00000000')],
    ['keys: whether one is of the file', 0, (d) => new KeyStore(d).isOfFile('00000000')],
    ['keys: those of a file', 0, (d) => new KeyStore(d).applyFile([key])],
    ['sessions: those with digests', 0, (d) => new SessionStore(d).find([digest])],
    ['sessions: a new one', 0, (d) => new SessionStore(d).insert({ sha256: digest, keyId: key.id, rights: null })],
    ['sessions: a renewal', 1, (d) => new SessionStore(d).renew(digest)],
    ['sessions: one that ends', 1, (d) => new SessionStore(d).remove(digest)],
  ];
}

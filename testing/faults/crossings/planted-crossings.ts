import type { Edit } from '../text-edits.ts';

// Bugs of two actors on one media, which a run of the crossings must find by itself.

interface Planted {
  /** The invariant that it breaks. */
  readonly invariant: string;
  readonly edits?: readonly Edit[];
  /** The change to the database. */
  readonly sql?: string;
}

const deletions = 'platform/postgres/media-deletion-store.ts';
const deletedMedia = 'platform/postgres/deleted-media-store.ts';

const planted = {
  'the age of a row decides what is played': {
    invariant: 'I35',
    sql: `create or replace function intent_of(intent bigint, created_at timestamptz) returns bigint language sql stable
      as $$ select (extract(epoch from created_at) * 1000)::bigint $$`,
  },
  'a deletion that covers nothing that came later': {
    invariant: 'I36',
    edits: [{ file: deletions, from: `(reason === 'expiry' || (await covers(client, before[0])))`, to: 'true' }],
  },
  'an expiry that is not asked again': {
    invariant: 'I37',
    edits: [{ file: deletions, from: `if (reason === 'expiry' && (await`, to: 'if (hash === reason && (await' }],
  },
  'a deletion whose times begin before its lock': {
    invariant: 'I36',
    edits: [
      {
        file: deletions,
        from: 'values ($1, $2, $3, $4, $5, clock_timestamp(), clock_timestamp())',
        to: 'values ($1, $2, $3, $4, now(), now())',
      },
      {
        file: 'platform/postgres/purge-events.ts',
        from: `clock_timestamp() + interval '8 seconds'`,
        to: `now() + interval '8 seconds'`,
      },
      {
        file: deletedMedia,
        from: `requested_at > now() - interval '75 seconds'`,
        to: `requested_at > now() - interval '10 seconds'`,
      },
    ],
  },
  'a rerun that is a new intent': { invariant: 'I35', sql: 'drop trigger jobs_intent on jobs' },
  'a publication without the lock of the media': {
    invariant: 'I35',
    edits: [{ file: 'platform/postgres/job-end.ts', from: 'await client.query(lockHash, [hash]);', to: '' }],
  },
  'a key that stays with a stream no longer played': {
    invariant: 'I38',
    edits: [
      { file: 'platform/postgres/media-store.ts', from: 'await takeKeyOfPublished(client, rows[0].id);', to: '' },
    ],
  },
  'a content key that is made after a deletion': {
    invariant: 'I36',
    edits: [
      {
        file: 'platform/postgres/content-key-store.ts',
        from: 'where not exists (select from media_deletions where hash = $1 and lifted_at is null)',
        to: 'where true',
      },
    ],
  },
  'a hold that an expiry ignores': {
    invariant: 'I37',
    edits: [
      {
        file: deletions,
        from: 'if (held[0]?.legal_hold === true)',
        to: `if (held[0]?.legal_hold === true && reason === 'request')`,
      },
    ],
  },
  'a cancellation that a claim undoes': {
    invariant: 'I37',
    edits: [
      {
        file: 'platform/postgres/job-attempts.ts',
        from: 'where id = $1 and attempt = $2 and lease_owner is null and status = any($5)',
        to: 'where id = $1 and attempt = $2 and lease_owner is null and $5::text[] is not null',
      },
    ],
  },
  'an upload that completes after its deletion': {
    invariant: 'I30',
    edits: [
      {
        file: 'platform/postgres/upload-store.ts',
        from: `expires_at = greatest(expires_at, now() + $3 * interval '1 ms')
       where id = $1 and status = any($2)`,
        to: `expires_at = greatest(expires_at, now() + $3 * interval '1 ms')
       where id = $1 and $2::text[] is not null`,
      },
    ],
  },
  'a title that a deletion leaves': {
    invariant: 'I36',
    edits: [
      {
        file: 'platform/postgres/descriptions.ts',
        from: `title: 'said_at <= requested_at'`,
        to: `title: "said_at <= requested_at - interval '1 day'"`,
      },
    ],
  },
} as const satisfies Readonly<Record<string, Planted>>;

export type PlantedCrossing = keyof typeof planted;

export const plantedCrossings: Readonly<Record<PlantedCrossing, Planted>> = planted;

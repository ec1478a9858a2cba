import type { Description, Metadata } from '#domain/media/description.ts';
import type { Media } from '#domain/library/media.ts';
import type { Database } from './database.ts';
import { afterEveryHash, hashRange } from './hash-range.ts';
import { readList } from './list-database.ts';
import { mediaColumns, mediaOfRow } from './media-store.ts';

/** Which media are listed, and so in which order: each has an index. Newest first where no other filter is given. */
export type MediaFilter =
  | { readonly by: 'age'; readonly createdAfter: Date | null; readonly createdBefore: Date | null }
  | { readonly by: 'prefix'; readonly prefix: string }
  | { readonly by: 'expiry'; readonly expiresBefore: Date }
  | { readonly by: 'bytes'; readonly bytesMin: number }
  /** `words`: a tsquery of the words of the title; `prefix`: the beginning of the hash. One of them suffices; null: none. */
  | { readonly by: 'search'; readonly words: string | null; readonly prefix: string | null }
  /** Media whose metadata has all of these strings, and whose hash begins with `prefix`. */
  | { readonly by: 'metadata'; readonly metadata: Metadata; readonly prefix: string };

/** The last media of the page before: the value that orders the list, and its hash. */
export interface MediaCursor {
  readonly value: string;
  readonly hash: string;
}

export interface ListedMedia extends Media, Description {
  /** Whether it is being deleted; a media whose deletion has ended is on no list. */
  readonly isDeleting: boolean;
}

interface MediaPage {
  readonly after: MediaCursor | null;
  readonly limit: number;
  /** Only media whose hash begins with it. */
  readonly hashPrefix?: string | null;
}

const order = {
  age: `(created_at, hash) < ($2::timestamptz, $3) and created_at > coalesce($4, '-infinity'::timestamptz)
    order by created_at desc, hash desc`,
  prefix: `hash collate "C" > $3 and hash collate "C" >= $2 and hash collate "C" < $4 order by hash collate "C"`,
  expiry: `expires_at is not null and (expires_at, hash) > ($2::timestamptz, $3) and expires_at < $4::timestamptz
    order by expires_at, hash`,
  bytes: `(bytes, hash) < ($2::bigint, $3) and bytes >= $4::bigint order by bytes desc, hash desc`,
} as const satisfies Record<Exclude<MediaFilter['by'], 'search' | 'metadata'>, string>;
/** The same of the page: a join has no order. */
const shownOrder = {
  age: 'page.created_at desc, page.hash desc',
  prefix: 'page.hash collate "C"',
  expiry: 'page.expires_at, page.hash',
  bytes: 'page.bytes desc, page.hash desc',
  search: 'page.hash collate "C"',
  metadata: 'page.hash collate "C"',
} as const satisfies Record<MediaFilter['by'], string>;
const belowPrefix = `hash collate "C" >= $5 and hash collate "C" < $6 and `;
/**
 * Whether a description is one of a media; `from` has the bounds of the page. A merge join would else read the media
 * from the first hash on.
 */
const isOfMedia = (from: string) => `exists (select from media where ${from} and hash collate "C" = descriptions.hash)`;
// In the order of hashes, since each of both has an index in it: for a word that many titles have, the planner reads on
// until the page is full, and for a rare one it sorts those that the index of words names.
const searched = (condition: string) => `
  select ${mediaColumns} from (
    (select hash from descriptions
      where ${condition}words @@ $2::tsquery and hash > $3
        and ${isOfMedia(`${condition}hash collate "C" > $3`)}
      order by hash limit $1)
    union
    (select hash collate "C" from media
      where ${condition}hash collate "C" > $3 and hash collate "C" >= $4
        and hash collate "C" < $4 || '${afterEveryHash}'
      order by hash collate "C" limit $1)
  ) as found (found_hash) join media on media.hash collate "C" = found_hash order by found_hash limit $1`;
// By the statistics of its index the planner reads in the order of hashes until the page is full where many media have
// the strings, and sorts what the index names where few have them.
const described = (condition: string) => `
  select ${mediaColumns} from (
    select hash from descriptions
    where ${condition}metadata::jsonb @> $2::jsonb and hash > $3 and hash >= $4 and hash < $4 || '${afterEveryHash}'
      and ${isOfMedia(`${condition}hash collate "C" > $3 and hash collate "C" >= $4`)}
    order by hash limit $1
  ) as found (found_hash) join media on media.hash collate "C" = found_hash order by found_hash`;
function pageOf(by: MediaFilter['by'], condition: string): string {
  if (by === 'search') return searched(condition);
  if (by === 'metadata') return described(condition);
  return `select ${mediaColumns} from media where ${condition}${order[by]} limit $1`;
}
const statementOf = (by: MediaFilter['by'], condition: string) => `
  select page.*, title, metadata, exists (
    select from media_deletions where media_deletions.hash = page.hash and lifted_at is null
  ) as is_deleting
  from (${pageOf(by, condition)}) as page
  left join descriptions on descriptions.hash = page.hash collate "C"
  order by ${shownOrder[by]}`;

/**
 * At most `limit` media.
 *
 * @param database of `openListDatabase`
 * @throws KnownProblem `busy` when too many lists are read
 */
export async function listMedia(
  database: Pick<Database, 'pool'>,
  filter: MediaFilter,
  { after, limit, hashPrefix = null }: MediaPage,
): Promise<ListedMedia[]> {
  const rows = await readList<Parameters<typeof mediaOfRow>[0] & Description & { is_deleting: boolean }>(
    database,
    statementOf(filter.by, hashPrefix === null ? '' : belowPrefix),
    [limit, ...boundsOf(filter, after), ...(hashPrefix === null ? [] : hashRange(hashPrefix))],
  );
  return rows.map((row) => {
    const { title, metadata, is_deleting: isDeleting } = row;
    return { ...mediaOfRow(row), title, metadata, isDeleting };
  });
}

/** Where the page begins, by value and hash, and where the list ends. */
function boundsOf(filter: MediaFilter, after: MediaCursor | null): readonly unknown[] {
  if (filter.by === 'age')
    return [after?.value ?? filter.createdBefore ?? 'infinity', after?.hash ?? '', filter.createdAfter];
  if (filter.by === 'prefix') return [filter.prefix, after?.hash ?? '', `${filter.prefix}${afterEveryHash}`];
  if (filter.by === 'search') return [filter.words, after?.hash ?? '', filter.prefix];
  if (filter.by === 'metadata') return [JSON.stringify(filter.metadata), after?.hash ?? '', filter.prefix];
  if (filter.by === 'expiry') return [after?.value ?? '-infinity', after?.hash ?? '', filter.expiresBefore];
  return [after?.value ?? String(2n ** 63n - 1n), after?.hash ?? afterEveryHash, filter.bytesMin];
}

/** The value by which a media is ordered in the list, for the cursor of the page after it. */
export function orderValueOf(media: Media, by: MediaFilter['by']): string {
  if (by === 'bytes') return String(media.bytes);
  if (by === 'prefix' || by === 'search' || by === 'metadata') return '';
  return (by === 'expiry' ? media.expiresAt : media.createdAt)?.toISOString() ?? '';
}

import { type DueKind, dueKinds, type DueState, lateAfterMs } from '#domain/work/due.ts';
import type { Database } from './database.ts';
import { type DueRows, dueRowsOf } from './due-kinds.ts';

/*
 * Claims of rows that are due, for all kinds alike: the longest due first, without those that another claim has locked
 * or holds. A claim holds a row by moving its due time, so of a process that dies the row is due again after the hold.
 * All times are the database's.
 *
 * Each statement of a claim has the parameters $1, the most rows; $2, the delay of the kind in milliseconds; $3, the
 * time, for tests. Its own begin with $4.
 */

const time = 'coalesce($3, now())';
/** The time by which rows are due. */
export const clock = `(${time} - $2 * interval '1 millisecond')`;

export interface DuePage {
  readonly limit: number;
  /** Rows are due so long after the time of their kind; 0 by default. */
  readonly delayMs?: number;
  /** For tests; by default the database's clock. */
  readonly now?: Date | null;
}

interface Claim {
  /** Further columns that the claim sets. */
  readonly set?: string;
  readonly returning: string;
  /** A query over `due`, whose columns `set` and `returning` may use. It has `due_key`. */
  readonly decided?: { readonly columns: string; readonly query: string };
  /** Rows of each of the keys $4 of this column, at most the number in $5 that stands at its place. */
  readonly fairBy?: string;
  /** The claim is all of the work: it holds no row. */
  readonly isEnd?: true;
}

/** The end of a selection of rows that are due: another transaction that has locked one of them has it. */
export const notLocked = 'for update skip locked';

/** The statement that claims rows of a kind. In `returning` and `set`, columns are those of the table. */
export function claimText(kind: DueKind, { set, returning, decided, fairBy, isEnd }: Claim): string {
  const rows = dueRowsOf[kind];
  const held = rows.hold === undefined || isEnd ? [] : [`${rows.hold.column} = ${clock} + ${rows.hold.for}`];
  const changes = [...held, ...(set === undefined ? [] : [set])].join(', ');
  return `
    with due as (${dueRows(rows, { columns: decided?.columns, fairBy })})
    ${decided === undefined ? '' : `, decided as (${decided.query})`}
    update ${rows.table} set ${changes} from ${decided === undefined ? 'due' : 'decided'}
    where ${keyOf(rows)} = due_key returning ${returning}`;
}

/** The statement that deletes rows that are due: the work of a kind that is nothing else. */
export function deleteText(rows: DueRows): string {
  return `with due as (${dueRows(rows)}) delete from ${rows.table} using due where ${keyOf(rows)} = due_key`;
}

/** The statement that selects the keys of rows that are due: of a kind whose work may be done twice at once. */
export function keysText(kind: DueKind): string {
  return dueRows(dueRowsOf[kind]);
}

/** The statement that moves a claimed row's due time: $1 its key, $2 the delay from now. */
export function deferText(kind: DueKind): string {
  const { table, where, key = 'id', dueAt, hold } = dueRowsOf[kind];
  return `
    update ${table} set ${hold?.column ?? dueAt} = now() + $2 * interval '1 millisecond' where ${key} = $1 and ${where}`;
}

const keyOf = ({ key = 'id' }: DueRows) => key;

interface Page {
  readonly columns?: string | undefined;
  readonly fairBy?: string | undefined;
}

/** Selects the keys of rows that are due, and locks them. */
function dueRows(rows: DueRows, { columns, fairBy }: Page = {}): string {
  const page = (condition: string, limit: string) => `
    select ${keyOf(rows)} as due_key${columns === undefined ? '' : `, ${columns}`} from ${rows.table}
    where ${condition}${isDue(rows)} order by ${rows.dueAt} limit ${limit} ${notLocked}`;
  if (fairBy === undefined) return page('', '$1');
  const ofKey = page(`${fairBy} = wanted_key and `, 'least($1::int, wanted_rows)');
  return `
    select due_key from unnest($4::text[], $5::int[]) as wanted (wanted_key, wanted_rows)
    cross join lateral (${ofKey}) as of_key`;
}

/** Whether a row is due, in SQL. */
export function isDue({ where, dueAt, heldUntil }: DueRows): string {
  const isFree = heldUntil === undefined ? '' : ` and (${heldUntil} is null or ${heldUntil} <= ${time})`;
  return `${where} and ${dueAt} <= ${clock}${isFree}`;
}

/** Runs the statement of a claim. */
export async function claimDue<Row extends object>(
  { pool }: Pick<Database, 'pool'>,
  text: string,
  { limit, delayMs = 0, now = null }: DuePage,
  ...more: readonly unknown[]
): Promise<Row[]> {
  return (await pool.query<Row>(text, [limit, delayMs, now, ...more])).rows;
}

/** How many rows of a kind are due, and how many of these are late; counting stops at `countedMax`. */
export type DueCounts = Readonly<Record<DueKind, Readonly<Record<DueState, number>>>>;

/** How long after its time a row of each kind is due; null: nothing of the kind is done here. */
export type DueDelays = Readonly<Record<DueKind, number | null>>;

const countedMax = 10_000;
const countOf = (kind: DueKind, index: number) => {
  const { table, where, dueAt } = dueRowsOf[kind];
  const delay = `($1::float8[])[${index + 1}]`;
  return `
    select '${kind}' as kind, count(*)::int as due,
      (count(*) filter (where since <= now() - (${delay} + ${lateAfterMs[kind]}) * interval '1 ms'))::int as late
    from (
      select ${dueAt} as since from ${table} where ${where} and ${dueAt} <= now() - ${delay} * interval '1 ms'
      order by ${dueAt} limit ${countedMax}
    ) as rows`;
};
const count = dueKinds.map(countOf).join(' union all ');

/** Questions that all kinds of due work have in common. */
export class DueWorkStore {
  readonly #database: Pick<Database, 'pool'>;

  constructor(database: Pick<Database, 'pool'>) {
    this.#database = database;
  }

  /** Deletes rows that are due, of a kind whose work is nothing else; how many. */
  async delete(kind: DueKind, { limit, delayMs = 0 }: DuePage): Promise<number> {
    return (await this.#database.pool.query(deleteText(dueRowsOf[kind]), [limit, delayMs, null])).rowCount ?? 0;
  }

  /** Also counts rows that are claimed, where a claim does not move the time from which they are due. */
  async count(delays: DueDelays): Promise<DueCounts> {
    const parameters = [dueKinds.map((kind) => delays[kind])];
    const { rows } = await this.#database.pool.query<{ kind: DueKind } & Record<DueState, number>>(count, parameters);
    return Object.fromEntries(rows.map(({ kind, due, late }) => [kind, { due, late }])) as DueCounts;
  }
}

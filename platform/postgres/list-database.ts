import type { QueryResultRow } from 'pg';
import { KnownProblem } from '#domain/errors.ts';
import { type Database, openDatabase } from './database.ts';

/** Few connections and short statements: lists may be as heavy as callers like, and nothing else waits for them. */
const limits = { maxConnections: 2, statementTimeoutMs: 3_000, connectionTimeoutMs: 2_000 };

/** The pool that lists have for themselves. */
export function openListDatabase(url: string): Database {
  return openDatabase(url, limits);
}

/**
 * The rows of a list.
 *
 * @param database of `openListDatabase`
 * @throws KnownProblem `busy` when too many lists are read, or the statement took too long
 */
export async function readList<Row extends QueryResultRow>(
  database: Pick<Database, 'pool'>,
  text: string,
  values: readonly unknown[],
): Promise<Row[]> {
  try {
    return (await database.pool.query<Row>(text, [...values])).rows;
  } catch (error) {
    if (!isOverload(error)) throw error;
    throw new KnownProblem('busy', 'Too many lists are read at once; send the same request again.', { cause: error });
  }
}

/** SQLSTATE 57014 is a statement timeout, the other is the pool's message for a call that got no connection. */
function isOverload(error: unknown): boolean {
  const { code, message } = error as { readonly code?: string; readonly message: string };
  return code === '57014' || message === 'timeout exceeded when trying to connect';
}

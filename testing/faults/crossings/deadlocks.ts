import { DatabaseError, type PoolClient } from 'pg';
import type { Database } from '#platform/postgres/database.ts';

const deadlockDetected = '40P01';
/** Of each connection the last statements are remembered, of a transaction those that took its locks. */
const rememberedMax = 6;

type Query = (...parameters: unknown[]) => unknown;

/** I40: watches the connections that are opened from now on; the transactions that waited for each other, as they are found. */
export function watchDeadlocks(databases: readonly Pick<Database, 'pool'>[]): readonly string[] {
  const found: string[] = [];
  const statements = new Map<number, string[]>();
  const note = (error: unknown) => {
    if (!(error instanceof DatabaseError) || error.code !== deadlockDetected) return;
    const processes = new Set([...(error.detail ?? '').matchAll(/Process (\d+) waits/g)].map(([, id]) => Number(id)));
    const each = [...processes].map((id) => (statements.get(id) ?? []).join(' ; '));
    found.push(`I40: transactions waited for each other: ${[...each, error.where ?? ''].join(' | ')}`);
  };
  const watch = (client: PoolClient) => {
    const patched = client as unknown as { query: Query; readonly processID: number };
    const query = patched.query.bind(client);
    patched.query = (...parameters) => {
      const { text = String(parameters[0]) } = (parameters[0] ?? {}) as { readonly text?: string };
      const own = statements.get(patched.processID) ?? [];
      statements.set(patched.processID, [...own.slice(1 - rememberedMax), text.replaceAll(/\s+/g, ' ').trim()]);
      const answer = parameters.at(-1);
      if (typeof answer !== 'function')
        return Promise.resolve(query(...parameters)).catch((error: unknown) => {
          note(error);
          throw error;
        });
      const noted = (error: unknown, result: unknown) => {
        note(error);
        (answer as Query)(error, result);
      };
      return query(...parameters.slice(0, -1), noted);
    };
  };
  for (const { pool } of databases) pool.on('connect', watch);
  return found;
}

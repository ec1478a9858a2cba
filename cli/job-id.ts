import type { Context } from './command.ts';
import { UsageError } from './exit-codes.ts';
import { firstOf } from './first-of.ts';
import type { Output } from './output.ts';

// Ids of jobs: a list on a terminal shows their first digits, and every command about a job takes those.

const shownDigits = 8;
/** Jobs that are looked through for one whose id begins so; a list shows no more of them. */
const recentMax = 1_000;

/** An id as a person reads it; whole where a program reads. */
export function idText(id: string, { isRead }: Pick<Output, 'isRead'>): string {
  return isRead ? id.slice(0, shownDigits) : id;
}

/** The job that the first argument names, by its id or by the first four digits of it or more. @throws UsageError */
export async function jobIdOf({ args: [given = ''], client, signal }: Context): Promise<string> {
  if (!/^[0-9a-f][0-9a-f-]{3,34}$/i.test(given)) return given;
  const start = given.toLowerCase();
  const recent = await firstOf((await client()).jobs({ limit: 100 }), recentMax);
  signal.throwIfAborted();
  const found = recent.map(({ job_id: each }) => each).filter((each) => each.startsWith(start));
  const [id, second] = found;
  if (id === undefined)
    throw new UsageError(`${given}: no job of the latest ${recentMax} begins with it; give the whole id`);
  if (second !== undefined)
    throw new UsageError(`${given}: several jobs begin with it: ${found.slice(0, 5).join(', ')}`);
  return id;
}

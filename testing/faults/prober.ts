import { setTimeout as sleep } from 'node:timers/promises';
import { masterKey } from '#domain/media/object-keys.ts';
import { playedAfterDeletion } from './library-invariants.ts';
import { reachable, textAt } from './object-invariants.ts';
import type { World } from './world.ts';

/** How often a stream is read, and a waiting job asked why. */
const everyMs = 250;
/** The media that were submitted last are read, each in its turn. */
const recentMax = 20;

/**
 * Reads streams while the service is disturbed, as players do, and asks waiting jobs why they wait, as callers do.
 *
 * @returns stops it, and gives a line for each violation
 */
export function probe(world: World): () => Promise<string[]> {
  const violations = new Set<string>();
  const stopping = new AbortController();
  const readOne = async (hash: string) => {
    const { master, missing } = await reachable(hash, world.media);
    // Retention may have removed what was current when the reading began.
    const now = missing.length === 0 ? master : await textAt(world.media, masterKey(hash));
    if (now === master) for (const line of missing) violations.add(`I15: ${line}`);
  };
  const askOne = async (turn: number) => {
    const { rows } = await world.database.pool.query<{ id: string }>(
      `select id from jobs where status = 'queued' or (status = 'processing' and lease_owner is null) order by created_at`,
    );
    const id = rows[turn % Math.max(1, rows.length)]?.id;
    const answer = id === undefined ? null : await world.request('GET', `/api/jobs/${id}`);
    if (id === undefined || answer?.status !== 200) return;
    const { status = '', phase, reason } = answer.body as Waiting;
    const runs = reason === null && phase !== null && phase !== 'admitted';
    if (!['queued', 'processing'].includes(status) || runs) return;
    world.facts.waits.push({ at: Date.now(), id, code: reason?.code ?? null, message: reason?.message ?? '' });
  };
  const run = async () => {
    for (let turn = 0; !stopping.signal.aborted; turn += 1) {
      const recent = [...world.hashes].slice(-recentMax);
      const hash = recent[turn % Math.max(1, recent.length)];
      if (hash !== undefined) await readOne(hash).catch(() => undefined);
      for (const line of await playedAfterDeletion(world)) violations.add(line);
      await askOne(turn).catch(() => undefined);
      await sleep(everyMs);
    }
  };
  const running = run();
  return async () => {
    stopping.abort();
    await running;
    return [...violations];
  };
}

interface Waiting {
  readonly status?: string;
  readonly phase: string | null;
  readonly reason: { readonly code: string; readonly message: string } | null;
}

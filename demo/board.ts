import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findSplitWork } from '#jobs/completion/next-units.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import { type ApiAccess, listJobs } from './jobs.ts';
import type { Workers } from './workers.ts';

// The routes of the demo for its part of the console: chunks of the jobs that run, and a button that kills a worker.

interface BoardParts {
  readonly workers: Pick<Workers, 'pids' | 'killBusiest'>;
  readonly api: ApiAccess;
  /** The media bucket. */
  readonly media: ObjectStore;
  /** Called with the id of a killed worker. */
  readonly onKilled?: (pid: number) => void;
}

const page = join(import.meta.dirname, 'page');

const file = (name: string, type: string) => async () => ({ type, body: await readFile(join(page, name)) });
const json = (value: unknown) => ({ type: 'application/json', body: JSON.stringify(value) });

/** The routes of the board, below `/demo/`. */
export function boardRoutes({ workers, api, media, onKilled }: BoardParts) {
  /** One after the other: each chooses among the workers that are there then. */
  let killing: Promise<unknown> = Promise.resolve();
  return {
    'GET /demo/board.js': file('board.js', 'text/javascript; charset=utf-8'),
    'GET /demo/board.css': file('board.css', 'text/css; charset=utf-8'),
    'GET /demo/state': async () => json({ workers: workers.pids, jobs: await chunkedJobs(api, media) }),
    'POST /demo/kill': async () => {
      const kill = killing.then(() => workers.killBusiest());
      killing = kill.catch(() => undefined);
      const pid = await kill;
      onKilled?.(pid);
      return json({ killed: pid, workers: workers.pids });
    },
  };
}

/** The jobs that run in chunks, each with whether its chunks are encoded. */
async function chunkedJobs(api: ApiAccess, media: ObjectStore) {
  const jobs = await Promise.all(
    (await listJobs('processing', api)).map(async ({ job_id: id, hash, attempt }) => {
      const work = await findSplitWork(id, media);
      if (work === null) return null;
      const chunks = work.split.chunk_frames.map((_, chunk) => work.finished.has(chunk));
      return { job_id: id, hash, attempt, chunks };
    }),
  );
  return jobs.filter((job) => job !== null);
}

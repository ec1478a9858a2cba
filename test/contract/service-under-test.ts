import { mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, inject } from 'vitest';
import { until } from '../../testing/controller-rig.ts';
import { migratedDatabase } from '../../testing/databases.ts';
import { type Program, secrets } from '../../testing/programs.ts';
import { removeFolder } from '../../testing/remove-folder.ts';
import { makeSmallSources } from '../../testing/stage/service.ts';

// What the program itself needs to run on real media: folders as buckets, a database, and a source of each kind.

export interface ServiceUnderTest {
  readonly env: Readonly<Record<string, string>>;
  readonly databaseUrl: string;
  folder(name: string): string;
  close(): Promise<void>;
}

/** Makes `source/clip.mp4` (2 s, 128 × 72, with audio) and `source/red.png`; only where there is a PostgreSQL. */
export async function prepareService(): Promise<ServiceUnderTest> {
  const dir = await mkdtemp(join(tmpdir(), 'reelwright-service-'));
  const folder = (name: string) => join(dir, name);
  for (const name of ['source', 'media', 'work', 'notes']) await mkdir(folder(name));
  await makeSmallSources(folder('source'));
  const database = inject('postgres') ? await migratedDatabase() : null;
  const databaseUrl = database?.url ?? '';
  return {
    env: {
      ...secrets,
      DATABASE_URL: databaseUrl,
      REDIS_URL: 'embedded:',
      SOURCE_BUCKET: `file:${folder('source')}`,
      MEDIA_BUCKET: `file:${folder('media')}`,
      WORK_DIR: folder('work'),
      X264_PRESET: 'ultrafast',
    },
    databaseUrl,
    folder,
    close: async () => {
      await database?.drop();
      await removeFolder(dir);
    },
  };
}

type Reached = Pick<Program, 'url'>;

export const headers = { 'x-api-key': secrets.API_KEY, 'content-type': 'application/json' };

/** Submits what must be a new job; its id. */
export async function submit(program: Reached, body: object): Promise<string> {
  const answer = await fetch(`${program.url}/api/jobs`, { method: 'POST', headers, body: JSON.stringify(body) });
  const text = await answer.text();
  expect([answer.status, text]).toEqual([202, text]);
  return (JSON.parse(text) as { job_id: string }).job_id;
}

/** The job as `GET /api/jobs/{id}` shows it. */
// oxlint-disable-next-line typescript/no-explicit-any -- a test says what it expects of it
export async function job(program: Reached, id: string): Promise<any> {
  return (await fetch(`${program.url}/api/jobs/${id}`, { headers })).json();
}

export const finished = (program: Reached, id: string) =>
  until(
    () => job(program, id),
    ({ status }) => status === 'completed' || status === 'failed',
    100_000,
  );

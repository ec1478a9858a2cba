import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../../testing/controller-rig.ts';
import { endPrograms, type Program, secrets, startProgram } from '../../testing/programs.ts';
import { startPostgres, startRedis } from '../../testing/servers.ts';

/** The service on a PostgreSQL, a Redis and folders of its own. */
export interface ServiceOnOwnServers {
  readonly program: Program;
  /** The folder of the source bucket. */
  readonly sourceDir: string;
  readonly databaseUrl: string;
  readonly redisUrl: string;
}

/**
 * Starts the service and waits until it is ready: it listens while its tables are made. What must be stopped is added
 * to `stops`.
 */
export async function startOnOwnServers(
  stops: (() => Promise<unknown>)[],
  {
    args = [],
    variables = {},
    probe = '/readyz',
  }: {
    readonly args?: string[];
    readonly variables?: Readonly<Record<string, string>>;
    /** `/healthz` where a bucket is none that could be ready. */
    readonly probe?: '/readyz' | '/healthz';
  } = {},
): Promise<ServiceOnOwnServers> {
  const folder = await mkdtemp(join(tmpdir(), 'reelwright-bench-'));
  stops.push(() => rm(folder, { recursive: true, force: true }));
  const [source, media, work] = ['source', 'media', 'work'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  for (const dir of [source, media, work]) await mkdir(dir);
  const postgres = await startPostgres();
  stops.push(() => postgres.stop());
  const redis = await startRedis();
  stops.push(() => redis.stop(), endPrograms);
  const program = await startProgram({
    args,
    env: {
      ...secrets,
      DATABASE_URL: postgres.url,
      REDIS_URL: redis.url,
      SOURCE_BUCKET: `file:${source}`,
      MEDIA_BUCKET: `file:${media}`,
      WORK_DIR: work,
      LOG_LEVEL: 'warn',
      ...variables,
    },
  });
  await until(
    () => fetch(`${program.url}${probe}`),
    ({ ok }) => ok,
  );
  return { program, sourceDir: source, databaseUrl: postgres.url, redisUrl: redis.url };
}

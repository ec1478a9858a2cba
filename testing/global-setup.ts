import type { TestProject } from 'vitest/node';
import { migratedTemplate } from './migrated-template.ts';
import { startPart } from './stage/parts.ts';
import { openStage, type StageServer } from './stage/server.ts';
import { MissingServer, startPostgres, startRedis, startS3, type S3Server } from './servers.ts';

// Starts each server once for a run of the project `real` and provides its address to the test files. A server that
// this machine does not have is provided as null; the suites that need it say `describe.skipIf(!inject('redis'))`.

declare module 'vitest' {
  export interface ProvidedContext {
    postgres: { url: string; migratedTemplate: string } | null;
    redis: { url: string } | null;
    s3: Omit<S3Server, 'stop'> | null;
    /** The socket of `testing/stage/server.ts`. */
    stage: string;
  }
}

interface Stoppable {
  stop: () => Promise<void>;
}

/** Called by vitest before the first test file; what it returns is called after the last. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const started: Stoppable[] = [];
  let stage: StageServer | undefined;
  const stopAll = async () => {
    // Before the servers that it uses.
    await stage?.stop();
    await Promise.all(started.map((server) => server.stop()));
  };
  try {
    // All three have started or failed before any is stopped, so that none is left behind.
    const results = await Promise.allSettled([
      startOrMiss(startPostgres, started),
      startOrMiss(startRedis, started),
      startOrMiss(() => startS3(), started),
    ]);
    const [postgres, redis, s3] = [settledValue(results[0]), settledValue(results[1]), settledValue(results[2])];
    const database = postgres && { url: postgres.url, migratedTemplate: await migratedTemplate(postgres.url) };
    stage = await openStage((name, ask) => startPart(name, ask, database));
    project.provide('stage', stage.socket);
    project.provide('postgres', database);
    project.provide('redis', redis && { url: redis.url });
    if (s3) {
      const { stop: _stop, ...address } = s3;
      project.provide('s3', address);
    } else project.provide('s3', null);
  } catch (error) {
    await stopAll();
    throw error;
  }
  return stopAll;
}

function settledValue<T>(result: PromiseSettledResult<T>): T {
  if (result.status === 'rejected') throw result.reason;
  return result.value;
}

async function startOrMiss<S extends Stoppable>(start: () => Promise<S>, started: Stoppable[]): Promise<S | null> {
  try {
    const server = await start();
    started.push(server);
    return server;
  } catch (error) {
    if (!(error instanceof MissingServer)) throw error;
    process.stderr.write(`tests that need it are skipped: ${error.message}\n`);
    return null;
  }
}

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { cpuMs } from '../support/processor-time.ts';

// wrk costs a small part of what it measures; a load generator in Node would measure itself.

const run = promisify(execFile);
const outcomeSchema = z.object({
  requests: z.number().positive(),
  durationUs: z.number().positive(),
  bytes: z.number(),
  p99Us: z.number(),
  failed: z.number(),
});

interface Load {
  readonly program: string;
  readonly url: string;
  /** `prefix` + a number from 1 to `count`, going round, + `suffix`. */
  readonly path: { readonly prefix: string; readonly count: number; readonly suffix: string };
  /** Bearer tokens, the first for the number 1 and so on. */
  readonly tokens?: readonly string[];
  /** The number before the first one; 0 by default. */
  readonly after?: number;
  readonly connections: number;
  readonly seconds: number;
  /** Whose processor time is counted. */
  readonly pid: number;
  /** Each answer's length at least: an answer that is short is no answer. */
  readonly sizeBytesMin: number;
}

export interface Outcome {
  readonly requestsPerSecond: number;
  readonly cpuMsPerRequest: number;
  readonly p99Ms: number;
}

/** @throws Error when a request failed: figures of a server that fails say nothing */
export async function load({
  program,
  url,
  path,
  tokens = [],
  after = 0,
  connections,
  seconds,
  pid,
  sizeBytesMin,
}: Load): Promise<Outcome> {
  const before = cpuMs(pid);
  const { stdout } = await run(
    program,
    [
      '-t1',
      `-c${connections}`,
      `-d${seconds}s`,
      '--timeout',
      '10s',
      '--latency',
      '-s',
      join(import.meta.dirname, 'wrk.lua'),
      url,
    ],
    {
      env: {
        URL_PREFIX: path.prefix,
        URL_SUFFIX: path.suffix,
        COUNT: String(path.count),
        FIRST: String(after),
        TOKENS: tokens.join(' '),
      },
    },
  );
  const cpuSpentMs = cpuMs(pid) - before;
  const outcome = outcomeSchema.parse(JSON.parse(/^\{.*\}$/m.exec(stdout)?.[0] ?? 'null'));
  if (outcome.failed > 0) throw new Error(`${outcome.failed} of ${outcome.requests} requests to ${url} failed`);
  if (outcome.bytes < outcome.requests * sizeBytesMin) throw new Error(`${url} answered too few bytes`);
  return {
    requestsPerSecond: outcome.requests / (outcome.durationUs / 1e6),
    cpuMsPerRequest: cpuSpentMs / outcome.requests,
    p99Ms: outcome.p99Us / 1000,
  };
}

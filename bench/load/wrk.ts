import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';

// wrk costs a small part of what it measures; a load generator in Node would measure itself.

const run = promisify(execFile);
/** Of the kernel's clock ticks, in which /proc counts processor time. */
const ticksPerSecond = 100;

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
  after = 0,
  connections,
  seconds,
  pid,
  sizeBytesMin,
}: Load): Promise<Outcome> {
  const before = await cpuMs(pid);
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
    { env: { URL_PREFIX: path.prefix, URL_SUFFIX: path.suffix, COUNT: String(path.count), FIRST: String(after) } },
  );
  const cpuSpentMs = (await cpuMs(pid)) - before;
  const outcome = outcomeSchema.parse(JSON.parse(/^\{.*\}$/m.exec(stdout)?.[0] ?? 'null'));
  if (outcome.failed > 0) throw new Error(`${outcome.failed} of ${outcome.requests} requests to ${url} failed`);
  if (outcome.bytes < outcome.requests * sizeBytesMin) throw new Error(`${url} answered too few bytes`);
  return {
    requestsPerSecond: outcome.requests / (outcome.durationUs / 1e6),
    cpuMsPerRequest: cpuSpentMs / outcome.requests,
    p99Ms: outcome.p99Us / 1000,
  };
}

/** What a process has used, its threads together, in steps of 10 ms. */
async function cpuMs(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // After the name, which may hold anything, comes the state; user and system time are the 12th and 13th from it on.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / ticksPerSecond;
}

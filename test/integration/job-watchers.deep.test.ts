import { randomUUID } from 'node:crypto';
import { Agent, get } from 'node:http';
import { expect, inject, test } from 'vitest';
import type { JobResults } from '#domain/job-types/index.ts';
import { openFleet } from '../../testing/fleet.ts';
import { newJobOf } from '../../testing/new-job.ts';
import { memoryOf } from '../../testing/process-memory.ts';
import { secrets } from '../../testing/programs.ts';

// How much memory a server takes for many clients that follow one job, whose end has large results.

const clients = 1_500;
const resultsBytes = 288_000;
const growthMax = 60 * 1024 * 1024;

/** A client that follows a job and keeps nothing of what it gets: `opened` at its first bytes, `ended` with their sum. */
function follow(url: string, agent: Agent) {
  const opened = Promise.withResolvers<undefined>();
  const ended = Promise.withResolvers<number>();
  const request = get(url, { agent, headers: { 'x-api-key': secrets.API_KEY } }, (answer) => {
    let bytes = 0;
    answer.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      opened.resolve(undefined);
    });
    answer.on('end', () => ended.resolve(bytes));
    answer.on('error', ended.reject);
  });
  request.on('error', (error) => {
    opened.reject(error);
    ended.reject(error);
  });
  return { opened: opened.promise, ended: ended.promise };
}

test.skipIf(!inject('postgres') || !inject('redis'))(
  'the large results of a job that 1,500 clients follow take a server under 60 MiB',
  async ({ onTestFinished }) => {
    const fleet = await openFleet({ onTestFinished });
    const server = await fleet.start('server');
    const agent = new Agent({ maxSockets: clients });
    onTestFinished(() => agent.destroy());
    const results = { key: 'x'.repeat(resultsBytes), outputs: [] } as unknown as JobResults;
    const one = newJobOf({ type: 'image:thumbnail', hash: 'followed', source: 'a.jpg', options: {} });
    const { job } = await fleet.jobs.insertOrFind(one);
    await fleet.jobs.claim({ jobId: job.id, attempt: 1, owner: 'test', leaseMs: 600_000 });
    const before = await memoryOf(server.pid, 'VmRSS');
    const followers = Array.from({ length: clients }, () => follow(`${server.url}/api/jobs/${job.id}/events`, agent));
    await Promise.all(followers.map(({ opened }) => opened));
    const idle = await memoryOf(server.pid, 'VmHWM');
    const end = { status: 'completed', results, error: null } as const;
    await fleet.jobs.finish({ jobId: job.id, attempt: 1, ...end, eventId: randomUUID(), now: new Date() });
    const sizes = await Promise.all(followers.map(({ ended }) => ended));
    const most = await memoryOf(server.pid, 'VmHWM');
    if (process.env['RIG_LOG'] !== undefined) process.stderr.write(`${JSON.stringify({ before, idle, most })}\n`);
    expect(Math.min(...sizes)).toBeGreaterThan(resultsBytes);
    expect(most - idle).toBeLessThan(growthMax);
  },
  180_000,
);

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { jobErrorOf } from '#domain/job-error.ts';
import { parseReport, type Report } from '#domain/work/report.ts';
import { writeTerminationMessage, ReportPoster } from './report-outlets.ts';

async function folder(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'reelwright-outlets-'));
  onTestFinished(() => rm(dir, { recursive: true }));
  return dir;
}

it('the termination message is a parsable result, without the details of its error where they are too long', async () => {
  const path = join(await folder(), 'message');
  await writeFile(path, '');
  const error = { ...jobErrorOf('corrupt_input', 2), details: { log_tail: 'x'.repeat(100) } };
  const started_at = '2026-11-24T08:00:00.000Z';
  const steps = [{ step: 'fetch' as const, started_at, duration_ms: 900, processor_ms: 310, code: null }];
  const read = async () => parseReport(await readFile(path, 'utf8'));
  writeTerminationMessage(path, { type: 'result', error, steps });
  expect(await read()).toEqual({ type: 'result', error, steps });
  const long = { ...error, details: { log_tail: 'ä'.repeat(4096) } };
  writeTerminationMessage(path, { type: 'result', error: long, steps });
  expect(await read()).toEqual({ type: 'result', error: jobErrorOf('corrupt_input', 2), steps });
  writeTerminationMessage(path, { type: 'result', error: null, steps });
  expect(await read()).toEqual({ type: 'result', error: null, steps });
});

it('C37.19: a container that is killed leaves what it had used, also where its result was to follow', async () => {
  const path = join(await folder(), 'message');
  await writeFile(path, '');
  const run = { step: 'process' as const, started_at: '2026-11-24T08:00:00.000Z', duration_ms: 900, code: null };
  const read = async () => parseReport((await readFile(path, 'utf8')).trim());
  for (const processorMs of [31_000, 8]) {
    const used = { type: 'used' as const, steps: [{ ...run, processor_ms: processorMs }] };
    writeTerminationMessage(path, used);
    expect(await read()).toEqual(used);
  }
  const result = { type: 'result' as const, error: null, steps: [] };
  writeTerminationMessage(path, result);
  expect(await read()).toEqual(result);
});

it('no termination message is written where the kubelet has not made the file', async () => {
  const path = join(await folder(), 'none');
  writeTerminationMessage(path, { type: 'result', error: jobErrorOf('internal', 1), steps: [] });
  await expect(readFile(path)).rejects.toThrow('ENOENT');
});

it('the first and the newest report are posted with the token, one at a time', async () => {
  const taken: { token: string | undefined; report: Report | null }[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      taken.push({ token: request.headers.authorization, report: parseReport(body) });
      setTimeout(() => response.writeHead(204).end(), 50);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/reports/j/1`;
  const poster = new ReportPoster({ url, token: 'secret' });
  for (const fraction of [0.1, 0.2, 0.3]) poster.post({ type: 'progress', phase: 'encoding', fraction });
  await expect.poll(() => taken.length).toBe(2);
  await poster.settled();
  expect(taken.map(({ report }) => report)).toMatchObject([{ fraction: 0.1 }, { fraction: 0.3 }]);
  expect(taken[0]?.token).toBe('Bearer secret');
});

it('a report that cannot be posted is dropped without an error', async () => {
  const poster = new ReportPoster({ url: 'http://127.0.0.1:9/', token: 'secret' });
  poster.post({ type: 'phase', phase: 'encoding' });
  await poster.settled();
});

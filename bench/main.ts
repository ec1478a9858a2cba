import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { judge, readExpectations, renderTable, unmeasured } from './expectations.ts';
import type { BenchLine, BenchSuite } from './harness.ts';
import { chunksSuite } from './suites/chunks.ts';
import { clientsSuite } from './suites/clients.ts';
import { deletionSuite } from './suites/deletion.ts';
import { idleSuite } from './suites/idle.ts';
import { imagesSuite } from './suites/images.ts';
import { keysSuite } from './suites/keys.ts';
import { playbackSuite } from './suites/playback.ts';
import { kubernetesSuite } from './suites/kubernetes.ts';
import { loopSuite } from './suites/loop.ts';
import { rowsSuite } from './suites/rows.ts';
import { streamSuite } from './suites/stream.ts';
import { submissionsSuite } from './suites/submissions.ts';
import { thumbSuite } from './suites/thumb.ts';
import { ticketsSuite } from './suites/tickets.ts';
import { transcodeSuite } from './suites/transcode.ts';
import { turnsSuite } from './suites/turns.ts';

// `make bench`: runs the suites that BENCH names (all of them without it, `quick` for some of them with fewer
// rounds), one after another, prints their lines and writes them to test-results/bench.json. A missed line is printed
// as missed and fails nothing, since the machines that this runs on are noisy; a suite that broke, or gave a line too
// few, ends the program with 1.

const suites: readonly BenchSuite[] = [
  streamSuite,
  ticketsSuite,
  loopSuite,
  thumbSuite,
  keysSuite,
  playbackSuite,
  clientsSuite,
  idleSuite,
  submissionsSuite,
  rowsSuite,
  imagesSuite,
  transcodeSuite,
  kubernetesSuite,
  chunksSuite,
  turnsSuite,
  deletionSuite,
];

/** `BENCH=quick`: for a change, in under five minutes. */
const quickNames = ['thumb', 'submissions', 'images', 'transcode'];

const write = (text: string) => process.stdout.write(`${text}\n`);

async function main(): Promise<void> {
  const given = (process.env['BENCH'] ?? '').split(',').filter((name) => name !== '');
  const isQuick = given.includes('quick');
  const named = given.filter((name) => name !== 'quick');
  const names = isQuick && named.length === 0 ? quickNames : named;
  const unknown = names.filter((name) => !suites.some((suite) => suite.name === name));
  if (unknown.length > 0) {
    write(`BENCH: expected quick, or some of ${suites.map(({ name }) => name).join(',')}, not ${unknown.join(',')}`);
    process.exitCode = 2;
    return;
  }
  const expectations = readExpectations(await readFile(join(import.meta.dirname, 'expected.yaml'), 'utf8'));
  const lines: BenchLine[] = [];
  const ran: string[] = [];
  const faults: string[] = [];
  for (const suite of suites.filter(({ name }) => names.length === 0 || names.includes(name))) {
    const missing = await suite.missing();
    if (missing !== null) {
      write(`${suite.name}: not run, ${missing}`);
      continue;
    }
    write(`${suite.name} …`);
    try {
      lines.push(...(await suite.run({ rounds: isQuick ? 1 : 3, isQuick })));
      ran.push(suite.name);
    } catch (error) {
      faults.push(`${suite.name} broke: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    }
  }
  if (!isQuick)
    faults.push(...unmeasured(ran, lines, expectations).map((id) => `${id} is expected and was not measured`));
  const verdicts = judge(lines, expectations);
  if (verdicts.length > 0) write(`\n${renderTable(verdicts)}`);
  for (const fault of faults) write(fault);
  await writeReport({
    at: new Date().toISOString(),
    node: process.version,
    processors: availableParallelism(),
    lines: verdicts.map(({ line, expected, verdict }) => ({ ...line, expected, verdict })),
    faults,
  });
  if (faults.length > 0) process.exitCode = 1;
}

async function writeReport(report: object): Promise<void> {
  const folder = join(import.meta.dirname, '../test-results');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'bench.json'), `${JSON.stringify(report, null, 2)}\n`);
}

await main();

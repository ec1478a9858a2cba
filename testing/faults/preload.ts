import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type ExternalWrite, interceptWrites } from '#platform/external-writes/external-write.ts';
import { KubeError } from '#platform/kubernetes/errors.ts';
import { recordWrite } from './history.ts';
import {
  type Fault,
  folderVariable,
  isSame,
  writeName,
  noteWrite,
  readPlan,
  type Role,
  roundsOf,
  takeFault,
} from './plan.ts';
import { plantedBugs, type PlantedBug, plantedFile } from './planted-bugs.ts';
import { shortenWaits } from './shorter-waits.ts';
import { skewClock } from './skewed-clock.ts';
import { loadEdited } from './text-edits.ts';

// Loaded before main.ts and runner/main.ts: notes each of their writes, and lets the planned fault happen at its point.
// It also plants a bug, skews the clock and names the process to the database, where the test asks for it.

/** Longer than the lease of the processes under test. */
const slowMs = 4_000;

const folder = process.env[folderVariable] ?? '';
const role = roleOf(process.argv);
const realNow = Date.now;
if (existsSync(join(folder, plantedFile)))
  loadEdited(plantedBugs[readFileSync(join(folder, plantedFile), 'utf8') as PlantedBug]);
if (role !== 'runner') shortenWaits(roundsOf(folder));
skewClock(join(folder, `skew-${process.pid}`));
if (role === 'worker') passOnToRunners();
if (role !== 'runner') await nameConnections();

interceptWrites(async (write, sendNow) => {
  const send = () => recorded(write, sendNow);
  const { run, fault: planned, isCounted = true } = readPlan(folder);
  if (!isCounted) return send();
  const point = noteWrite(folder, run, { role, kind: write.kind, name: writeName(write) });
  if (planned === null || !isSame(planned.point, point) || planned.point.nth !== point.nth) return send();
  return takeFault(folder, run) ? withFault(planned.fault, write, send) : send();
});

async function recorded<T>(write: ExternalWrite, send: () => Promise<T>): Promise<T> {
  let isSent = false;
  try {
    const answer = await send();
    isSent = true;
    return answer;
  } finally {
    recordWrite(folder, { ...write, at: realNow(), role, pid: process.pid, isSent });
  }
}

async function withFault<T>(fault: Fault, { kind }: ExternalWrite, send: () => Promise<T>): Promise<T> {
  if (fault === 'crash before') return crash();
  if (fault === 'fail') throw failureError(kind);
  if (fault === 'conflict') throw conflictOf(kind);
  if (fault === 'slow') await sleep(slowMs);
  const answer = await send();
  if (fault === 'crash after') return crash();
  if (fault === 'lose answer') throw failureError(kind);
  return answer;
}

/** The first process of a namespace cannot kill itself by a signal; `reallyExit` runs no handler either. */
function crash(): Promise<never> {
  if (process.pid === 1) (process as unknown as { reallyExit: (code: number) => void }).reallyExit(137);
  process.kill(process.pid, 'SIGKILL');
  return new Promise(() => undefined);
}

function failureError(kind: ExternalWrite['kind']): Error {
  if (kind === 'kubernetes') return new KubeError('socket hang up', { status: 0, reason: 'Unreachable' });
  const message = kind === 'sql' ? 'Connection terminated unexpectedly' : 'socket hang up';
  return Object.assign(new Error(message), { code: 'ECONNRESET' });
}

/** The answer of the system when another writer was first: 40001 of Postgres, 409 of Kubernetes and S3. */
function conflictOf(kind: ExternalWrite['kind']): Error {
  if (kind === 'sql') return Object.assign(new Error('could not serialize access'), { code: '40001' });
  if (kind === 'kubernetes') return new KubeError('conflict', { status: 409, reason: 'Conflict' });
  return Object.assign(new Error('conflict'), { name: 'OperationAborted', $metadata: { httpStatusCode: 409 } });
}

function roleOf(argv: readonly string[]): Role {
  if (argv[1]?.endsWith('runner/main.ts') === true) return 'runner';
  return argv.includes('--mode=server') ? 'server' : 'worker';
}

/** Runners get no variable of the worker's, so the program that starts them brings this file and its folder. */
function passOnToRunners(): void {
  const path = join(folder, `node-${process.pid}`);
  const self = fileURLToPath(import.meta.url);
  writeFileSync(
    path,
    `#!/bin/sh\nexport ${folderVariable}='${folder}'\nexec '${process.execPath}' --import '${self}' "$@"\n`,
  );
  chmodSync(path, 0o755);
  process.execPath = path;
}

/** The history says which process changed a row: leases name processes too. */
async function nameConnections(): Promise<void> {
  const { Client } = await import('pg');
  const { prototype } = Client as unknown as {
    prototype: { connect: (...args: unknown[]) => unknown; connectionParameters: { application_name: string } };
  };
  const { connect } = prototype;
  prototype.connect = function connectNamed(this: typeof prototype, ...args) {
    this.connectionParameters.application_name = `${role}:${process.pid}`;
    return connect.apply(this, args);
  };
}

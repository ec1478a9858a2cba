import { appendFileSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ExternalWrite } from '#platform/external-writes/external-write.ts';

// What the processes under test and the program that watches them have in common: a folder with the plan of the run,
// and the writes that each run made.

/**
 * The faults at a write. `crash before` and `crash after` end the process; `fail` and `conflict` refuse the write;
 * `lose answer` applies it and then fails; `slow` puts it off for longer than a lease.
 */
export const faults = ['crash before', 'crash after', 'fail', 'lose answer', 'slow', 'conflict'] as const;
export type Fault = (typeof faults)[number];

export type Role = 'server' | 'worker' | 'runner';

/** A place in a scenario where something is written. */
export interface WritePoint {
  readonly role: Role;
  readonly kind: ExternalWrite['kind'];
  /** Without ids, so that it is the same in each run. */
  readonly name: string;
  /** From 1: which write of this name by this role. */
  readonly nth: number;
}

export interface RunPlan {
  readonly run: number;
  readonly fault: { readonly point: WritePoint; readonly fault: Fault } | null;
  /** Whether writes are counted by name, default true; a long run has too many. */
  readonly isCounted?: boolean;
}

/** Where a process finds the folder of its plan. */
export const folderVariable = 'FAULTS_FOLDER';

const planOf = (folder: string) => join(folder, 'plan.json');
/** Changed when periodic tasks are to run their next round. */
export const roundsOf = (folder: string) => join(folder, 'rounds');
const writesOf = (folder: string, run: number) => join(folder, `writes-${run}.jsonl`);

export function writePlan(folder: string, plan: RunPlan): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${planOf(folder)}.new`, JSON.stringify(plan));
  renameSync(`${planOf(folder)}.new`, planOf(folder));
}

export function readPlan(folder: string): RunPlan {
  return JSON.parse(readFileSync(planOf(folder), 'utf8')) as RunPlan;
}

/** Notes a write, and says which of its name it is. */
export function noteWrite(folder: string, run: number, point: Omit<WritePoint, 'nth'>): WritePoint {
  const { role, kind, name } = point;
  appendFileSync(writesOf(folder, run), `${JSON.stringify({ role, kind, name })}\n`);
  const nth = pointsOf(folder, run).filter((it) => isSame(it, point)).length;
  return { role, kind, name, nth };
}

/** Every write of a run, in order. */
export function pointsOf(folder: string, run: number): WritePoint[] {
  if (!existsSync(writesOf(folder, run))) return [];
  const lines = readFileSync(writesOf(folder, run), 'utf8').trimEnd().split('\n');
  const counts = new Map<string, number>();
  return lines.map((line) => {
    const nth = (counts.get(line) ?? 0) + 1;
    counts.set(line, nth);
    return { ...(JSON.parse(line) as Omit<WritePoint, 'nth'>), nth };
  });
}

/** True for the first process that asks in this run: a fault happens once. */
export function takeFault(folder: string, run: number): boolean {
  try {
    writeFileSync(join(folder, `fired-${run}`), '', { flag: 'wx' });
    return true;
  } catch {
    return false;
  }
}

export function hasFired(folder: string, run: number): boolean {
  return existsSync(join(folder, `fired-${run}`));
}

export function isSame(one: Omit<WritePoint, 'nth'>, other: Omit<WritePoint, 'nth'>): boolean {
  return one.role === other.role && one.kind === other.kind && one.name === other.name;
}

/** A name without what differs from run to run: ids, revisions, hashes, ports and numbers of objects. */
export function writeName(write: ExternalWrite): string {
  return write.name
    .replaceAll(/\s+/g, ' ')
    .trim()
    .slice(0, 120)
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'ID')
    .replaceAll(/\b[0-9a-f]{16}\b/g, 'REV')
    .replace(/(videos|images)\/[0-9a-f]{2}\/[^/]+/, '$1/HASH')
    .replaceAll(/\d+/g, 'N');
}

import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import {
  type HostileOptions,
  type IdleOptions,
  type PacedOptions,
  type PacedOutcome,
  pacedOutcomeSchema,
} from './client-options.ts';

// Clients in processes of their own.

/** NaN when there are no figures. */
export function percentile(figures: readonly number[], share: number): number {
  return figures.toSorted((a, b) => a - b)[Math.ceil(share * figures.length) - 1] ?? Number.NaN;
}

/** Plays at a steady rate, and says how long each request took. */
export async function play(options: PacedOptions): Promise<PacedOutcome> {
  const reader = startLoad('paced-reader.ts', options);
  return pacedOutcomeSchema.parse(await outcomeOf(reader));
}

/** Starts a program of `bench/load`, on another machine with the command for that. */
export function startLoad(
  script: string,
  options: PacedOptions | HostileOptions | IdleOptions,
  command: readonly string[] = [],
): ChildProcess {
  const [program, ...args] = [...command, process.execPath, join(import.meta.dirname, '../load', script)];
  const started = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  started.stdin?.end(JSON.stringify(options));
  return started;
}

/** What a process prints until its end. */
export async function outcomeOf({ stdout }: ChildProcess): Promise<unknown> {
  if (stdout === null) throw new TypeError('expected a pipe');
  return JSON.parse(await text(stdout));
}

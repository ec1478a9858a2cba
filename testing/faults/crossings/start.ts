import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { migratedDatabase } from '../../databases.ts';
import type { PlantedCrossing } from './planted-crossings.ts';

interface Crossings {
  readonly seed: number;
  readonly seconds: number;
  readonly planted?: PlantedCrossing;
}

interface CrossingsResult {
  readonly rounds: number;
  readonly seconds: number;
  /** How many of each kind and outcome. */
  readonly deeds: Readonly<Record<string, number>>;
  readonly violations: readonly string[];
  /** The output: a line for each round, and all that was done to the media of a violation. */
  readonly output: string;
}

/** A run in a process and a database of its own. */
export async function crossingsIn({ seed, seconds, planted }: Crossings): Promise<CrossingsResult> {
  const database = await migratedDatabase();
  try {
    const given = ['--database', database.url, '--seed', String(seed), '--seconds', String(seconds)];
    const args = [join(import.meta.dirname, 'crossings-process.ts'), ...given];
    if (planted !== undefined) args.push('--planted', planted);
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    await once(child, 'close');
    const last = output.trimEnd().split('\n').at(-1) ?? '';
    if (!last.startsWith('{')) throw new Error(`the run ended without a result: ${output.slice(-2_000)}`);
    return { ...(JSON.parse(last) as Omit<CrossingsResult, 'output'>), output };
  } finally {
    await database.drop();
  }
}

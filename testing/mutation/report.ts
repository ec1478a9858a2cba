import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';

/** A mutant with its outcome. */
export interface Mutant {
  readonly file: string;
  readonly line: number;
  readonly kind: string;
  /** The code that was replaced, and by what. */
  readonly code: string;
  readonly replacement: string;
  readonly status: string;
}

/** Survivors that stay, with the reason. A line number would change with every edit, so the code itself names them. */
const survivorSchema = z.strictObject({
  file: z.string(),
  code: z.string(),
  replacement: z.string(),
  reason: z.string().min(10),
});
export type Survivor = z.infer<typeof survivorSchema>;

export function readSurvivors(root: string): Survivor[] {
  const text = readFileSync(join(root, 'testing/mutation/survivors.json'), 'utf8');
  return z.array(survivorSchema).parse(JSON.parse(text));
}

/** The share of mutants that a test noticed, in percent. Those that do not even load are not counted. */
export function scoreOf(mutants: readonly Mutant[]): number {
  const found = mutants.filter(isFound).length;
  const total = found + mutants.filter(isSurvivor).length;
  return total === 0 ? 100 : (100 * found) / total;
}

const isFound = ({ status }: Mutant) => status === 'Killed' || status === 'Timeout';
const isSurvivor = ({ status }: Mutant) => status === 'Survived' || status === 'NoCoverage';

/** The survivors without a reason, and the reasons whose mutant is found now or is made no more. */
export function compare(
  mutants: readonly Mutant[],
  listed: readonly Survivor[],
): { readonly unlisted: readonly Mutant[]; readonly outdated: readonly Survivor[] } {
  const keyOf = ({ file, code, replacement }: Omit<Survivor, 'reason'>) => JSON.stringify([file, code, replacement]);
  const survivors = mutants.filter(isSurvivor);
  const [reasons, made] = [new Set(listed.map(keyOf)), new Set(survivors.map(keyOf))];
  const files = new Set(mutants.map(({ file }) => file));
  return {
    unlisted: survivors.filter((mutant) => !reasons.has(keyOf(mutant))),
    outdated: listed.filter((survivor) => files.has(survivor.file) && !made.has(keyOf(survivor))),
  };
}

/** The score of each folder, and of all together. */
export function scoreLines(mutants: readonly Mutant[]): string[] {
  const folders = Map.groupBy(mutants, ({ file }) => dirname(file));
  const row = (name: string, of: readonly Mutant[]) =>
    `${name.padEnd(30)} ${scoreOf(of).toFixed(1).padStart(6)} %  ` +
    `${of.filter(isFound).length} found, ${of.filter(isSurvivor).length} survived, ` +
    `${of.filter(({ status }) => !['Ignored', 'Killed', 'Timeout', 'Survived', 'NoCoverage'].includes(status)).length} not loadable`;
  return [...folders].map(([folder, of]) => row(folder, of)).concat(row('all', mutants));
}

const short = (text: string) => text.replaceAll(/\s+/g, ' ').slice(0, 90);

export function survivorLine({ file, line, kind, code, replacement }: Mutant): string {
  return `${file}:${line} ${kind}: ${short(code)} → ${short(replacement)}`;
}

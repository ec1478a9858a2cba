import { editDistance } from '#domain/nearest-name.ts';
import type { Environment } from './variable.ts';

/** A variable of the environment that is probably a known one, misspelt. */
export interface MisspeltVariable {
  readonly variable: string;
  readonly nearest: string;
}

/** Shorter names, such as `NODE`, are too often another program's. */
const lengthMin = 6;
const editsMax = 2;

/**
 * The variables that differ from a known name in one or two letters. The environment has many others; they are fine.
 */
export function misspeltVariables(env: Environment, known: ReadonlySet<string>): MisspeltVariable[] {
  return Object.keys(env).flatMap((variable) => {
    const base = variable.replace(/_FILE$/, '');
    if (known.has(base) || variable.length < lengthMin) return [];
    const near = [...known]
      .map((nearest) => ({ variable, nearest, edits: editDistance(base, nearest) }))
      .filter(({ edits, nearest }) => edits <= editsMax && nearest.length >= lengthMin)
      .toSorted((a, b) => a.edits - b.edits);
    return near.slice(0, 1).map(({ nearest }) => ({ variable, nearest }));
  });
}

import { readFileSync } from 'node:fs';
import { z } from 'zod';

/**
 * Settings: values that come by environment variable. A part writes down its own as a zod object whose keys are the
 * variables' names; the default stands there as one would write it (`prefault('500MiB')`). An empty variable is one
 * that is not set.
 */

/** What a program is told by its surroundings: `process.env`, or a part of it. */
export type Environment = Readonly<Record<string, string | undefined>>;

interface SettingNotes {
  /** One sentence for the table in docs/configuration.md. */
  readonly meaning: string;
  /** A secret may also come as `<NAME>_FILE`, and its value is never shown. */
  readonly isSecret?: boolean;
  /** What docs/configuration.md says of a default that is no fixed text. */
  readonly defaultNote?: string;
}

const notes = z.registry<SettingNotes>();

/** Writes down what a setting means beside its schema; the last call on the schema. */
export function setting<S extends z.ZodType>(schema: S, settingNotes: SettingNotes): S {
  notes.add(schema, settingNotes);
  return schema;
}

/** What was written down beside a setting's schema. @throws Error for a schema without notes: a bug */
export function notesOf(schema: z.core.$ZodType): SettingNotes {
  const found = notes.get(schema);
  if (found === undefined) throw new Error('a setting has no notes');
  return found;
}

/** The default of a setting as one would write it; null when it has none. */
export function defaultTextOf(schema: z.core.$ZodType): string | null {
  return schema instanceof z.ZodPrefault ? String(schema.def.defaultValue) : null;
}

type SettingsShape = Readonly<Record<string, z.core.$ZodType>>;
type Read<Shape extends SettingsShape> =
  | { readonly values: z.output<z.ZodObject<Shape>>; readonly faults?: never }
  | { readonly faults: readonly string[]; readonly values?: never };

/**
 * Reads the settings of `schema` out of `env`: their values, or every fault at once as `NAME: what was expected`. A
 * fault never holds a value. Reads the files that `<NAME>_FILE` names, and nothing else.
 *
 * @param prefix stands before every key of the schema in the variables' names, such as `SOURCE_`
 */
export function readSettings<Shape extends SettingsShape>(
  schema: z.ZodObject<Shape>,
  env: Environment,
  prefix = '',
): Read<Shape> {
  const faults: string[] = [];
  const given: Record<string, string> = {};
  for (const [key, field] of Object.entries(schema.shape)) {
    const name = `${prefix}${key}`;
    const text = notesOf(field).isSecret === true ? readSecret(env, name, faults) : env[name];
    if (text !== undefined && text !== '') given[key] = text;
  }
  const parsed = schema.safeParse(given);
  for (const issue of parsed.error?.issues ?? []) {
    const key = String(issue.path[0]);
    // A secret whose file could not be read has its fault already.
    if (faults.some((fault) => fault.startsWith(`${prefix}${key}_FILE:`))) continue;
    faults.push(`${prefix}${key}: ${given[key] === undefined ? 'is required' : issue.message}`);
  }
  return parsed.success && faults.length === 0 ? { values: parsed.data } : { faults };
}

/** Whether a setting is there, by itself or as `<NAME>_FILE`. */
export function isGiven(env: Environment, name: string): boolean {
  return [env[name], env[`${name}_FILE`]].some((text) => text !== undefined && text !== '');
}

function readSecret(env: Environment, name: string, faults: string[]): string | undefined {
  const file = env[`${name}_FILE`];
  if (file === undefined || file === '') return env[name];
  if (env[name] !== undefined && env[name] !== '') {
    faults.push(`${name}_FILE: expected only one of ${name} and ${name}_FILE`);
    return undefined;
  }
  try {
    // Editors and `kubectl create secret --from-file` leave a newline at the end, which nobody means.
    return readFileSync(file, 'utf8').replace(/\r?\n$/, '');
  } catch (error) {
    faults.push(`${name}_FILE: expected a file that can be read (${(error as NodeJS.ErrnoException).code})`);
    return undefined;
  }
}

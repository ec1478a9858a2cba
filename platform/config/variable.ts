import { readFileSync } from 'node:fs';
import type { TextValue } from './values.ts';

/**
 * Environment variables. Each is declared once, in `variables.ts` or `storage-settings.ts`, under the field that it
 * fills. `Config`, its loader, docs/reference/configuration.md and the variables of each deployment follow from that.
 * An empty variable counts as not set.
 */

/** `process.env`, or a part of it. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** What one process is; `all` is both others. */
export const modes = ['all', 'server', 'worker'] as const;

/** The roles of a process, by its mode, its surfaces and its executor; `kubernetes` is a worker of that executor. */
export const everyRole = ['api', 'delivery', 'worker', 'kubernetes'] as const;
export type Role = (typeof everyRole)[number];

interface Declaration {
  /** One sentence for docs/reference/configuration.md. */
  readonly doc: string;
  /** As one would write it; a function where it depends on other variables. */
  readonly default?: string | ((env: Environment) => string | undefined);
  /** The words of docs/reference/configuration.md where the default is no fixed text. */
  readonly defaultDoc?: string;
  /** A secret may also come as `<NAME>_FILE`, the path of a file, and its value is never shown. */
  readonly isSecret?: boolean;
  /** A longer text, which may come as `<NAME>_FILE` too. */
  readonly isDocument?: boolean;
}

/** A declared variable; `T` includes its value where it is not set. */
export interface Variable<T> extends Declaration {
  readonly name: string;
  readonly value: TextValue<unknown>;
  readonly usedBy: readonly Role[];
  /** Processes of these roles do not start without it. */
  readonly requiredBy: readonly Role[];
  /** The value where it is neither set nor has a default. */
  readonly absent: (() => T) | undefined;
}

/** Variables by the field that each fills. */
export type Variables = Readonly<Record<string, Variable<unknown>>>;

/** The values of variables, by field. */
export type Values<V extends Variables> = {
  readonly [Field in keyof V]: V[Field] extends Variable<infer T> ? T : never;
};

/**
 * Declares variables that processes of `usedBy` read. They require each that has neither `default` nor `absent`, or
 * that says `isRequired`; `requiredBy` restricts that to some of them.
 */
export function declareFor(...usedBy: readonly Role[]) {
  return <T, Absent = never>(
    name: string,
    value: TextValue<T>,
    declaration: Declaration & {
      readonly absent?: () => Absent;
      readonly isRequired?: boolean;
      readonly requiredBy?: readonly Role[];
    },
  ): Variable<T | Absent> => {
    const { absent, isRequired, requiredBy, ...rest } = declaration;
    const isOptional = isRequired !== true && (rest.default !== undefined || absent !== undefined);
    return { ...rest, name, value, usedBy, absent, requiredBy: requiredBy ?? (isOptional ? [] : usedBy) };
  };
}

/**
 * Reads variables, and the files that `<NAME>_FILE` names: the valid values, and a fault `NAME: expected …` for each
 * other, which never contains a value.
 */
export function readVariables<V extends Variables>(
  variables: V,
  env: Environment,
): { readonly values: Partial<Values<V>>; readonly faults: readonly string[] } {
  const faults: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [field, declared] of Object.entries(variables)) {
    const found = textOf(declared, env);
    if ('fault' in found) faults.push(found.fault);
    else if (found.text === undefined) values[field] = declared.absent?.();
    else {
      const value = declared.value.read(found.text.trim());
      if (value === null) faults.push(...faultsOf(declared, found.text.trim()));
      else values[field] = value;
    }
  }
  return { values: values as Partial<Values<V>>, faults };
}

function faultsOf({ name, value: { expected, explain } }: Variable<unknown>, text: string): string[] {
  return (explain?.(text) ?? [`expected ${expected}`]).map((fault) => `${name}: ${fault}`);
}

/**
 * A fault for each variable that one of `roles` requires and that is not set. Null: the roles are unknown; only what
 * both the API and a worker require is reported.
 */
export function missingVariables(variables: Variables, env: Environment, roles: ReadonlySet<Role> | null): string[] {
  const isRequired = ({ requiredBy }: Variable<unknown>) =>
    roles === null
      ? requiredBy.includes('api') && requiredBy.includes('worker')
      : requiredBy.some((role) => roles.has(role));
  return Object.values(variables)
    .filter((declared) => isRequired(declared) && !isGiven(env, declared.name))
    .map(({ name }) => `${name}: is required`);
}

/** Whether a variable is set, by itself or as `<NAME>_FILE`. */
function isGiven(env: Environment, name: string): boolean {
  return [env[name], env[`${name}_FILE`]].some((text) => text !== undefined && text !== '');
}

/** The text of a variable: its own, its file's, or its default. */
function textOf(
  { name, isSecret, isDocument, default: fallback }: Variable<unknown>,
  env: Environment,
): { readonly text: string | undefined } | { readonly fault: string } {
  const own = env[name] === '' ? undefined : env[name];
  const file = env[`${name}_FILE`];
  const mayBeFile = isSecret === true || isDocument === true;
  if (!mayBeFile || file === undefined || file === '')
    return { text: own ?? (typeof fallback === 'function' ? fallback(env) : fallback) };
  if (own !== undefined) return { fault: `${name}_FILE: expected only one of ${name} and ${name}_FILE` };
  try {
    // Editors and `kubectl create secret --from-file` leave a newline at the end.
    return { text: readFileSync(file, 'utf8').replace(/\r?\n$/, '') };
  } catch (error) {
    return { fault: `${name}_FILE: expected a file that can be read (${(error as NodeJS.ErrnoException).code})` };
  }
}

import { z } from 'zod';
import type { Fault } from '../errors.ts';
import { nearestName } from '../nearest-name.ts';

// The faults of a caller's input, in words that say what is expected. A schema's own messages come first.

/** The RFC 6901 JSON Pointer of a path. */
export function jsonPointer(path: readonly PropertyKey[]): string {
  return path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/** For `safeParse`: what zod's own rules expect. */
export const explain: z.core.$ZodErrorMap = (issue) => {
  if (issue.code === 'invalid_type') return explainType(issue);
  if (issue.code === 'invalid_value')
    return `must be ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.join(', ')}`;
  if (issue.code === 'too_small') return explainBound(issue, 'at least', issue.minimum);
  if (issue.code === 'too_big') return explainBound(issue, 'at most', issue.maximum);
  return undefined;
};

const nouns: Readonly<Record<string, string>> = {
  array: 'an array',
  boolean: 'a boolean',
  number: 'a number',
  object: 'an object',
  string: 'a string',
};

function explainType({ input, expected }: z.core.$ZodRawIssue<z.core.$ZodIssueInvalidType>): string {
  if (input === undefined) return 'is required';
  if (expected === 'int') return 'must be a whole number';
  const kind = input === null ? 'null' : (nouns[Array.isArray(input) ? 'array' : typeof input] ?? typeof input);
  return `must be ${nouns[expected] ?? expected}, not ${kind}`;
}

function explainBound({ origin }: { readonly origin: string }, relation: string, bound: number | bigint): string {
  if (origin === 'string' && relation === 'at least' && bound === 1) return 'must not be empty';
  const unit = { string: 'character', array: 'item' }[origin];
  return unit === undefined
    ? `must be ${relation} ${bound}`
    : `must have ${relation} ${bound} ${unit}${bound === 1 ? '' : 's'}`;
}

/** The most faults of one part of a body: an answer may not be much longer than its request. */
const faultsMax = 1_000;

interface FaultOptions {
  /** Put before every path. */
  readonly under?: readonly PropertyKey[];
  /** Has the known fields; the faults of unknown ones then name them. */
  readonly schema?: z.ZodType;
}

interface Place {
  readonly value: object;
  readonly name: PropertyKey;
  readonly within: Place | null;
}

/** A pointer of more fields is not shown. */
const depthShown = 50;

/**
 * The fault of a field `toString` anywhere in a document; null without one. Of an object that has it neither a text nor
 * a number can be made, and zod compares the `length` of a value before it looks at the type: it would throw.
 */
export function faultOfToString(document: unknown): Fault | null {
  const open: Place[] = [];
  // An alias of YAML may lead back to what it is in.
  const seen = new Set<object>();
  const look = (value: unknown, name: PropertyKey, within: Place | null) => {
    if (typeof value !== 'object' || value === null || seen.has(value)) return;
    seen.add(value);
    open.push({ value, name, within });
  };
  look(document, '', null);
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    const { value } = place;
    if (typeof Reflect.get(value, 'toString') !== 'function')
      return faultAt({ value, name: 'toString', within: place });
    if (Array.isArray(value)) for (const [index, each] of value.entries()) look(each, index, place);
    else for (const name in value) look((value as Record<string, unknown>)[name], name, place);
  }
  return null;
}

function faultAt(place: Place): Fault {
  const path: PropertyKey[] = [];
  for (let at = place; at.within !== null && path.length <= depthShown; at = at.within) path.unshift(at.name);
  const pointer = path.length > depthShown ? '' : jsonPointer(path);
  return { pointer, code: 'unknown_field', detail: 'no field may be called toString' };
}

/** The faults that zod found; each unknown field is one of its own. */
export function faultsOf(error: z.ZodError, { under = [], schema }: FaultOptions = {}): Fault[] {
  const faults = error.issues.flatMap((issue) => {
    const path = [...under, ...issue.path];
    if (issue.code !== 'unrecognized_keys') {
      // zod has no code for rules of our own; their detail explains them.
      const code = issue.code === 'custom' ? 'invalid_value' : issue.code;
      return [{ pointer: jsonPointer(path), code, detail: issue.message }];
    }
    const known = schema === undefined ? null : shapeAt(schema, issue.path);
    return issue.keys.slice(0, faultsMax).map((key) => ({
      pointer: jsonPointer([...path, key]),
      code: 'unknown_field',
      detail: known === null ? 'is not a known field' : explainUnknown(key, known, path),
    }));
  });
  return faults.slice(0, faultsMax);
}

type Shape = Readonly<Record<string, z.ZodType>>;

/** Fields that callers of other services give, and only a MediaJob may name here. */
const chosenByOperator = ['profile', 'priority', 'pool'];

function explainUnknown(name: string, known: Shape, path: readonly PropertyKey[]): string {
  if (chosenByOperator.includes(name))
    return `is not a field of this request; rules of the operator choose it (docs/guides/api.md, "Profile and priority")`;
  const names = Object.keys(known);
  const nearest = nearestName(name, names) ?? onlyNameFrom(name, names);
  const meant = nearest === null ? pathTo(name, known) : [nearest];
  const list = names.length === 0 ? 'none is known here' : `known here: ${names.join(', ')}`;
  const suggestion = meant === null ? '' : `; did you mean ${jsonPointer([...path, ...meant])}?`;
  return `is not a known field; ${list}${suggestion}`;
}

/** The one name that begins with `beginning`, such as `timestamp_sec` for `timestamp`; null for none or several. */
function onlyNameFrom(beginning: string, names: readonly string[]): string | null {
  const [first, ...others] = names.filter((name) => name.startsWith(beginning));
  return first === undefined || others.length > 0 || beginning.length < 4 ? null : first;
}

/** The path of a field called `name` in a nested object or in the first of a list; null when there is none. */
function pathTo(name: string, shape: Shape): string[] | null {
  for (const [key, schema] of Object.entries(shape)) {
    const own = shapeAt(schema, []);
    const nested = own ?? shapeAt(schema, ['0']);
    if (nested === null) continue;
    const within = own === null ? [key, '0'] : [key];
    const deeper = Object.hasOwn(nested, name) ? [name] : pathTo(name, nested);
    if (deeper !== null) return [...within, ...deeper];
  }
  return null;
}

/** The fields of the object at `path`; null when there is no object. */
function shapeAt(schema: z.core.$ZodType, path: readonly PropertyKey[]): Shape | null {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault)
    return shapeAt(schema.def.innerType, path);
  const [first, ...rest] = path;
  if (schema instanceof z.ZodArray) return first === undefined ? null : shapeAt(schema.element, rest);
  if (!(schema instanceof z.ZodObject)) return null;
  const shape = schema.shape as Shape;
  if (first === undefined) return shape;
  const field = shape[String(first)];
  return field === undefined ? null : shapeAt(field, rest);
}

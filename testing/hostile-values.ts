import { type Arbitrary, anything, array, constantFrom, integer, jsonValue, oneof, string, tuple } from 'fast-check';

// Values and texts that parsers of other programs have stumbled over.

/** Texts that mean something to a shell, a path, a header, a playlist, JavaScript, SQL or a terminal. */
export const naughtyTexts: readonly string[] = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\r\nX-Injected: 1',
  '../../../etc/passwd',
  '..%2f..%2f',
  '/etc/passwd',
  'C:\\Windows\\win.ini',
  'file:///etc/passwd',
  'http://169.254.169.254/latest/meta-data/',
  '__proto__',
  'constructor',
  'hasOwnProperty',
  'toString',
  'null',
  'NaN',
  '-0',
  '1e400',
  '9'.repeat(400),
  '0x7fffffff',
  "'; DROP TABLE jobs; --",
  '$(id)',
  '`id`',
  '%s%n%x',
  '{{7*7}}',
  '<script>alert(1)</script>',
  '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>',
  '#EXT-X-KEY:METHOD=NONE',
  'x",URI="https://evil.example/',
  '-y',
  '--help',
  '\u202Eabc',
  '\uFEFF',
  'Ω≈ç√∫˜µ',
  '👩‍👩‍👧',
  'e\u0301'.repeat(50),
  '\uD800',
  'a\uDFFF',
  '\u2028\u2029',
  '\u001B[31m',
];

/** Any text, malformed Unicode among it. */
export const anyText = oneof(constantFrom(...naughtyTexts), string({ unit: 'binary' }), string({ unit: 'grapheme' }));

/** A value of which neither a text nor a number can be made. */
const unprintable = { toString: 1, valueOf: 1 };

/** Any value that JSON can hold. */
const anyJson = oneof(
  anyText,
  constantFrom<unknown>(null, true, -1, 0, 1.5, 1e308, 2 ** 53, [], {}, [[[[[[]]]]]], unprintable, {
    length: unprintable,
  }),
  jsonValue(),
);

type Json = Readonly<Record<string, unknown>> | readonly unknown[];

/** JSON of `valid`, with some of its values replaced, added or left out; and sometimes cut off or no JSON at all. */
export function changedJson(valid: object): Arbitrary<string> {
  const place = array(integer({ min: 0, max: 20 }), { minLength: 1, maxLength: 5 });
  const change = tuple(place, constantFrom('replace', 'remove', 'add', 'repeat'), anyJson);
  const changed = array(change, { maxLength: 3 }).map((changes) => {
    const document = structuredClone(valid);
    for (const [at, kind, value] of changes) apply(document, at, kind, structuredClone(value));
    return JSON.stringify(document);
  });
  const cut = tuple(changed, integer({ min: 0, max: 2000 })).map(([json, length]) => json.slice(0, length));
  return oneof({ weight: 6, arbitrary: changed }, { weight: 1, arbitrary: cut }, { weight: 1, arbitrary: anyText });
}

function apply(document: object, place: readonly number[], kind: string, value: unknown): void {
  let at = document as Record<string, unknown>;
  for (const [depth, step] of place.entries()) {
    const names = Object.keys(at);
    const name = names[step % Math.max(1, names.length)] ?? 'added';
    const inner = at[name];
    if (depth < place.length - 1 && isJson(inner) && Object.keys(inner).length > 0) {
      at = inner as Record<string, unknown>;
      continue;
    }
    if (kind === 'remove') Reflect.deleteProperty(at, name);
    else if (kind === 'repeat') at[name] = Array(40).fill(inner);
    else at[kind === 'add' && !Array.isArray(at) ? `${name}x` : name] = value;
    return;
  }
}

const isJson = (value: unknown): value is Json => typeof value === 'object' && value !== null;

/** Texts in whatever JavaScript can hold: for a document that may come from YAML. */
export const anyValue = oneof(anyJson, anything({ withBigInt: true, withDate: true, withNullPrototype: true }));

/** Every string in a value, names of fields too. */
export function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return isJson(value) ? Object.entries(value).flatMap(([name, inner]) => [name, ...stringsIn(inner)]) : [];
}

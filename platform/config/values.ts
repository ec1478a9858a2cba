import { isIP } from 'node:net';
import { timerMsMax } from '#platform/concurrency/timer.ts';

// How the text of a variable becomes a value. `expected` completes the fault "NAME: expected …", which never repeats
// what was found: it may be a secret.

/** The meaning of a variable's text. */
export interface TextValue<T> {
  readonly expected: string;
  /** The words that it may be, where they are few. */
  readonly choices?: readonly string[];
  /** Null for text that does not fit; the text has no spaces at its ends. */
  readonly read: (text: string) => T | null;
  /** Every fault of text that does not fit, instead of `expected`; not for secrets. */
  readonly explain?: (text: string) => string[];
}

/** Text that fits a pattern, as it is. */
function matching(expected: string, pattern: RegExp): TextValue<string> {
  return { expected, read: (text) => (pattern.test(text) ? text : null) };
}

/** A list separated by commas; every item must fit. */
export function listOf<T>(expected: string, item: TextValue<T>): TextValue<readonly T[]> {
  const read = (text: string) => {
    const items = text.split(',').map((part) => item.read(part.trim()));
    return items.every((value) => value !== null) ? items : null;
  };
  return { expected, read };
}

const unitBytes: Readonly<Record<string, number>> = {
  B: 1,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
  TiB: 1024 ** 4,
};

/** Bytes: `1048576`, `500MiB`, `20GiB`. */
export const sizeValue: TextValue<number> = {
  expected: 'a size in bytes, or with a unit, such as 500MiB or 20GiB',
  read: (text) => {
    const [, number = '', unit = 'B'] = /^(\d{1,16})([KMGT]iB)?$/.exec(text) ?? [];
    const bytes = Number(number) * (unitBytes[unit] ?? Number.NaN);
    return number !== '' && Number.isSafeInteger(bytes) ? bytes : null;
  },
};

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

function readDuration(text: string): number | null {
  const [, number = '', unit = ''] = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d)$/.exec(text) ?? [];
  return number === '' ? null : Math.round(Number(number) * (unitMs[unit] ?? 0));
}

/** Milliseconds, at least one: `250ms`, `5s`, `3m`, `1h`, `7d`. */
export const positiveDurationValue: TextValue<number> = {
  expected: 'a duration over zero, such as 250ms, 5s or 3m',
  read: (text) => readDuration(text) || null,
};

/** Milliseconds of a wait, at least one and under 25 days. */
export const timerValue: TextValue<number> = {
  expected: 'a duration over zero and under 25 days, such as 250ms, 5s or 3m',
  read: (text) => {
    const ms = positiveDurationValue.read(text);
    return ms !== null && ms <= timerMsMax ? ms : null;
  },
};

/** Milliseconds of each, at most `max` of them: `0s,5s,3m`. */
export function durationsValue(max: number): TextValue<readonly number[]> {
  const durations = listOf(`one to ${max} durations separated by commas, such as 0s,5s,3m`, {
    expected: 'a duration',
    read: readDuration,
  });
  const read = (text: string) => {
    const values = durations.read(text);
    return values !== null && values.length <= max ? values : null;
  };
  return { ...durations, read };
}

/** A whole number from `min` to `max`. */
export function integerValue(min: number, max: number): TextValue<number> {
  const read = (text: string) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    return value >= min && value <= max ? value : null;
  };
  return { expected: `a whole number from ${min} to ${max}`, read };
}

/** `true` or `false`. */
export const booleanValue: TextValue<boolean> = {
  expected: 'true or false',
  read: (text) => ({ true: true, false: false })[text] ?? null,
};

/** One of a few words. */
export function wordValue<const Words extends readonly string[]>(words: Words): TextValue<Words[number]> {
  const read = (text: string) => words.find((word) => word === text) ?? null;
  return { expected: `one of ${words.join(', ')}`, choices: words, read };
}

/** Some of a few words, separated by commas. */
export function wordsValue<const Words extends readonly string[]>(words: Words): TextValue<ReadonlySet<Words[number]>> {
  const list = listOf(`a list of ${words.join(', ')}`, wordValue(words));
  const read = (text: string) => {
    const found = list.read(text);
    return found === null ? null : new Set(words.filter((word) => found.includes(word)));
  };
  return { ...list, read };
}

/** Below this a secret can be guessed, or is a placeholder. */
const secretBytesMin = 16;

export const secretValue: TextValue<string> = {
  expected: `a secret of at least ${secretBytesMin} bytes`,
  read: (text) => (Buffer.byteLength(text) >= secretBytesMin ? text : null),
};

export const secretsValue = listOf(
  `secrets of at least ${secretBytesMin} bytes each, separated by commas`,
  secretValue,
);

function isPlainUrl(text: string, protocols: readonly string[]): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  return protocols.includes(protocol) && hostname !== '';
}

/** A URL with one of `schemes` (`postgres:`) and a host; it may hold credentials. */
export function urlValue(expected: string, schemes: readonly string[]): TextValue<string> {
  return { expected, read: (text) => (isPlainUrl(text, schemes) ? text : null) };
}

function isHttpUrlWithoutCredentials(text: string): boolean {
  if (!isPlainUrl(text, ['http:', 'https:'])) return false;
  const { username, password } = new URL(text);
  return username === '' && password === '';
}

/** An absolute http or https URL without credentials. */
export const httpUrlValue: TextValue<string> = {
  expected: 'an absolute http or https URL without credentials',
  read: (text) => (isHttpUrlWithoutCredentials(text) ? text : null),
};

/** An address that paths are appended to. */
export const baseUrlValue: TextValue<string> = {
  expected: 'an absolute http or https URL that does not end with "/"',
  read: (text) => (isHttpUrlWithoutCredentials(text) && !/\/$|[?#]/.test(text) ? text : null),
};

/** Networks: `10.0.0.0/8,fd00::/8`; a single address is a network of one. */
export const cidrsValue = listOf('networks separated by commas, such as 10.0.0.0/8,fd00::/8', {
  expected: 'a network',
  read: (text) => {
    const [address = '', bits, ...rest] = text.split('/');
    const family = isIP(address);
    const widest = family === 6 ? 128 : 32;
    if (family === 0 || rest.length > 0 || address.includes('%')) return null;
    if (bits === undefined) return `${address}/${widest}`;
    return /^\d{1,3}$/.test(bits) && Number(bits) <= widest ? `${address}/${Number(bits)}` : null;
  },
});

export const hostValue = matching('a host name or an address', /^[\w.:-]+$/);
export const pathValue = matching('a path', /^[^\0]+$/);
export const headerValue = matching('the value of a header', /^[\u0020-\u007e]+$/);
export const plainText = matching('text without spaces', /^\S+$/);

/** The name of an object in Kubernetes. */
export const objectNameValue = matching(
  'a name as Kubernetes has them: lower-case letters, digits, "-" and "."',
  /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/,
);
export const objectNamesValue = listOf('names separated by commas', objectNameValue);
export const imageValue = matching('the reference of an image', /^\S+$/);

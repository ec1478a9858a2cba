import { isIP } from 'node:net';
import { z } from 'zod';

// What the text of a variable may say. Each message tells what was expected, and never what was given.

/** A schema for text that `read` understands; null from `read` is a fault saying `expected …`. */
export function readBy<T>(expected: string, read: (text: string) => T | null): z.ZodType<T, string> {
  return z.string().transform((text, context) => {
    const value = read(text.trim());
    if (value !== null) return value;
    context.addIssue({ code: 'custom', message: `expected ${expected}` });
    return z.NEVER;
  });
}

const unitBytes: Readonly<Record<string, number>> = {
  B: 1,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
  TiB: 1024 ** 4,
};

/** Bytes: `1048576`, `500MiB`, `20GiB`. */
export const sizeValue = readBy('a size in bytes, or with a unit, such as 500MiB or 20GiB', (text) => {
  const [, number = '', unit = 'B'] = /^(\d{1,16})([KMGT]iB)?$/.exec(text) ?? [];
  const bytes = Number(number) * (unitBytes[unit] ?? Number.NaN);
  return number !== '' && Number.isSafeInteger(bytes) ? bytes : null;
});

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

function readDuration(text: string): number | null {
  const [, number = '', unit = ''] = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d)$/.exec(text) ?? [];
  return number === '' ? null : Math.round(Number(number) * (unitMs[unit] ?? 0));
}

/** Milliseconds, at least one: `250ms`, `5s`, `3m`, `1h`, `7d`. */
export const positiveDurationValue = readBy('a duration over zero, such as 250ms, 5s or 3m', (text) => {
  const ms = readDuration(text);
  return ms === 0 ? null : ms;
});

/** Milliseconds of each: `0s,5s,3m`. */
export const durationsValue = readBy('durations separated by commas, such as 0s,5s,3m', (text) => {
  const values = text.split(',').map((part) => readDuration(part.trim()));
  return values.every((value) => value !== null) ? values : null;
});

/** A whole number from `min` to `max`. */
export function integerValue(min: number, max: number): z.ZodType<number, string> {
  return readBy(`a whole number from ${min} to ${max}`, (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    return value >= min && value <= max ? value : null;
  });
}

/** `true` or `false`. */
export const booleanValue = readBy('true or false', (text) => ({ true: true, false: false })[text] ?? null);

/** One of a few words. */
export function wordValue<const Words extends readonly string[]>(words: Words): z.ZodType<Words[number], string> {
  return readBy(`one of ${words.join(', ')}`, (text) => (words.includes(text) ? text : null));
}

/** An absolute http or https URL; a fault tells of credentials in it. */
export const httpUrlValue = readBy('an absolute http or https URL without credentials', (text) => {
  if (!URL.canParse(text)) return null;
  const url = new URL(text);
  const isHttp = url.protocol === 'http:' || url.protocol === 'https:';
  return isHttp && url.username === '' && url.password === '' ? text : null;
});

/** Networks: `10.0.0.0/8,fd00::/8`; a single address stands for itself. */
export const cidrsValue = readBy('networks separated by commas, such as 10.0.0.0/8,fd00::/8', (text) => {
  const cidrs = text.split(',').map((part) => readCidr(part.trim()));
  return cidrs.every((cidr) => cidr !== null) ? cidrs : null;
});

function readCidr(text: string): string | null {
  const [address = '', bits, ...rest] = text.split('/');
  const family = isIP(address);
  const widest = family === 6 ? 128 : 32;
  if (family === 0 || rest.length > 0 || address.includes('%')) return null;
  if (bits === undefined) return `${address}/${widest}`;
  return /^\d{1,3}$/.test(bits) && Number(bits) <= widest ? `${address}/${Number(bits)}` : null;
}

import { redact } from '#domain/redact.ts';

const secretName =
  /secret|passw|token|authorization|cookie|credential|signature|(?:api|content|private|encryption)[-_]?key/i;
/** Identifiers that are long hex by nature and no secrets. */
const publicName = /^(trace_?id|span_?id|traceparent|hash|source|rev|kid|etag|sha256)$/i;
const depthMax = 6;

/**
 * A copy of a log line's fields: what is named like a secret is `***`, every text is redacted, errors are spelt out.
 */
export function maskFields(fields: object): Record<string, unknown> {
  return maskEntries(fields, 0);
}

function maskEntries(fields: object, depth: number): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, maskField(name, value, depth)]));
}

function maskField(name: string, value: unknown, depth: number): unknown {
  if (typeof value === 'string' && isPublic(name, value)) return value;
  const isSecret = secretName.test(name) && value !== null && value !== undefined && typeof value !== 'boolean';
  return isSecret ? '***' : maskValue(value, depth + 1);
}

/** `key` is an object's key, which holds a slash; a content key does not. */
function isPublic(name: string, value: string): boolean {
  return publicName.test(name) || (name === 'key' && value.includes('/'));
}

function maskValue(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return redact(value);
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  if (depth > depthMax) return '…';
  if (Buffer.isBuffer(value) || ArrayBuffer.isView(value)) return `${value.byteLength} bytes`;
  if (value instanceof Error) return maskError(value, depth);
  if (Array.isArray(value)) return value.slice(0, 100).map((item) => maskValue(item, depth + 1));
  if (isPlain(value)) return maskEntries(value, depth);
  if ('toJSON' in value && typeof value.toJSON === 'function') return maskValue(value.toJSON(), depth + 1);
  // A socket, a request: what hangs on it is no part of a line.
  return `[${value.constructor.name}]`;
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function maskError(error: Error, depth: number): Record<string, unknown> {
  const { name, message, stack, cause, ...others } = error as Error & Record<string, unknown>;
  const errors = error instanceof AggregateError ? { errors: maskValue(error.errors, depth) } : {};
  return {
    type: name,
    message: redact(message),
    ...(stack === undefined ? {} : { stack: redact(stack) }),
    ...(cause === undefined ? {} : { cause: maskValue(cause, depth + 1) }),
    ...errors,
    ...maskEntries(others, depth),
  };
}

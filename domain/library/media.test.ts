import { describe, expect, it } from 'vitest';
import {
  currentRevisionSchema,
  mediaChangeSchema,
  mediaFilesQuerySchema,
  mediaListQuerySchema,
  mediaStatuses,
} from './media.ts';

/** The result of a schema for an input, or its faults as `path: message`. */
function read(schema: typeof mediaChangeSchema | typeof mediaListQuerySchema, input: unknown) {
  const result = schema.safeParse(input);
  return result.success ? result.data : result.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
}

it('a media is live, being deleted or deleted', () => {
  expect(mediaStatuses).toEqual(['live', 'deleting', 'deleted']);
});

describe('a change of a media', () => {
  it.each([
    { expires_at: '2027-01-01T00:00:00Z' },
    { expires_at: '2027-01-01T02:00:00+02:00' },
    { expires_at: '9999-12-31T23:59:59Z' },
    { expires_at: null },
    { legal_hold: true },
    { legal_hold: false, expires_at: null },
  ])('%j is taken as it is', (change) => expect(read(mediaChangeSchema, change)).toEqual(change));

  it.each([
    [{}, ': must have expires_at, legal_hold, playback, title or metadata'],
    [{ expires_at: '9999-12-31T23:59:59.001Z' }, 'expires_at: must not be after 9999-12-31T23:59:59Z'],
    [{ expires_at: '9999-12-31T23:59:59-01:00' }, 'expires_at: must not be after 9999-12-31T23:59:59Z'],
    [{ expires_at: '2027-01-01' }, 'expires_at: Invalid ISO datetime'],
    [{ legal_hold: null }, 'legal_hold: Invalid input: expected boolean, received null'],
    [{ legal_hold: true, hold: true }, ': Unrecognized key: "hold"'],
  ])('%j is refused: %s', (change, fault) => expect(read(mediaChangeSchema, change)).toEqual([fault]));
});

it.each([
  ['0123456789abcdef', true],
  ['0123456789abcdef0', false],
  ['00123456789abcdef', false],
  ['0123456789ABCDEF', false],
  ['0123456789abcde', false],
])('the revision %s may become the current one: %s', (revision, isValid) => {
  const result = currentRevisionSchema.safeParse({ revision });
  expect(result.success).toBe(isValid);
  if (!isValid)
    expect(result.error?.issues[0]?.message).toBe('must be a revision of GET /api/media/{hash}: 16 hex characters');
});

describe('the query of a list of media', () => {
  it.each([
    [{}, { limit: 50 }],
    [
      { limit: '1', prefix: 'a' },
      { limit: 1, prefix: 'a' },
    ],
    [
      { limit: '100', bytes_min: '0', cursor: 'c' },
      { limit: 100, bytes_min: 0, cursor: 'c' },
    ],
    [{ bytes_min: '9007199254740991' }, { limit: 50, bytes_min: Number.MAX_SAFE_INTEGER }],
  ])('%j is read as %j', (query, expected) => expect(read(mediaListQuerySchema, query)).toEqual(expected));

  it.each([
    [{ limit: '0' }, 'limit'],
    [{ limit: '101' }, 'limit'],
    [{ limit: '1.5' }, 'limit'],
    [{ bytes_min: '-1' }, 'bytes_min'],
    [{ prefix: 'a..b' }, 'prefix'],
    [{ created_after: '2027-01-01' }, 'created_after'],
    [{ order: 'size' }, ''],
  ])('%j is refused at "%s"', (query, path) =>
    expect(read(mediaListQuerySchema, query)).toEqual([expect.stringMatching(`^${path}: `)]),
  );
});

it.each([
  ['media', mediaListQuerySchema, 512],
  ['files', mediaFilesQuerySchema, 2048],
] as const)('a cursor of a list of %s has at most as many characters as one that was given', (_, schema, most) => {
  const isTaken = (length: number) => schema.safeParse({ cursor: 'x'.repeat(length) }).success;
  expect([isTaken(most), isTaken(most + 1)]).toEqual([true, false]);
});

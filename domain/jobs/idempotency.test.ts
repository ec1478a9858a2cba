import { describe, expect, it } from 'vitest';
import { idempotencyKey, rerunKey, rerunPrefix } from './idempotency.ts';
import { parseSubmission } from './submission.ts';

function keyOf(body: unknown): string {
  const { submission, faults } = parseSubmission(body);
  if (submission === undefined) throw new Error(JSON.stringify(faults));
  return idempotencyKey(submission);
}

const full = { type: 'video:full', hash: 'h', source: 's' };

const written = (text: string): unknown =>
  JSON.parse(`{"type":"video:cover","hash":"h","source":"s","options":{"timestamp_sec":${text}}}`);
const coverKey = (h: string, s: string) => idempotencyKey({ type: 'video:cover', hash: h, source: s, options: {} });

describe('idempotencyKey', () => {
  it('an idempotency key is SHA-256 of the canonical JSON, so another language can find it', () => {
    // printf '{"hash":"h","options":{"encrypt":false},"source":"s","type":"video:transcode"}' | sha256sum
    expect(keyOf({ type: 'video:transcode', hash: 'h', source: 's' })).toBe(
      '64570787fe7e689740e3259b39b95a82f2d8c434d222ab37d156877b7a93c482',
    );
  });

  it('an idempotency key is the same for options left out and for their defaults written down', () => {
    expect(keyOf({ ...full, options: { preview: { fps: 10 }, transcode: { encrypt: false } } })).toBe(keyOf(full));
  });

  it('an idempotency key is the same in whatever order fields come', () => {
    const a = { start_sec: 1, duration: 2, width: 100, fps: 5, format: 'gif' };
    const b = Object.fromEntries(Object.entries(a).toReversed());
    const preview = { type: 'video:preview', hash: 'h', source: 's' };
    expect(keyOf({ ...preview, options: a })).toBe(keyOf({ options: b, ...preview }));
  });

  it('an idempotency key is the same for numbers that are equal, however they are written', () => {
    expect(new Set(['1', '1.0', '1e0', '10e-1'].map((text) => keyOf(written(text)))).size).toBe(1);
    expect(keyOf(written('-0'))).toBe(keyOf(written('0')));
  });

  it('an idempotency key differs when type, hash, source or any option differs', () => {
    const bodies = [
      full,
      { ...full, type: 'video:transcode' },
      { ...full, hash: 'h2' },
      { ...full, source: 's2' },
      { ...full, options: { transcode: { encrypt: true } } },
      { ...full, options: { cover: { timestamp_sec: 0 } } },
    ];
    expect(new Set(bodies.map(keyOf)).size).toBe(bodies.length);
  });

  it('the key of a rerun differs from every key of a submission, and begins as every key of a rerun does', () => {
    const key = coverKey('h', 's');
    expect(key).toMatch(/^[0-9a-f]{64}$/);
    expect(rerunKey(key)).toBe(`rerun ${key}`);
    expect(rerunPrefix).toBe('rerun ');
  });

  it('an idempotency key is refused of what JSON cannot say', () => {
    const request = { type: 'video:cover', hash: 'h', source: 's' } as const;
    expect(() => idempotencyKey({ ...request, options: Number.NaN })).toThrow();
  });
});

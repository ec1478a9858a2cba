import { describe, expect, it } from 'vitest';
import type { MediaJob } from '#platform/kubernetes/objects.ts';
import { OwnWrites } from './own-writes.ts';

const at = (resourceVersion: string, more: Partial<MediaJob> = {}): MediaJob => ({
  metadata: { namespace: 'r', name: 'mj', uid: 'u', resourceVersion },
  spec: { type: 'video:cover', hash: 'h', source: 's' },
  ...more,
});

describe('what this leader wrote', () => {
  it('counts until the cache shows it, which is no news', () => {
    const writes = new OwnWrites();
    writes.written(at('10', { status: { progress: 5 } }), 0);
    expect(writes.newest('r/mj', at('9'))?.status?.progress).toBe(5);
    expect(writes.seen(at('10', { status: { progress: 5 } }))).toBe(true);
    expect(writes.newest('r/mj', at('10'))?.status).toBeUndefined();
  });

  it('is news together with what somebody else wrote after it', () => {
    const writes = new OwnWrites();
    writes.written(at('10'), 0);
    expect(writes.seen(at('11'))).toBe(false);
  });

  it('does not hide what somebody else wrote after it, though its answer came last', () => {
    const writes = new OwnWrites();
    const suspended = at('11', { spec: { ...at('11').spec, suspend: true } });
    expect(writes.seen(suspended)).toBe(false);
    writes.written(at('10'), 0);
    expect(writes.newest('r/mj', suspended)?.spec.suspend).toBe(true);
  });

  it('is not taken for an object that bears the name now', () => {
    const writes = new OwnWrites();
    writes.written(at('10'), 0);
    const another = { ...at('5'), metadata: { ...at('5').metadata, uid: 'v' } };
    expect(writes.newest('r/mj', another)).toBe(another);
  });
});

import { describe, expect, it } from 'vitest';
import type { MediaJob } from '#platform/kubernetes/objects.ts';
import { OwnWrites } from './own-writes.ts';

const at = (resourceVersion: string, more: Partial<MediaJob> = {}): MediaJob => ({
  metadata: { namespace: 'r', name: 'mj', uid: 'u', resourceVersion },
  spec: { type: 'video:cover', hash: 'h', source: 's' },
  ...more,
});

describe('the leader’s own status write', () => {
  it('an own write replaces the cached object until the cache shows it, which needs no reconcile', () => {
    const writes = new OwnWrites();
    writes.written(at('10', { status: { progress: 5 } }), 0);
    expect(writes.newest('r/mj', at('9'))?.status?.progress).toBe(5);
    expect(writes.arrived(at('10', { status: { progress: 5 } }))).toBe(true);
    expect(writes.newest('r/mj', at('10'))?.status).toBeUndefined();
  });

  it('an own write needs a reconcile when another writer changed the object after it', () => {
    const writes = new OwnWrites();
    writes.written(at('10'), 0);
    expect(writes.arrived(at('11'))).toBe(false);
  });

  it('the leader’s own status write does not hide a later write by another writer whose event came first', () => {
    const writes = new OwnWrites();
    const suspended = at('11', { spec: { ...at('11').spec, suspend: true } });
    expect(writes.arrived(suspended)).toBe(false);
    writes.written(at('10'), 0);
    expect(writes.newest('r/mj', suspended)?.spec.suspend).toBe(true);
  });

  it('the leader’s own status write is not applied to another object of the same name', () => {
    const writes = new OwnWrites();
    writes.written(at('10'), 0);
    const another = { ...at('5'), metadata: { ...at('5').metadata, uid: 'v' } };
    expect(writes.newest('r/mj', another)).toBe(another);
  });
});

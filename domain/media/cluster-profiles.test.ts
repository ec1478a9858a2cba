import { describe, expect, it } from 'vitest';
import { type ClusterProfile, withClusterProfiles } from './cluster-profiles.ts';
import { chooseProfile, mediaProfilesSchema, type NamedProfile } from './profiles.ts';

const configured = mediaProfilesSchema.parse({
  profiles: { lectures: { crf: 30 } },
  rules: [
    { source_prefix: 'a/', profile: 'mobile' },
    { source_prefix: 'l/', profile: 'lectures' },
  ],
});
const ofCluster = (name: string, crf: number, rules: ClusterProfile['rules'] = []): ClusterProfile => ({
  profile: { ...(configured.byName.get('default') as NamedProfile), name, crf },
  rules,
});

describe('the profiles of a cluster', () => {
  it('replace configured profiles by name, for its rules too', () => {
    const joined = withClusterProfiles(configured, [ofCluster('lectures', 20)]);
    expect([...joined.byName.keys()]).toEqual([...configured.byName.keys()]);
    expect(chooseProfile(joined, { key: 'l/v.mp4', sizeBytes: 1 }).crf).toBe(20);
  });

  it('the profiles of a cluster have rules that come before configured ones, by priority and then in their order', () => {
    const joined = withClusterProfiles(configured, [
      ofCluster('first', 21, [{ source_prefix: 'a/', priority: 0 }]),
      ofCluster('large', 22, [{ source_prefix: 'a/', source_bytes_min: 100, priority: 1 }]),
      ofCluster('second', 23, [{ source_prefix: 'a/', priority: 0 }]),
    ]);
    const nameOf = (key: string, sizeBytes: number) => chooseProfile(joined, { key, sizeBytes }).name;
    expect([nameOf('a/v', 99), nameOf('a/v', 100), nameOf('l/v', 100), nameOf('b/v', 100)]).toEqual([
      'first',
      'large',
      'lectures',
      'default',
    ]);
  });

  it('change nothing where there are none', () => {
    expect(withClusterProfiles(configured, [])).toEqual(configured);
  });
});

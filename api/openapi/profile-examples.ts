import { builtInMediaProfiles } from '#domain/media/profiles.ts';
import { readWrittenProfiles, writeProfile } from '#platform/config/written-profiles.ts';
import { poolToWire } from '../wire/pool.ts';
import { listedProfileToWire, profileCheckToWire } from '../wire/profile.ts';

// Examples of what the routes of profiles, pools and chunks answer, made by the functions that make the answers.

const known = [...builtInMediaProfiles.byName.values()]
  .slice(0, 2)
  .map((profile) => ({ profile, origin: 'built_in' as const }));
const [first] = known.map((each) => ({ ...listedProfileToWire(each), yaml: writeProfile(each.profile) }));
const check = (text: string) =>
  profileCheckToWire(readWrittenProfiles(text), { width: 1280, height: 720, durationSec: 600, hdr: 'sdr' });
const rule = { profile: 'mobile', source_prefix: 'phones/', source_bytes_min: null, source_bytes_max: null };
const pool = poolToWire({
  name: 'default',
  queue: 'default',
  running: 2,
  waiting: 3,
  oldestWaitingAt: new Date('2026-11-24T08:00:00Z'),
  reasons: [
    {
      code: 'unschedulable',
      message: '0/3 nodes are available: 3 Insufficient cpu.',
      jobs: 3,
      jobId: '5b2f0d3e-3d0c-4a53-8f0e-6c5d8a1f9e27',
    },
  ],
});

export const profileExamples = {
  ProfileList: { all: { value: { profiles: known.map(listedProfileToWire), rules: [rule] } } },
  Profile: { built_in: { value: first } },
  ProfileCheck: {
    valid: { value: check('profiles:\n  small:\n    crf: 28\n') },
    faults: { value: check('profiles:\n  small:\n    crf: 99\n') },
  },
  JobChunks: {
    running: {
      value: {
        job_id: '5b2f0d3e-3d0c-4a53-8f0e-6c5d8a1f9e27',
        chunks: [
          { frames: 1_800, finished: true },
          { frames: 1_800, finished: false },
        ],
      },
    },
  },
  PoolList: { pools: { value: { pools: [pool], counted_max: 2_000 } } },
};

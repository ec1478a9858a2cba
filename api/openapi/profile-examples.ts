import { builtInMediaProfiles } from '#domain/media/profiles.ts';
import { type StepRun, workOf } from '#domain/work/unit-run.ts';
import type { TimelineAttempt } from '#platform/postgres/job-timeline.ts';
import { readWrittenProfiles, writeProfile } from '#platform/config/written-profiles.ts';
import { poolToWire } from '../wire/pool.ts';
import { timelineToWire } from '../wire/timeline.ts';
import { listedProfileToWire, profileCheckToWire } from '../wire/profile.ts';

// Examples of what the routes of profiles, pools, chunks and timelines answer, made by the functions that make the
// answers.

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

function attempt(number: number, from: string, to: string): TimelineAttempt {
  const [claimedAt, endedAt] = [from, to].map((minute) => new Date(`2026-11-24T08:${minute}Z`)) as [Date, Date];
  const code = number === 1 ? 'storage_error' : null;
  const common = { started_at: claimedAt.toISOString() };
  const steps: StepRun[] = [
    { step: 'fetch', ...common, duration_ms: 900, processor_ms: 310, code },
    ...(code === null
      ? [{ step: 'process', ...common, duration_ms: 151_000, processor_ms: 288_000, code } as const]
      : []),
  ];
  const result = code === null ? 'completed' : 'retried';
  const work = workOf([{ unit: 'whole', chunk: null, pod: null, steps }]);
  return { attempt: number, worker: 'worker-1:7', claimedAt, endedAt, result, code, ...work };
}

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
  JobTimeline: {
    failed_once: {
      value: timelineToWire({
        id: '5b2f0d3e-3d0c-4a53-8f0e-6c5d8a1f9e27',
        pool: 'default',
        acceptedAt: new Date('2026-11-24T08:00:00Z'),
        finishedAt: new Date('2026-11-24T08:03:40Z'),
        attempts: [attempt(1, '00:30', '00:50'), attempt(2, '00:52', '03:40')],
        sourceBytes: 48_000_000,
        resultBytes: 61_500_000,
      }),
    },
  },
  PoolList: { pools: { value: { pools: [pool], counted_max: 2_000 } } },
};

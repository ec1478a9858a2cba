import type { Job } from '#domain/jobs/job.ts';

const example: Job = {
  id: '6f1c8a4e-3b7d-4b52-9f0e-2a5c9d8e7f10',
  type: 'video:cover',
  hash: 'h',
  source: 's',
  options: {},
  status: 'processing',
  phase: 'scheduling',
  waitingReason: null,
  progress: 0,
  eta: null,
  attempt: 1,
  failures: 0,
  disruptions: 0,
  queue: 'default',
  pool: null,
  priority: 0,
  sourceSizeBytes: null,
  sourceEtag: null,
  profile: null,
  callbackUrl: null,
  callbackStatus: null,
  retryOfJobId: null,
  rerunOfJobId: null,
  rerunReason: null,
  keyId: null,
  error: null,
  results: null,
  resultsExpired: false,
  trace: null,
  title: null,
  metadata: null,
  createdAt: new Date(0),
  updatedAt: new Date(0),
  startedAt: null,
  finishedAt: null,
};

/** For tests: a claimed job in its first attempt, with what a test changes. */
export function exampleJob(changes: Partial<Job> = {}): Job {
  return { ...example, ...changes };
}

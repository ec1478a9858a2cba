import type { JobResults, JobType } from '#domain/job-types/index.ts';
import { type ApiAccess, cancelJobs, type JobAnswer, type NewJob, submitJob, waitForJob } from './jobs.ts';
import { createProgressBars } from './progress.ts';
import type { Sources } from './sample.ts';

// The jobs of the demo: one for each source.

type Ended<T extends JobType> = JobAnswer<T> & { readonly results: JobResults<T> };
export type EndedImage = Ended<'image:thumbnail'>;
export type EndedStream = Ended<'video:full'> | Ended<'video:transcode'>;

interface JobsToRun {
  /** Names the hashes of this run. */
  readonly run: string;
  readonly sources: Sources;
  readonly api: ApiAccess;
  readonly output: NodeJS.WriteStream;
}

const outputs = [
  { variant: 'thumb', width: 320, format: 'webp' as const },
  { variant: 'large', width: 1280, format: 'jpg' as const },
];

/** Runs a job for each source at once. */
export async function runJobs({ run, sources, api, output }: JobsToRun): Promise<(EndedImage | EndedStream)[]> {
  const { image, video, audio } = sources;
  const jobs: NewJob<'image:thumbnail' | 'video:full' | 'video:transcode'>[] = [
    ...(image === undefined
      ? []
      : [{ type: 'image:thumbnail' as const, hash: `demo-image-${run}`, source: image, options: { outputs } }]),
    ...(video === undefined
      ? []
      : [
          {
            type: 'video:full' as const,
            hash: `demo-video-${run}`,
            source: video,
            options: { transcode: { encrypt: true } },
          },
        ]),
    ...(audio === undefined
      ? []
      : [{ type: 'video:transcode' as const, hash: `demo-audio-${run}`, source: audio, options: { encrypt: true } }]),
  ];
  const bars = createProgressBars(
    jobs.map(({ type }) => type),
    output,
  );
  const onJob = ({ type, status, phase, progress }: JobAnswer) =>
    bars.show(type, { progress, doing: status === 'processing' ? (phase ?? status) : status });
  const jobIds: string[] = [];
  const runJob = async (job: (typeof jobs)[number]) => {
    const jobId = await submitJob(job, api);
    jobIds.push(jobId);
    return (await waitForJob(jobId, api, onJob)) as EndedImage | EndedStream;
  };
  try {
    return await Promise.all(jobs.map(runJob));
  } catch (error) {
    await cancelJobs(jobIds, api);
    throw error;
  }
}

import type { components, operations } from './schema.ts';

// Names for the shapes of the wire, by job type. Their fields are as the API writes them.

export type Schemas = components['schemas'];

/** A job as `GET /api/jobs/{id}` shows it; `type` decides what `results` has. */
export type Job<Type extends JobType = JobType> = Extract<Schemas['Job'], { type: Type }>;
export type JobType = Schemas['Job']['type'];
export type JobStatus = Schemas['Job']['status'];

/** A job of a list: its `results` are there with `include: 'results'` alone. */
export type ListedJob = Schemas['ListedJob'];

/** The results of a completed job of a type. */
export type Results<Type extends JobType = JobType> = NonNullable<Job<Type>['results']>;

/** The results of a job that has completed: of a `video:full`, the stream is among them. */
type CompleteResults<Type extends JobType> = Results<Type> &
  (Type extends 'video:full'
    ? Pick<Results<'video:transcode'>, 'streaming' | 'audio_tracks' | 'video_tracks' | 'source'>
    : object);

/** A job that has completed: its results are there. */
export type CompletedJob<Type extends JobType = JobType> = Job<Type> & {
  readonly status: 'completed';
  readonly results: CompleteResults<Type>;
};

/** A submission; `type` decides what `options` may have. */
export type Submission<Type extends JobType = JobType> = Extract<Schemas['CreateJobRequest'], { type: Type }>;

/** The answer to a submission: a new job, or the equal one that exists. */
export interface SubmittedJob<Type extends JobType = JobType> {
  readonly job_id: string;
  readonly type: Type;
  readonly hash: string;
  readonly status: JobStatus;
  /** Null until the job has completed. */
  readonly results: Results<Type> | null;
  /** False when an equal job existed. */
  readonly is_new: boolean;
}

/** A file that is or was sent; `source` is what to submit. */
export type Upload = Schemas['Upload'];
export type UploadRequest = Schemas['CreateUploadRequest'];

/** A file that the service fetches; `source` is what to submit once it has completed. */
export type Import = Schemas['Import'];
export type ImportRequest = Schemas['CreateImportRequest'];
export type ImportFilter = NonNullable<operations['listImports']['parameters']['query']>;

/** Everything made under one hash. */
export type Media = Schemas['Media'];
/** A media of a list. */
export type ListedMedia = Schemas['MediaList']['media'][number];
export type MediaFilter = NonNullable<operations['listMedia']['parameters']['query']>;
/** An object of a media. */
export type MediaFile = Schemas['MediaFiles']['files'][number];
export type MediaFilesFilter = NonNullable<operations['listMediaFiles']['parameters']['query']>;
/** How a media plays, by day. */
export type PlaybackDays = Schemas['PlaybackDays'];
export type PlaybackDaysFilter = NonNullable<operations['listMediaPlayback']['parameters']['query']>;
export type MediaChange = Schemas['MediaChange'];
/** The deletion of a media, with its receipt once it is done. */
export type MediaDeletion = Schemas['MediaDeletion'];

export type JobQuery = NonNullable<operations['getJob']['parameters']['query']>;
export type JobFilter = NonNullable<operations['listJobs']['parameters']['query']>;
export type Retry = Schemas['Retry'];
export type Rerun = Schemas['Rerun'];
export type RerunRequest = Schemas['RerunRequest'];
export type Callbacks = Schemas['Callbacks'];
export type Problem = Schemas['Problem'];

type EventOf<Type extends JobType> = Extract<Schemas['WebhookEvent'], { type: Type }>;
/** The body of a webhook; `type` and `status` decide what it has. */
export type WebhookEvent<Type extends JobType = JobType> = Type extends JobType
  ? | (Omit<EventOf<Type>, 'error'> & {
        readonly status: 'completed';
        readonly results: CompleteResults<Type>;
        readonly error?: never;
      })
    | (EventOf<Type> & { readonly status: 'failed'; readonly error: NonNullable<EventOf<Type>['error']> })
  : never;

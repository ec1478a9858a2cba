import type { ComponentChildren, VNode } from 'preact';
import type { useForm } from './form.js';
import type {
  Job,
  JobFilter,
  JobStatus,
  JobType,
  Media,
  operations,
  Reelwright,
  Schemas,
} from '#clients/typescript/src/index.ts';

// The types of the console, of which most are the client's. Nothing here runs: a browser does not load this file.

export type { ComponentChildren, VNode } from 'preact';
export type { Fetch } from '#clients/typescript/src/http.ts';
export type { MediaFile, Schemas, Submission, Upload } from '#clients/typescript/src/index.ts';
export type { Job, JobFilter, JobStatus, JobType, Media };

/** A job of a list, or one by itself, which has more. */
export type AnyJob = Schemas['ListedJob'];
type VideoResults = Schemas['VideoFullResults'] | Schemas['VideoTranscodeResults'];
export type StreamJob = Extract<AnyJob, { type: 'video:full' | 'video:transcode' }> & { results: VideoResults };

/** An image in results of any type. */
export interface ResultImage {
  readonly name: string;
  readonly key: string;
  readonly size?: number;
  readonly width?: number | null;
  readonly height?: number | null;
  readonly color?: string | null | undefined;
}

/** The fields that decide how a job is shown as it goes on. */
export type JobState = Pick<AnyJob, 'status' | 'phase' | 'attempt' | 'callback_status'>;
export type JobTimes = Pick<AnyJob, 'created_at' | 'started_at' | 'finished_at' | 'updated_at'>;
/** The fields that say what a job does or waits for; the reason may have a code that only a newer server knows. */
export type JobDoing = Pick<AnyJob, 'status' | 'phase' | 'eta'> & { reason: { code: string; message: string } | null };
export interface Moment {
  readonly at: string;
  readonly text: string;
}

export type Attempt = Schemas['JobTimelineAttempt'];
export type Unit = Schemas['JobTimelineAttemptUnit'];
export interface Scale {
  readonly from: number;
  readonly ms: number;
}
export interface TimeLine {
  readonly name: string;
  readonly note?: string;
  readonly kind: string;
  readonly start: number;
  readonly ms: number;
  readonly processor?: number | null;
}

export type Rollout = Schemas['Rollout'];
export type RolloutDetails = Schemas['RolloutDetails'];
export type RolloutMedia = Schemas['RolloutMedia'];
export type RolloutPlan = Schemas['RolloutPlan'];
export type RolloutRequest = Schemas['CreateRolloutRequest'];
export type RolloutFilter = NonNullable<operations['listRollouts']['parameters']['query']>;
export type RolloutAction = 'pause' | 'resume' | 'cancel' | 'rollback';

/** A webhook that was not delivered; `created_at` orders the list. */
export type FailedWebhook = Schemas['FailedCallbacksCallback'] & { readonly created_at: string };

export type ListedMedia = Schemas['ListedMedia'];
export type MediaFilter = NonNullable<operations['listMedia']['parameters']['query']>;

/** A media as its page shows it; null where the server does not have the route. */
export interface MediumPage<Known = Media> {
  readonly hash: string;
  readonly medium: Known;
  readonly reload: () => Promise<void>;
}

/** A row on which something is done with many others. */
export type BulkItem = Pick<AnyJob, 'job_id' | 'hash'>;
/** An action on many rows. */
export interface BulkAction {
  readonly label: string;
  readonly kind?: string;
  /** The title of the question before it; `count` is how many rows. */
  readonly title: (count: string) => string;
  readonly text: string;
  readonly button: string;
  /** The rows, at most `max`. */
  readonly items: (max: number, signal: AbortSignal) => Promise<readonly BulkItem[]>;
  readonly act: (item: BulkItem) => Promise<unknown>;
}
export interface BulkState {
  readonly total: number;
  readonly done: number;
  /** A text for each refusal. */
  readonly refused: readonly string[];
  readonly isRunning: boolean;
}

export type Navigate = (path: string) => void;
/** The properties of a view. */
export interface Visit {
  readonly navigate: Navigate;
  readonly query: URLSearchParams;
}
export interface Shown {
  readonly tab: string;
  readonly title: string;
  readonly view: ComponentChildren;
}
export interface Place {
  readonly hash: string;
  readonly visit: number;
  readonly focused: string | null;
}

/** A fault of a field of a request, which `pointer` names (RFC 6901). */
export interface Fault {
  readonly pointer: string;
  readonly detail: string;
}
/** A field of a form: `pointer` is what it makes of the request, `input` the attributes of its element. */
export type Field = readonly [name: string, label: string, pointer: string, hint?: string, input?: Attributes];
export type Attributes = Readonly<Record<string, string | number | boolean>>;
export type MakeInput = (attributes: Attributes) => VNode;
export interface SubmitValues {
  readonly type: JobType;
  readonly source: string;
  readonly hash: string;
  readonly options: string;
  readonly profile: string;
  readonly callback_url: string;
}

/** The options of files that are submitted without the form. */
export interface DroppedOptions {
  readonly encrypt: boolean;
  /** Whether a video gets a cover and a preview. */
  readonly hasImages: boolean;
  /** Empty: as the rules choose. */
  readonly profile: string;
}
export interface DroppedFile {
  readonly id: number;
  readonly file: File;
  readonly options: DroppedOptions;
  readonly state: 'waiting' | 'uploading' | 'submitted' | 'failed';
  /** The share that is uploaded, 0 to 1, and bytes in a second. */
  readonly share: number;
  readonly rate: number;
  /** Why it failed. */
  readonly text: string;
  /** The id of the submitted job; empty before. */
  readonly jobId: string;
  readonly stopping: AbortController;
}

/** The data that was read; null before. */
export interface Loaded<Data> {
  readonly data: Data | null;
  readonly problem: unknown;
  readonly reload: () => Promise<void>;
}

export interface Page<Item> {
  readonly items: readonly Item[];
  readonly cursor: string | null;
}
/** A list whose newest items come first. */
export interface FeedOptions<Item> {
  readonly read: (page: { limit: number; cursor?: string }, signal: AbortSignal) => Promise<Page<Item>>;
  /** Reads known items again that may have changed; `newest` were read a moment ago. */
  readonly ask?: (newest: readonly Item[], known: readonly Item[], signal: AbortSignal) => Promise<Item[]>;
  readonly idOf: (item: Item) => string;
  /** The item as it is shown, of what was known of it and what was read. */
  readonly merge?: (before: Item, fresh: Item, isAsked: boolean) => Item;
  readonly pageSize: number;
  /** How many of the newest are looked at again. */
  readonly polledItems: number;
  /** 0: never. */
  readonly pollMs: number;
}
export interface Feed<Item> {
  readonly items: readonly Item[];
  readonly isRead: boolean;
  /** Whether there is no older item. */
  readonly isWhole: boolean;
  readonly problem: unknown;
}

export interface Toast {
  readonly text: string;
  readonly kind: 'info' | 'fault';
  readonly number: number;
}
export interface Question {
  readonly title: string;
  readonly text: string;
  readonly action: string;
  /** Its fields. */
  readonly body?: ComponentChildren;
  /** Whether the action takes nothing away. */
  readonly isSafe?: boolean;
}
export type OpenQuestion = Question & { readonly resolve: (given: FormData | null) => void };

export type ImageRequest = Schemas['ConsoleLinksRequestImage'];
/** An image whose address is asked for with the others of the moment. */
export interface WaitingImage {
  readonly request: ImageRequest;
  readonly promise: Promise<string | null>;
  readonly resolve: (address: string | null) => void;
}

/** Every route with its types. */
export type Client = Reelwright['http'];
/** The session of who is signed in, and the routes that the server has. */
export interface SignedIn {
  readonly session: Schemas['Session'];
  readonly client: Reelwright;
  readonly routes: ReadonlySet<string>;
}
export type Signal = AbortSignal | null;
export type Form = ReturnType<typeof useForm>;

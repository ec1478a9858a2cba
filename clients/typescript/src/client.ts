import createClient, { type Client } from 'openapi-fetch';
import { errorOfProblem, JobEndedError, ReelwrightError } from './errors.ts';
import { checked, dataOf, type Fetch, refusingRedirects, type RetryOptions, retryingFetch } from './http.ts';
import { type BatchOutcome, choicesOf, pagesOf, type SubmitOptions, submittedOf } from './requests.ts';
import type { paths } from './schema.ts';
import type {
  Callbacks,
  CompletedJob,
  Import,
  ImportFilter,
  ImportRequest,
  Job,
  JobFilter,
  JobQuery,
  JobType,
  ListedJob,
  ListedMedia,
  Media,
  MediaChange,
  MediaDeletion,
  MediaFile,
  MediaFilesFilter,
  PlaybackDays,
  PlaybackDaysFilter,
  MediaFilter,
  Rerun,
  RerunRequest,
  Retry,
  Submission,
  SubmittedJob,
  Upload,
  UploadRequest,
} from './types.ts';
import { uploadFile, type UploadOptions, type UploadSource } from './uploads.ts';
import { waitUntilEnded, type WaitOptions } from './wait.ts';

export interface ReelwrightOptions {
  /** The address of the service, such as `https://media.example.com`. */
  readonly baseUrl: string;
  /**
   * One of the keys of the service. It belongs on servers: a browser gets tokens and addresses instead. Null in a page
   * of the service's own origin, which has a session (`POST /api/sessions`): the browser sends its cookie.
   */
  readonly apiKey: string | null;
  readonly retry?: RetryOptions;
  /** Takes the place of the global `fetch`. */
  readonly fetch?: Fetch;
}

/** A job by its id, or whatever has one. */
type JobRef<Type extends JobType> = string | { readonly job_id: string; readonly type?: Type };
/** An upload by its id, or whatever has one. */
type UploadRef = string | { readonly upload_id: string };
/** An import by its id, or whatever has one. */
type ImportRef = string | { readonly import_id: string };

/**
 * A client of a Reelwright service. Every method throws `ReelwrightError`, which says what to do; answers of 429 and
 * 503 are waited for.
 */
export class Reelwright {
  /** Every route, with the types of the API document: `client.http.GET('/readyz')`. */
  readonly http: Client<paths>;
  readonly #baseUrl: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #send: Fetch;
  readonly #sendOnce: Fetch;
  /** Follows redirects: a part goes without the API key. */
  readonly #sendPart: Fetch;

  constructor({ baseUrl, apiKey, retry, fetch = (request) => globalThis.fetch(request) }: ReelwrightOptions) {
    if (!/^https?:\/\//i.test(baseUrl) || !URL.canParse(baseUrl))
      throw invalid(`baseUrl: expected https://…, found ${JSON.stringify(baseUrl)}`);
    if (apiKey === '') throw invalid('apiKey: expected one of the keys of the service, found none');
    this.#baseUrl = baseUrl.replace(/\/+$/, '');
    this.#headers = apiKey === null ? { 'x-reelwright-session': '1' } : { 'x-api-key': apiKey };
    this.#sendPart = fetch;
    this.#sendOnce = refusingRedirects(fetch);
    this.#send = retryingFetch(this.#sendOnce, retry);
    this.http = createClient<paths>({ baseUrl: this.#baseUrl, headers: this.#headers, fetch: this.#send });
  }

  /** Submits a job. An equal one is found again, so it is safe to repeat. */
  async submit<Type extends JobType>(
    submission: Submission<Type> & { readonly type: Type },
    options: SubmitOptions = {},
  ): Promise<SubmittedJob<Type>> {
    const { data, response } = await checked(this.http.POST('/api/jobs', { body: submission, ...choicesOf(options) }));
    return submittedOf(data, submission.type, response.status);
  }

  /** Submits up to 500 jobs in one request; the outcomes are in the order of the submissions. */
  async submitBatch<Type extends JobType>(
    submissions: readonly (Submission<Type> & { readonly type: Type })[],
    options: SubmitOptions = {},
  ): Promise<BatchOutcome<Type>[]> {
    const data = await dataOf(
      this.http.POST('/api/jobs/batch', { body: { jobs: [...submissions] }, ...choicesOf(options) }),
    );
    return data.jobs.map(({ status, job, problem }, index) => {
      const type = submissions[index]?.type;
      if (job !== undefined && type !== undefined) return { job: submittedOf(job, type, status), error: null };
      return { job: null, error: errorOfProblem(problem, status) };
    });
  }

  /** A job; `check: 'source,results'` also looks whether its source was replaced and whether its results are there. */
  async job<Type extends JobType = JobType>(job: JobRef<Type>, query: JobQuery = {}): Promise<Job<Type>> {
    const params = { ...pathOf(job).params, query };
    const data = await dataOf(this.http.GET('/api/jobs/{id}', { params }));
    return data as Job<Type>;
  }

  /** The jobs that match, newest first; pages are fetched as they are needed. */
  jobs(filter: JobFilter = {}): AsyncGenerator<ListedJob> {
    return pagesOf(filter, async (query) => {
      const data = await dataOf(this.http.GET('/api/jobs', { params: { query } }));
      return { items: data.jobs, next: data.next_cursor };
    });
  }

  /**
   * Waits until a job has completed, by Server-Sent Events where they pass, else by polling. Restarts of the service
   * are waited for.
   *
   * @throws JobEndedError when the job has failed or was cancelled
   */
  async waitFor<Type extends JobType = JobType>(
    job: JobRef<Type>,
    options: WaitOptions = {},
  ): Promise<CompletedJob<Type>> {
    const url = `${this.#baseUrl}/api/jobs/${encodeURIComponent(idOf(job))}`;
    const ended = await waitUntilEnded({ url, headers: this.#headers, send: this.#sendOnce }, options);
    if (ended.status !== 'completed' || ended.results === null) throw new JobEndedError(ended);
    return ended as unknown as CompletedJob<Type>;
  }

  async cancel<Type extends JobType = JobType>(job: JobRef<Type>): Promise<Job<Type>> {
    const data = await dataOf(this.http.POST('/api/jobs/{id}/cancel', pathOf(job)));
    return data as Job<Type>;
  }

  /** Retries a failed job: its failed stages, or all of it. */
  async retry(job: JobRef<JobType>): Promise<Retry> {
    return await dataOf(this.http.POST('/api/jobs/{id}/retry', pathOf(job)));
  }

  /** Makes a job that has ended again, such as after its source was replaced. */
  async rerun(job: JobRef<JobType>, request: RerunRequest = {}): Promise<Rerun> {
    const sent = this.http.POST('/api/jobs/{id}/rerun', { ...pathOf(job), body: request });
    return await dataOf(sent);
  }

  /** The webhook of a job and its attempts. */
  async callbacks(job: JobRef<JobType>): Promise<Callbacks> {
    return await dataOf(this.http.GET('/api/jobs/{id}/callbacks', pathOf(job)));
  }

  /** Sends the webhook of a job once more. */
  async redeliver(job: JobRef<JobType>): Promise<Callbacks> {
    return await dataOf(this.http.POST('/api/jobs/{id}/callbacks/redeliver', pathOf(job)));
  }

  /** Uploads a file in parallel parts; its `source` is what to submit. */
  async upload(source: UploadSource, options: UploadOptions = {}): Promise<Upload> {
    const access = {
      baseUrl: this.#baseUrl,
      headers: this.#headers,
      send: this.#send,
      sendPart: this.#sendPart,
    };
    return await uploadFile(access, source, options);
  }

  /** Begins an upload whose parts something else puts, such as a page without an API key. */
  async beginUpload(request: UploadRequest): Promise<Upload> {
    return await dataOf(this.http.POST('/api/uploads', { body: request }));
  }

  /** An upload, and whether each of its parts is there; a page of parts at a time. */
  async getUpload(upload: UploadRef, partFrom?: number): Promise<Upload> {
    const query = partFrom === undefined ? {} : { part_from: partFrom };
    const params = { path: { id: uploadIdOf(upload) }, query };
    return await dataOf(this.http.GET('/api/uploads/{id}', { params }));
  }

  /** Joins the parts of an upload; while its bytes are checked, its `status` is `completing`. */
  async completeUpload(upload: UploadRef): Promise<Upload> {
    const params = { path: { id: uploadIdOf(upload) } };
    return await dataOf(this.http.POST('/api/uploads/{id}/complete', { params }));
  }

  /** Ends an upload, and deletes what came of it. */
  async deleteUpload(upload: UploadRef): Promise<void> {
    const params = { path: { id: uploadIdOf(upload) } };
    await dataOf(this.http.DELETE('/api/uploads/{id}', { params }));
  }

  /** Lets the service fetch a file; `getImport` shows how far it is, and its `source` is what to submit. */
  async beginImport(request: ImportRequest): Promise<Import> {
    return await dataOf(this.http.POST('/api/imports', { body: request }));
  }

  async getImport(ref: ImportRef): Promise<Import> {
    return await dataOf(this.http.GET('/api/imports/{id}', importPathOf(ref)));
  }

  /** All imports, newest first; pages are fetched as they are needed. */
  imports(filter: ImportFilter = {}): AsyncGenerator<Import> {
    return pagesOf(filter, async (query) => {
      const data = await dataOf(this.http.GET('/api/imports', { params: { query } }));
      return { items: data.imports, next: data.next_cursor };
    });
  }

  /** Cancels an import that has not ended. */
  async deleteImport(ref: ImportRef): Promise<void> {
    await dataOf(this.http.DELETE('/api/imports/{id}', importPathOf(ref)));
  }

  /** Everything made under a hash; of a deleted one, its deletion. */
  async media(hash: string): Promise<Media> {
    return await dataOf(this.http.GET('/api/media/{hash}', { params: { path: { hash } } }));
  }

  /** The media that match; pages are fetched as they are needed. */
  mediaList(filter: MediaFilter = {}): AsyncGenerator<ListedMedia> {
    return pagesOf(filter, async (query) => {
      const data = await dataOf(this.http.GET('/api/media', { params: { query } }));
      return { items: data.media, next: data.next_cursor };
    });
  }

  /** The objects of a media; pages are fetched as they are needed. */
  mediaFiles(hash: string, filter: MediaFilesFilter = {}): AsyncGenerator<MediaFile> {
    return pagesOf(filter, async (query) => {
      const params = { path: { hash }, query };
      const data = await dataOf(this.http.GET('/api/media/{hash}/files', { params }));
      return { items: data.files, next: data.next_cursor };
    });
  }

  /** How a media plays, by day, as players say it (CMCD); the last 30 days, or as many as `days` says. */
  async mediaPlayback(hash: string, query: PlaybackDaysFilter = {}): Promise<PlaybackDays> {
    const params = { path: { hash }, query };
    return await dataOf(this.http.GET('/api/media/{hash}/playback', { params }));
  }

  /** Changes when a media expires, its legal hold, how it plays, its title or its metadata. */
  async updateMedia(hash: string, change: MediaChange): Promise<Media> {
    const options = { params: { path: { hash } }, body: change };
    return await dataOf(this.http.PATCH('/api/media/{hash}', options));
  }

  /** Plays another of the revisions of a media. */
  async setCurrent(hash: string, revision: string): Promise<Media> {
    const options = { params: { path: { hash } }, body: { revision } };
    return await dataOf(this.http.PUT('/api/media/{hash}/current', options));
  }

  /** Withdraws every ticket of a media so far; new ones are made with `playback_generation` of the answer. */
  async withdrawTickets(hash: string): Promise<Media> {
    const options = { params: { path: { hash } } };
    return await dataOf(this.http.POST('/api/media/{hash}/playback/withdraw', options));
  }

  /** Deletes every object of a media. It goes on after the answer; `deletion` says when it is done. */
  async deleteMedia(hash: string): Promise<MediaDeletion> {
    return await dataOf(this.http.DELETE('/api/media/{hash}', { params: { path: { hash } } }));
  }

  /** The deletion of a media, with its receipt once it is done. */
  async deletion(hash: string): Promise<MediaDeletion> {
    return await dataOf(this.http.GET('/api/media/{hash}/deletion', { params: { path: { hash } } }));
  }
}

function idOf(job: JobRef<JobType>): string {
  return typeof job === 'string' ? job : job.job_id;
}

function pathOf(job: JobRef<JobType>) {
  return { params: { path: { id: idOf(job) } } };
}

function importPathOf(ref: ImportRef) {
  return { params: { path: { id: typeof ref === 'string' ? ref : ref.import_id } } };
}

function uploadIdOf(upload: UploadRef): string {
  return typeof upload === 'string' ? upload : upload.upload_id;
}

function invalid(detail: string): ReelwrightError {
  return new ReelwrightError({ code: 'invalid_request', detail });
}

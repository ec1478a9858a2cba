import createClient, { type Client } from 'openapi-fetch';
import { errorOf, JobEndedError, ReelwrightError } from './errors.ts';
import { type Fetch, type RetryOptions, retryingFetch } from './http.ts';
import type { paths } from './schema.ts';
import type {
  Callbacks,
  CompletedJob,
  Job,
  JobFilter,
  JobType,
  ListedJob,
  ListedMedia,
  Media,
  MediaDeletion,
  MediaFilter,
  Results,
  Retry,
  Schemas,
  Submission,
  SubmittedJob,
  Upload,
} from './types.ts';
import { uploadFile, type UploadOptions, type UploadSource } from './uploads.ts';
import { waitUntilEnded, type WaitOptions } from './wait.ts';

export interface ReelwrightOptions {
  /** The address of the service, such as `https://media.example.com`. */
  readonly baseUrl: string;
  /** One of the keys of the service. It belongs on servers: a browser gets tokens and addresses instead. */
  readonly apiKey: string;
  readonly retry?: RetryOptions;
  /** Takes the place of the global `fetch`. */
  readonly fetch?: Fetch;
}

interface SubmitOptions {
  readonly signal?: AbortSignal;
}

/** A job by its id, or whatever has one. */
type JobRef<Type extends JobType> = string | { readonly job_id: string; readonly type?: Type };

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

  constructor({ baseUrl, apiKey, retry, fetch = (request) => globalThis.fetch(request) }: ReelwrightOptions) {
    if (!URL.canParse(baseUrl)) throw invalid(`baseUrl: expected https://…, found ${JSON.stringify(baseUrl)}`);
    if (apiKey === '') throw invalid('apiKey: expected one of the keys of the service, found none');
    this.#baseUrl = baseUrl.replace(/\/+$/, '');
    this.#headers = { 'x-api-key': apiKey };
    this.#sendOnce = fetch;
    this.#send = retryingFetch(fetch, retry);
    this.http = createClient<paths>({ baseUrl: this.#baseUrl, headers: this.#headers, fetch: this.#send });
  }

  /** Submits a job. An equal one is found again, so it is safe to repeat. */
  async submit<Type extends JobType>(
    submission: Submission<Type> & { readonly type: Type },
    { signal }: SubmitOptions = {},
  ): Promise<SubmittedJob<Type>> {
    const { data, response } = await this.#checked(
      this.http.POST('/api/jobs', { body: submission, signal: signal ?? null }),
    );
    const results = 'results' in data ? (data.results as Results<Type> | null) : null;
    const { job_id, hash, status } = data;
    return { job_id, type: submission.type, hash, status, results, is_new: response.status === 202 };
  }

  async job<Type extends JobType = JobType>(job: JobRef<Type>): Promise<Job<Type>> {
    const { data } = await this.#checked(this.http.GET('/api/jobs/{id}', pathOf(job)));
    return data as Job<Type>;
  }

  /** The jobs that match, newest first; pages are fetched as they are needed. */
  async *jobs(filter: JobFilter = {}): AsyncGenerator<ListedJob> {
    for (let cursor: string | null | undefined = filter.cursor; cursor !== null;) {
      const query: JobFilter = { ...filter, ...(cursor === undefined ? {} : { cursor }) };
      const { data }: { data: Schemas['JobList'] } = await this.#checked(
        this.http.GET('/api/jobs', { params: { query } }),
      );
      yield* data.jobs;
      cursor = data.next_cursor;
    }
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
    const { data } = await this.#checked(this.http.POST('/api/jobs/{id}/cancel', pathOf(job)));
    return data as Job<Type>;
  }

  /** Retries a failed job: its failed stages, or all of it. */
  async retry(job: JobRef<JobType>): Promise<Retry> {
    return (await this.#checked(this.http.POST('/api/jobs/{id}/retry', pathOf(job)))).data;
  }

  /** The webhook of a job and its attempts. */
  async callbacks(job: JobRef<JobType>): Promise<Callbacks> {
    return (await this.#checked(this.http.GET('/api/jobs/{id}/callbacks', pathOf(job)))).data;
  }

  /** Sends the webhook of a job once more. */
  async redeliver(job: JobRef<JobType>): Promise<Callbacks> {
    return (await this.#checked(this.http.POST('/api/jobs/{id}/callbacks/redeliver', pathOf(job)))).data;
  }

  /** Uploads a file in parallel parts; its `source` is what to submit. */
  async upload(source: UploadSource, options: UploadOptions = {}): Promise<Upload> {
    const access = {
      baseUrl: this.#baseUrl,
      headers: this.#headers,
      send: this.#send,
      sendPart: this.#sendOnce,
    };
    return await uploadFile(access, source, options);
  }

  /** Everything made under a hash; of a deleted one, its deletion. */
  async media(hash: string): Promise<Media> {
    return (await this.#checked(this.http.GET('/api/media/{hash}', { params: { path: { hash } } }))).data;
  }

  /** The media that match; pages are fetched as they are needed. */
  async *mediaList(filter: MediaFilter = {}): AsyncGenerator<ListedMedia> {
    for (let cursor: string | null | undefined = filter.cursor; cursor !== null;) {
      const query: MediaFilter = { ...filter, ...(cursor === undefined ? {} : { cursor }) };
      const { data }: { data: Schemas['MediaList'] } = await this.#checked(
        this.http.GET('/api/media', { params: { query } }),
      );
      yield* data.media;
      cursor = data.next_cursor;
    }
  }

  /** Deletes every object of a media. It goes on after the answer; `deletion` says when it is done. */
  async deleteMedia(hash: string): Promise<MediaDeletion> {
    return (await this.#checked(this.http.DELETE('/api/media/{hash}', { params: { path: { hash } } }))).data;
  }

  /** The deletion of a media, with its receipt once it is done. */
  async deletion(hash: string): Promise<MediaDeletion> {
    return (await this.#checked(this.http.GET('/api/media/{hash}/deletion', { params: { path: { hash } } }))).data;
  }

  /** The data of an answer. @throws ReelwrightError for a refusal */
  async #checked<Data>(
    sent: Promise<{ data?: Data; error?: unknown; response: Response }>,
  ): Promise<{ data: Data; response: Response }> {
    const { data, error, response } = await sent.catch((failure: unknown) => {
      if (!(failure instanceof SyntaxError)) throw failure;
      throw new ReelwrightError({ code: 'unexpected_answer', detail: 'the answer is not JSON', cause: failure });
    });
    if (data !== undefined && response.ok) return { data, response };
    const text = typeof error === 'string' ? error : JSON.stringify(error ?? null);
    throw await errorOf(new Response(text, { status: response.status, headers: response.headers }));
  }
}

function idOf(job: JobRef<JobType>): string {
  return typeof job === 'string' ? job : job.job_id;
}

function pathOf(job: JobRef<JobType>) {
  return { params: { path: { id: idOf(job) } } };
}

function invalid(detail: string): ReelwrightError {
  return new ReelwrightError({ code: 'invalid_request', detail });
}

import { errorOf, ReelwrightError, retryAfterOf } from './errors.ts';
import { readEvents } from './events.ts';
import { type Fetch, jsonOf, pauseOf, sleep, unreachable } from './http.ts';
import type { Job } from './types.ts';

// Follows a job by Server-Sent Events. A broken stream is opened again where it ended; where streams do not pass, such
// as behind a proxy that buffers them, the job is polled as `Retry-After` says.

export interface WaitOptions {
  /** Called with the job at once and after each change. */
  readonly onProgress?: (job: Job) => void;
  readonly signal?: AbortSignal;
  /** Seconds until `timeout`; without it a job is waited for as long as it takes. */
  readonly timeoutSec?: number;
  /** Seconds without an answer of the service after which it is given up; default 300, more than a restart takes. */
  readonly outageSecMax?: number;
}

interface Access {
  /** `{base}/api/jobs/{id}` */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly send: Fetch;
}

/** The service sends something every 15 s. */
const silenceMsMax = 45_000;
/** The first state comes at once; when it does not, a proxy holds it back. */
const firstEventMs = 10_000;
const pollMs = 2_000;
const pollMsMax = 30_000;
/** Streams that ended without an event after which the job is polled. */
const fruitlessMax = 2;

const isFinal = ({ status }: Pick<Job, 'status'>) => status !== 'queued' && status !== 'processing';

/** The longest time that a timer can have, about 25 days; a longer one would be over at once. */
const timerMsMax = 2 ** 31 - 1;

/** The state of a job while it is followed. */
class Watch {
  job: Job | null = null;
  lastEventId = '';
  answeredAt = Date.now();
  readonly signal: AbortSignal;
  readonly #options: WaitOptions;

  constructor(options: WaitOptions) {
    this.#options = options;
    const { signal, timeoutSec = Number.POSITIVE_INFINITY } = options;
    const timeoutMs = Math.ceil(timeoutSec * 1000);
    const timer = timeoutMs > timerMsMax ? [] : [AbortSignal.timeout(timeoutMs)];
    this.signal = AbortSignal.any([...(signal === undefined ? [] : [signal]), ...timer]);
  }

  /** Whether the job has ended. */
  show(job: Job): boolean {
    const isNews = this.job === null || this.job.updated_at !== job.updated_at || this.job.status !== job.status;
    this.job = job;
    this.answeredAt = Date.now();
    if (isNews) this.#options.onProgress?.(job);
    return isFinal(job);
  }

  /** @throws when the service has not answered for too long */
  failed(url: string, cause: unknown): void {
    this.signal.throwIfAborted();
    if (cause instanceof ReelwrightError && cause.status >= 300 && cause.status < 500 && cause.status !== 429)
      throw cause;
    const { outageSecMax = 300 } = this.#options;
    if (Date.now() - this.answeredAt < outageSecMax * 1000) return;
    throw cause instanceof ReelwrightError ? cause : unreachable(url, cause);
  }
}

/** The job when it has ended. @throws ReelwrightError, or the reason of `signal` */
export async function waitUntilEnded(access: Access, options: WaitOptions): Promise<Job> {
  const watch = new Watch(options);
  try {
    let fruitless = 0;
    for (let failures = 0; fruitless < fruitlessMax;) {
      const before = watch.job;
      const outcome = await follow(access, watch);
      if (outcome !== null) return outcome;
      fruitless = watch.job === before ? fruitless + 1 : 0;
      failures = watch.job === before ? failures + 1 : 1;
      await sleep(pauseOf(failures), watch.signal);
    }
    return await poll(access, watch);
  } catch (error) {
    if (options.signal?.aborted === true || !watch.signal.aborted) throw error;
    const detail = `the job is ${watch.job?.status ?? 'unknown'} after ${options.timeoutSec} s`;
    throw new ReelwrightError({ code: 'timeout', detail });
  }
}

/** Reads one stream to its end: the job when it has ended, else null. */
async function follow({ url, headers, send }: Access, watch: Watch): Promise<Job | null> {
  const stop = new AbortController();
  let timer = setTimeout(() => stop.abort(), firstEventMs);
  const signal = AbortSignal.any([watch.signal, stop.signal]);
  const resume = watch.lastEventId === '' ? {} : { 'last-event-id': watch.lastEventId };
  try {
    const response = await send(new Request(`${url}/events`, { headers: { ...headers, ...resume }, signal }));
    if (response.status === 204) return await find({ url, headers, send }, watch);
    if (!response.ok) throw await errorOf(response);
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
    if (!isStream || response.body === null) throw new Error('the answer is not a stream of events');
    for await (const item of readEvents(response.body, signal)) {
      watch.answeredAt = Date.now();
      if (item !== 'alive' || watch.job !== null) {
        clearTimeout(timer);
        timer = setTimeout(() => stop.abort(), silenceMsMax);
      }
      if (item === 'alive' || item.event !== 'job') continue;
      watch.lastEventId = item.id;
      const job = JSON.parse(item.data) as Job;
      if (watch.show(job)) return job;
    }
  } catch (error) {
    watch.failed(url, error);
  } finally {
    clearTimeout(timer);
    stop.abort();
  }
  return null;
}

async function find({ url, headers, send }: Access, watch: Watch): Promise<Job | null> {
  const job = await jsonOf<Job>(await send(new Request(url, { headers, signal: watch.signal })));
  return watch.show(job) ? job : null;
}

async function poll({ url, headers, send }: Access, watch: Watch): Promise<Job> {
  let etag: string | null = null;
  for (;;) {
    let pauseMs = pollMs;
    try {
      const known: Record<string, string> = etag === null ? {} : { 'if-none-match': etag };
      const response = await send(new Request(url, { headers: { ...headers, ...known }, signal: watch.signal }));
      pauseMs = Math.min(pollMsMax, (retryAfterOf(response) ?? pollMs / 1000) * 1000);
      if (response.status === 304) watch.answeredAt = Date.now();
      else {
        const job = await jsonOf<Job>(response);
        etag = response.headers.get('etag');
        if (watch.show(job)) return job;
      }
    } catch (error) {
      watch.failed(url, error);
    }
    await sleep(pauseMs, watch.signal);
  }
}

import { createHash, randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Job,
  JobEndedError,
  type ListedJob,
  type Reelwright,
  ReelwrightError,
} from '../../clients/typescript/src/index.ts';
import { webhookSignatureHeaders } from '#domain/webhooks/signature.ts';
import type { Command, Context } from '../command.ts';
import { UsageError } from '../exit-codes.ts';

// `reelwright listen`: for developers whose machine no webhook reaches. Jobs that run or are submitted while it runs
// are followed by Server-Sent Events, and the end of each is sent to a local address as its webhook would be.

const pollMs = 1_000;
/** Jobs that are followed at once; the others wait, and are followed as soon as one has ended. */
const followedMax = 50;
const knownMax = 10_000;
const attemptsMax = 3;
const attemptMs = 10_000;
/** Ids of one remark. */
const shownMax = 20;

export const listen: Command = {
  name: 'listen',
  args: '',
  argsMin: 0,
  argsMax: 0,
  doc: 'Forwards webhooks to a server on this machine.',
  more: [
    'Every job that runs or is submitted meanwhile sends its webhook there once it has ended.',
    'Webhooks are signed with WEBHOOK_SECRET; without it a secret is made and printed.',
    'With --json the address and each webhook are a line.',
  ].join('\n'),
  example: 'listen --forward http://localhost:8080/webhooks',
  options: {
    forward: { value: 'URL', doc: 'where they go' },
    hash: { value: 'HASH', doc: 'only jobs of this media' },
    count: { value: 'N', doc: 'end after so many' },
  },
  run: async (context) => {
    const { options, env, output, signal } = context;
    const forward = options.text('forward') ?? '';
    if (!/^https?:\/\//.test(forward) || !URL.canParse(forward))
      throw new UsageError(`--forward: expected http://localhost:PORT/…, found ${JSON.stringify(forward)}`);
    const count = options.whole('count', 1, 1_000_000) ?? Infinity;
    const made = env['WEBHOOK_SECRET'] ? null : `whsec_${randomBytes(24).toString('base64')}`;
    const secret = env['WEBHOOK_SECRET'] || (made ?? '');
    const stop = new AbortController();
    const ends = new JobEnds(await context.client(), {
      hash: options.text('hash'),
      signal: AbortSignal.any([signal, stop.signal]),
      note: (text) => output.note(text),
    });
    let sent = 0;
    try {
      await ends.begin();
      const signed = made === null ? '' : `, signed with ${made}`;
      output.result({ forward, secret: made }, `forwarding the ends of jobs to ${forward}${signed}; Ctrl-C ends it`);
      for await (const job of ends.read()) {
        const status = await deliver(context, { job, forward, secret });
        output.result({ job_id: job.job_id, type: job.type, status: job.status, answer: status }, lineOf(job, status));
        sent += 1;
        if (sent >= count) return;
      }
    } catch (error) {
      if (!signal.aborted && ends.open.length > 0) output.note(`${unheard(ends.open)} whose end is not forwarded`);
      throw error;
    } finally {
      stop.abort();
    }
  },
};

/** The first of these jobs, and how many there are. */
function unheard(ids: readonly string[]): string {
  const shown = ids.slice(0, shownMax).join(', ');
  return `${ids.length} jobs were followed (${shown}${ids.length > shownMax ? ', …' : ''})`;
}

function lineOf({ job_id, type, hash, status }: Job, answer: number | null): string {
  return `${job_id}  ${type}  ${hash}  ${status}  → ${answer ?? 'no answer'}`;
}

interface FollowOptions {
  readonly hash: string | undefined;
  readonly signal: AbortSignal;
  readonly note: (text: string) => void;
}

/** The jobs that end from now on, as they end. */
class JobEnds {
  readonly #client: Reelwright;
  readonly #options: FollowOptions;
  readonly #known = new Set<string>();
  readonly #waiting: string[] = [];
  readonly #ended: Job[] = [];
  readonly #followed = new Set<string>();
  #since = '';

  constructor(client: Reelwright, options: FollowOptions) {
    this.#client = client;
    this.#options = options;
  }

  /** The jobs whose end is not known yet. */
  get open(): readonly string[] {
    return [...this.#followed, ...this.#waiting];
  }

  async *read(): AsyncGenerator<Job> {
    const { signal } = this.#options;
    for (;;) {
      this.#since = await this.#findNew(this.#since);
      this.#follow();
      yield* this.#ended.splice(0);
      await sleep(pollMs, undefined, { signal });
    }
  }

  /** Takes the jobs that have not ended; `read` then finds those that are made later. */
  async begin(): Promise<void> {
    this.#since = await this.#newest();
    for (const status of ['processing', 'queued'] as const)
      for await (const job of this.#client.jobs({ status, limit: 100, ...this.#filter() })) this.#add(job);
  }

  async #newest(): Promise<string> {
    for await (const job of this.#client.jobs({ limit: 1, ...this.#filter() })) return job.created_at;
    return '';
  }

  /** Adds the jobs that were made since; when the newest was made. */
  async #findNew(since: string): Promise<string> {
    let newest = since;
    for await (const job of this.#client.jobs({ limit: 20, ...this.#filter() })) {
      // Jobs of one millisecond may come one after another.
      if (job.created_at < since) break;
      if (job.created_at === since && since !== '' && this.#isOld(job)) break;
      this.#add(job);
      if (job.created_at > newest) newest = job.created_at;
    }
    return newest;
  }

  #isOld(job: ListedJob): boolean {
    return this.#known.has(job.job_id) || (job.status !== 'queued' && job.status !== 'processing');
  }

  #add({ job_id: id }: ListedJob): void {
    if (this.#known.has(id)) return;
    this.#known.add(id);
    // Of so many, the oldest are not listed any more.
    const [oldest = ''] = this.#known;
    if (this.#known.size > knownMax) this.#known.delete(oldest);
    this.#waiting.push(id);
  }

  #follow(): void {
    while (this.#followed.size < followedMax) {
      const id = this.#waiting.shift();
      if (id === undefined) return;
      this.#followed.add(id);
      void this.#followOne(id);
    }
  }

  /** Follows a job to its end; one that was cancelled has no webhook. */
  async #followOne(id: string): Promise<void> {
    const { signal, note } = this.#options;
    try {
      this.#ended.push(await this.#client.waitFor(id, { signal }));
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof JobEndedError)) this.#interrupted(id, error as Error, note);
      else if (error.job.status !== 'cancelled') this.#ended.push(error.job);
    } finally {
      this.#followed.delete(id);
    }
  }

  /** A job that is refused is given up; any other is followed again. */
  #interrupted(id: string, error: Error, note: FollowOptions['note']): void {
    const isRefused = error instanceof ReelwrightError && error.status >= 400 && error.status < 500;
    if (!isRefused) this.#waiting.push(id);
    note(`job ${id} is ${isRefused ? 'not followed any longer' : 'followed again'}: ${error.message}`);
  }

  #filter(): { readonly hash?: string } {
    const { hash } = this.#options;
    return hash === undefined ? {} : { hash };
  }
}

interface Delivery {
  readonly job: Job;
  readonly forward: string;
  readonly secret: string;
}

/** Sends the webhook of a job; the status of the answer, or null when none came. */
async function deliver({ output, signal }: Context, { job, forward, secret }: Delivery): Promise<number | null> {
  const eventId = eventIdOf(job);
  const body = JSON.stringify({
    event_id: eventId,
    occurred_at: job.updated_at,
    job_id: job.job_id,
    type: job.type,
    hash: job.hash,
    status: job.status,
    results: job.results,
    ...(job.error === null ? {} : { error: job.error }),
  });
  for (let attempt = 1; ; attempt += 1) {
    const timestampSec = Math.floor(Date.now() / 1000);
    const signature = webhookSignatureHeaders({ body, eventId, timestampSec }, secret);
    try {
      const response = await fetch(forward, {
        method: 'POST',
        body,
        redirect: 'manual',
        headers: { 'content-type': 'application/json', ...signature },
        signal: AbortSignal.any([signal, AbortSignal.timeout(attemptMs)]),
      });
      await response.body?.cancel();
      if (response.ok || attempt >= attemptsMax) return response.status;
      output.note(`${forward} answered ${response.status}, sending again`);
    } catch (error) {
      signal.throwIfAborted();
      if (attempt >= attemptsMax) return null;
      output.note(`${forward} does not answer, sending again: ${(error as Error).message}`);
    }
    await sleep(attempt * 1000, undefined, { signal });
  }
}

/** The same for a job each time, so that a receiver sees a repeated webhook as one. */
function eventIdOf({ job_id: id }: Job): string {
  const hex = createHash('sha256').update(`listen ${id}`).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  );
}

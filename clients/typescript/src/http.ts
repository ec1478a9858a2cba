import { errorOf, ReelwrightError, retryAfterOf } from './errors.ts';

// Requests with bounded repetition: an answer 429 or 503 is waited for as `Retry-After` says, and a request whose
// repetition changes nothing is sent again after a broken connection.

export interface RetryOptions {
  /** Requests in all, the first one included; default 5. */
  readonly attempts?: number;
  /** Seconds that all waits of a request may take together; default 120. */
  readonly waitSecMax?: number;
}

export type Fetch = (request: Request) => Promise<Response>;

const firstPauseMs = 250;
const pauseMsMax = 8_000;

/** Statuses that say "later": the limit of requests, and an overload or a proxy without a service behind it. */
const isForLater = (status: number) => status === 429 || status === 502 || status === 503 || status === 504;
/** Safe to repeat: equal submissions are one job, and the other methods are idempotent. */
const isRepeatable = ({ method, url }: Request) =>
  method !== 'POST' || /\/api\/jobs(?:\/batch)?$|\/cancel$|\/complete$/.test(new URL(url).pathname);

/** A `fetch` that repeats requests within these bounds, and throws `ReelwrightError` where none is answered. */
export function retryingFetch(send: Fetch, { attempts = 5, waitSecMax = 120 }: RetryOptions = {}): Fetch {
  return async (request) => {
    let waitedMs = 0;
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await sendOnce(send, request);
      const isResponse = outcome instanceof Response;
      const isLater = isResponse ? isForLater(outcome.status) : isRepeatable(request);
      if (!isLater || attempt >= attempts) return answer(outcome, request);
      // A gateway may have passed the request on.
      if (isResponse && outcome.status !== 429 && outcome.status !== 503 && !isRepeatable(request)) return outcome;
      const asked = isResponse ? retryAfterOf(outcome) : null;
      const pauseMs = asked === null ? pauseOf(attempt) : asked * 1000;
      if (waitedMs + pauseMs > waitSecMax * 1000) return answer(outcome, request);
      if (isResponse) await outcome.body?.cancel();
      await sleep(pauseMs, request.signal);
      waitedMs += pauseMs;
    }
  };
}

/**
 * A `fetch` that follows no redirect: the API key is in every request, and `fetch` would send it to the other origin.
 *
 * @throws ReelwrightError that names the address
 */
export function refusingRedirects(send: Fetch): Fetch {
  return async (request) => {
    const response = await send(new Request(request, { redirect: 'manual' }));
    // A browser hides status and address of a redirect.
    if (response.type !== 'opaqueredirect' && !redirectStatuses.has(response.status)) return response;
    await response.body?.cancel();
    throw redirected(request.url, response);
  };
}

const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

function redirected(url: string, { status, headers }: Response): ReelwrightError {
  const location = headers.get('location') ?? '';
  const to = URL.canParse(location, url) ? new URL(location, url) : null;
  const target = to === null ? 'elsewhere' : `to ${to.origin}${to.pathname}`;
  const { origin } = new URL(url);
  return new ReelwrightError({
    code: 'unexpected_answer',
    status,
    detail: `${origin} redirects ${target}; the API key is not sent there: set baseUrl to the address of the service itself`,
  });
}

async function sendOnce(send: Fetch, request: Request): Promise<Response | Error> {
  try {
    return await send(request.clone());
  } catch (error) {
    request.signal.throwIfAborted();
    // An answer that no repetition changes.
    if (error instanceof ReelwrightError) throw error;
    return error instanceof Error ? error : new Error(String(error));
  }
}

function answer(outcome: Response | Error, { url }: Request): Response {
  if (outcome instanceof Response) return outcome;
  throw unreachable(url, outcome);
}

/** The error of a request that was not answered. */
export function unreachable(url: string, cause: unknown): ReelwrightError {
  const reasons = [cause, cause instanceof Error ? cause.cause : undefined].flatMap((error) =>
    error instanceof Error && error.message !== '' ? [error.message] : [],
  );
  const detail = `${new URL(url).origin} does not answer: ${reasons.join(': ') || 'no connection'}`;
  return new ReelwrightError({ code: 'unreachable', detail, cause });
}

/** Half to all of a doubling pause. */
export function pauseOf(attempt: number): number {
  return Math.min(pauseMsMax, firstPauseMs * 2 ** (attempt - 1)) * (0.5 + Math.random() / 2);
}

/** @throws the reason of `signal` as soon as it aborts */
export async function sleep(ms: number, signal?: AbortSignal | null): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', abort, { once: true });
  });
}

/** An answer as `openapi-fetch` gives it. */
interface Answered<Data> {
  readonly data?: Data;
  readonly error?: unknown;
  readonly response: Response;
}

/** The data of an answer, with the answer. @throws ReelwrightError for a refusal, or an answer that is not JSON */
export async function checked<Data>(sent: Promise<Answered<Data>>): Promise<{ data: Data; response: Response }> {
  const { data, error, response } = await sent.catch((failure: unknown) => {
    if (!(failure instanceof SyntaxError)) throw failure;
    throw new ReelwrightError({ code: 'unexpected_answer', detail: 'the answer is not JSON', cause: failure });
  });
  // An answer 204 has no data, and its type says so; no answer of the API is null.
  if (response.ok && ((data !== undefined && data !== null) || response.status === 204))
    return { data: data as Data, response };
  const text = typeof error === 'string' ? error : JSON.stringify(error ?? null);
  const { status, headers, url } = response;
  throw await errorOf(new Response(text, { status, headers }), url);
}

/** The same without the answer. */
export async function dataOf<Data>(sent: Promise<Answered<Data>>): Promise<Data> {
  return (await checked(sent)).data;
}

/** The JSON of an answer. @throws ReelwrightError for a refusal, or an answer that is not JSON */
export async function jsonOf<Answer>(response: Response): Promise<Answer> {
  if (!response.ok) throw await errorOf(response);
  const text = await response.text();
  try {
    return JSON.parse(text) as Answer;
  } catch (cause) {
    const detail = `${response.url} answered ${response.status} with something other than JSON`;
    throw new ReelwrightError({ code: 'unexpected_answer', detail, status: response.status, cause });
  }
}

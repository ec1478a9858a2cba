import { setTimeout as sleep } from 'node:timers/promises';
import { errors, Pool, request } from 'undici';

// Viewers of a stream, who request segments as hls.js does with its default settings: thirty seconds ahead, by one
// connection, and again after a failure.

const segmentMs = 6_000;
const aheadMs = 30_000;
/** `fragLoadPolicy` of hls.js. */
const policy = { firstByteMs: 10_000, timeoutRetries: 4, errorRetries: 6, retryMs: 1_000, retryMsMax: 8_000 };

/** One request for a segment. */
export interface SegmentRequest {
  /** By `performance.now()`, like `endedAtMs`. */
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  /** A status, `timeout`, or the code of the failed connection. */
  readonly outcome: string;
}

/** What a viewer has seen. */
export interface Viewing {
  readonly requests: readonly SegmentRequest[];
  /** How long nothing was there to play. */
  readonly stalledMs: number;
  /** Whether the player has shown an error and stopped. */
  readonly hasGivenUp: boolean;
}

/** Watches segments in order until `signal` aborts. */
export async function watch(segmentOf: (n: number) => string, signal: AbortSignal): Promise<Viewing> {
  const requests: SegmentRequest[] = [];
  const pool = new Pool(new URL(segmentOf(0)).origin, { connections: 1 });
  let [stalledMs, bufferedUntilMs, timeouts, failures] = [0, performance.now(), 0, 0];
  const hasGivenUp = () => timeouts > policy.timeoutRetries || failures > policy.errorRetries;
  for (let n = 0; !signal.aborted && !hasGivenUp();) {
    const startedAtMs = performance.now();
    const outcome = await load(segmentOf(n), pool);
    const endedAtMs = performance.now();
    requests.push({ startedAtMs, endedAtMs, outcome });
    let waitMs = 0;
    if (outcome === '200') {
      // The first one begins the playback.
      if (n > 0) stalledMs += Math.max(0, endedAtMs - bufferedUntilMs);
      bufferedUntilMs = Math.max(endedAtMs, bufferedUntilMs) + segmentMs;
      [n, timeouts, failures] = [n + 1, 0, 0];
      waitMs = bufferedUntilMs - endedAtMs - aheadMs;
    } else if (outcome === 'timeout') timeouts += 1;
    else {
      waitMs = Math.min(policy.retryMsMax, policy.retryMs * 2 ** failures);
      failures += 1;
    }
    if (waitMs > 0) await sleep(waitMs, undefined, { signal }).catch(() => undefined);
  }
  await pool.destroy();
  return { requests, stalledMs, hasGivenUp: hasGivenUp() };
}

async function load(url: string, dispatcher: Pool): Promise<string> {
  try {
    const { statusCode, body } = await request(url, { dispatcher, headersTimeout: policy.firstByteMs });
    await body.arrayBuffer();
    return String(statusCode);
  } catch (error) {
    if (error instanceof errors.HeadersTimeoutError) return 'timeout';
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
}

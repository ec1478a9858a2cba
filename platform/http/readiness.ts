import { untilAborted } from '#platform/concurrency/until-aborted.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Metrics } from '../telemetry/metrics.ts';

/** Checks by name; each rejects when its dependency cannot be reached. */
export type ReadinessChecks = Readonly<Record<string, (signal: AbortSignal) => Promise<void>>>;

const readinessTimeoutMs = 2000;

export interface ReadinessOptions {
  readonly checks: ReadinessChecks;
  readonly metrics: Pick<Metrics, 'readinessFailures'>;
  readonly log: Logger;
}

export interface FailedCheck {
  readonly check: string;
  /** Public: it names no address and no account. */
  readonly detail: string;
}

/** The checks that fail within two seconds, which are counted and logged; `detail` is public. */
export async function failedChecks({ checks, metrics, log }: ReadinessOptions): Promise<readonly FailedCheck[]> {
  const signal = AbortSignal.timeout(readinessTimeoutMs);
  const outcomes = await Promise.all(
    Object.entries(checks).map(async ([check, run]) => ({ check, failure: await checkFailure(run, signal) })),
  );
  return outcomes.flatMap(({ check, failure }) => {
    if (failure === null) return [];
    metrics.readinessFailures.inc({ check });
    log.warn({ check, err: failure.error }, 'readiness check failed');
    return { check, detail: failure.detail };
  });
}

/** Null when the check passed in time. `detail` is public, so it names no address and no account. */
async function checkFailure(
  run: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<{ detail: string; error: unknown } | null> {
  try {
    // A check that ignores its signal must not delay the response.
    await untilAborted(run(signal), signal);
    return null;
  } catch (error) {
    return { detail: signal.aborted ? `no answer within ${readinessTimeoutMs / 1000} s` : publicDetail(error), error };
  }
}

/** The innermost system code (`ECONNREFUSED`, `28P01`), else the error's name. */
function publicDetail(error: unknown): string {
  const codes: string[] = [];
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    const { code } = at as { code?: unknown };
    codes.push(typeof code === 'string' && /^[\w.-]{1,64}$/.test(code) ? code : at.name);
  }
  return codes.at(-1) ?? 'failed';
}

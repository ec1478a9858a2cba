import { ReelwrightError } from '../clients/typescript/src/index.ts';

/** The exit codes of `reelwright`, with what they mean (docs/guides/cli.md has this table). */
export const exitCodes = {
  done: [0, 'done'],
  failed: [1, 'an unexpected error'],
  usage: [2, 'wrong arguments or configuration; nothing was requested'],
  unreachable: [3, 'the service does not answer, or another program does'],
  refused: [4, 'the API key, a token or a signature is refused'],
  notFound: [5, 'there is no such job or media, or it was deleted'],
  invalid: [6, 'the request is not valid, or its source is missing, too large or of another kind'],
  conflict: [7, 'the state of the job, upload or media does not allow it'],
  busy: [8, 'too many requests, an overload that lasts, or `--timeout` has passed'],
  jobFailed: [10, 'the job that was waited for has failed'],
  jobCancelled: [11, 'the job that was waited for was cancelled'],
  unhealthy: [12, '`doctor` found a fault'],
  interrupted: [130, 'Ctrl-C'],
} as const satisfies Record<string, readonly [number, string]>;
type Exit = keyof typeof exitCodes;

/** The exit of each code of an error that is no job's. */
export const exitOfCode: Readonly<Record<string, Exit>> = {
  unreachable: 'unreachable',
  unexpected_answer: 'unreachable',
  unauthorized: 'refused',
  forbidden: 'refused',
  invalid_signature: 'refused',
  not_found: 'notFound',
  media_deleted: 'notFound',
  invalid_json: 'invalid',
  invalid_request: 'invalid',
  source_missing: 'invalid',
  source_too_large: 'invalid',
  body_too_large: 'invalid',
  unsupported: 'invalid',
  unsupported_media_type: 'invalid',
  unreadable_image: 'invalid',
  method_not_allowed: 'invalid',
  not_configured: 'invalid',
  conflict: 'conflict',
  not_retryable: 'conflict',
  upload_conflict: 'conflict',
  upload_mismatch: 'conflict',
  rate_limited: 'busy',
  busy: 'busy',
  timeout: 'busy',
  internal_error: 'failed',
};

/** Wrong arguments or configuration of this program: the message says what was expected. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export function exitCode(exit: Exit): number {
  return exitCodes[exit][0];
}

/** The exit code of an error, and of the job that was waited for. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError) return exitCode('usage');
  if (!(error instanceof ReelwrightError)) return exitCode('failed');
  if (error.name === 'JobEndedError') return exitCode(error.code === 'cancelled' ? 'jobCancelled' : 'jobFailed');
  return exitCode(exitOfCode[error.code] ?? 'failed');
}

import { retryAfterMs } from '#domain/retry-after.ts';
import { fitText } from '#domain/text.ts';

/** As much of a refusal as is of use in a log. */
const messageMax = 4096;

/**
 * The longest wait that an answer is granted. An API server asks for seconds; while the controller waits for longer, as
 * a proxy may ask by mistake, it notices no change of any object.
 */
const waitMsMax = 5 * 60_000;

/**
 * Why a request failed, in one word. Most come from the API server (`reason` of its Status, see the API conventions of
 * Kubernetes); two are ours: `Unreachable` (no answer) and `Deadline` (no answer in time).
 */
export type KubeReason =
  | 'AlreadyExists'
  | 'BadRequest'
  | 'Conflict'
  | 'Expired'
  | 'Forbidden'
  | 'Gone'
  | 'InternalError'
  | 'Invalid'
  | 'MethodNotAllowed'
  | 'NotFound'
  | 'ServerTimeout'
  | 'ServiceUnavailable'
  | 'Timeout'
  | 'TooManyRequests'
  | 'Unauthorized'
  | 'Unreachable'
  | 'Deadline'
  | 'Unknown';

/** One field that the API server refused, as its Status names it. */
export interface KubeErrorCause {
  field?: string;
  reason?: string;
  message?: string;
}

/** The body of an API server's refusal, and of the ERROR event of a watch. */
export interface KubeStatus {
  kind?: string;
  code?: number;
  reason?: string;
  message?: string;
  details?: { causes?: KubeErrorCause[]; retryAfterSeconds?: number };
}

/** A request that the API server refused or did not answer. An abort by the caller is another error. */
export class KubeError extends Error {
  override readonly name = 'KubeError';
  /** The HTTP status, or 0 without an answer. */
  readonly status: number;
  readonly reason: KubeReason;
  /** The delay that the server asks for (its `Retry-After`), in milliseconds, five minutes at most. */
  readonly retryAfterMs: number | undefined;
  /** The refused fields, when the server named them. */
  readonly causes: readonly KubeErrorCause[];

  constructor(
    message: string,
    fault: {
      status: number;
      reason: KubeReason;
      retryAfterMs?: number | undefined;
      causes?: readonly KubeErrorCause[];
    },
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.status = fault.status;
    this.reason = fault.reason;
    this.retryAfterMs = fault.retryAfterMs;
    this.causes = fault.causes ?? [];
  }

  /**
   * From a refusal: the HTTP status, its body where that is a Status, and its `Retry-After`. `what` is the request in
   * words for the message, as in `create jobs media/mj-1`.
   */
  static ofStatus(what: string, status: number, body: KubeStatus | undefined, retryAfter?: string): KubeError {
    // A proxy may answer with JSON of its own.
    const message: unknown = body?.message;
    const reason = typeof message === 'string' ? fitText(message, messageMax) : 'without a reason';
    return new KubeError(`${what}: ${status} ${reason}`, {
      status,
      reason: knownReason(body?.reason) ?? reasonByStatus[status] ?? 'Unknown',
      retryAfterMs: waitMsOf(retryAfter ?? body?.details?.retryAfterSeconds),
      causes: Array.isArray(body?.details?.causes) ? body.details.causes : [],
    });
  }
}

/** The wait that a header or a body asks for, within its limit. */
function waitMsOf(asked: unknown): number | undefined {
  if (typeof asked !== 'string' && typeof asked !== 'number') return undefined;
  return Math.min(retryAfterMs(String(asked), new Date()), waitMsMax) || undefined;
}

/** Whether this is a `KubeError` for one of these reasons. */
export function hasReason(error: unknown, ...reasons: KubeReason[]): error is KubeError {
  return error instanceof KubeError && reasons.includes(error.reason);
}

/** Whether a watch or a list cannot continue and everything must be listed again. */
export function isExpired(error: unknown): boolean {
  return error instanceof KubeError && (error.status === 410 || hasReason(error, 'Expired', 'Gone'));
}

// The API server nearly always gives a reason; a proxy or load balancer in front of it gives a status alone.
const reasonByStatus: Partial<Record<number, KubeReason>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  409: 'Conflict',
  410: 'Gone',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

const knownReasons = new Set<string | undefined>([
  ...Object.values(reasonByStatus),
  'AlreadyExists',
  'Expired',
  'ServerTimeout',
]);

function knownReason(reason: string | undefined): KubeReason | undefined {
  return knownReasons.has(reason) ? (reason as KubeReason) : undefined;
}

/** Throws `error` unless the object was deleted, or its name belongs to another object. */
export function unlessDeleted(error: unknown): void {
  if (!hasReason(error, 'NotFound', 'Conflict')) throw error;
}

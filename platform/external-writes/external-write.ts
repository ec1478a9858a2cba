/** A write that outlives this process: what it changes is in another system. */
export interface ExternalWrite {
  readonly kind: 'sql' | 'ticket' | 'object' | 'kubernetes' | 'webhook';
  /** The name of the write for people: the statement, `put KEY`, `create pods NAMESPACE/NAME`. */
  readonly name: string;
}

/** Stands between a write and its system. It sends once, never, or later, and may fail after it has sent. */
export type WriteInterceptor = <T>(write: ExternalWrite, send: () => Promise<T>) => Promise<T>;

let interceptor: WriteInterceptor | null = null;

/**
 * Every write to Postgres, the queue, a bucket, Kubernetes or a receiver of webhooks passes here, so that one test can
 * list them all, and crash, fail or delay each (testing/faults). A test fails when a client is used around it.
 */
export function externalWrite<T>(write: () => ExternalWrite, send: () => Promise<T>): Promise<T> {
  return interceptor === null ? send() : interceptor(write(), send);
}

/** For tests alone: no program of ours calls it. */
export function interceptWrites(next: WriteInterceptor): void {
  interceptor = next;
}

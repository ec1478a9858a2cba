/**
 * Resolves as `promise` does, unless it takes longer than `timeoutMs`. The promise is not cancelled; a failure that
 * comes after the timeout is dropped.
 *
 * @throws Error with `message` at the timeout
 */
export async function withTimeout<T>(promise: Promise<T>, timeoutMs: number, message: string): Promise<T> {
  const timeout = Promise.withResolvers<never>();
  const timer = setTimeout(() => timeout.reject(new Error(`${message} within ${timeoutMs} ms`)), timeoutMs);
  try {
    return await Promise.race([promise, timeout.promise]);
  } finally {
    clearTimeout(timer);
  }
}

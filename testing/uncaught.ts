import { onTestFinished } from 'vitest';

/** The uncaught errors of this process from now on, until the test has finished; each would end a program. */
export function collectUncaught(): readonly unknown[] {
  const errors: unknown[] = [];
  const note = (error: unknown) => errors.push(error);
  process.on('uncaughtException', note);
  onTestFinished(() => void process.off('uncaughtException', note));
  return errors;
}

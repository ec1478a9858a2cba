import type { Logger } from '../telemetry/logger.ts';

/**
 * Aborts at the first SIGTERM or SIGINT, and at an uncaught error, which sets the exit code 1. A second signal ends the
 * process at once, with the exit code 130. Installs its listeners on the process, so a program calls it once.
 */
export function stopSignal(log: Logger): AbortSignal {
  const stopping = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT'] as const) {
    process.on(name, () => {
      if (stopping.signal.aborted) process.exit(130);
      log.info({ signal: name }, 'stopping');
      stopping.abort();
    });
  }
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error: unknown) => {
      log.fatal({ err: error, event }, 'uncaught error');
      process.exitCode = 1;
      stopping.abort();
    });
  }
  return stopping.signal;
}

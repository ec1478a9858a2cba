import { type DestinationStream, pino } from 'pino';
import { redact } from '#domain/redact.ts';
import { maskFields } from './mask-fields.ts';

/** pino's logger, as far as it is used here: `child`, `debug`, `info`, `warn`, `error`, each `(fields, message)`. */
export type Logger = pino.Logger;

/** `silent` writes nothing. */
export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

export interface LoggerOptions {
  readonly level: LogLevel;
  /** The program, in the field `name` of each line. */
  readonly name: string;
  /** Standard error by default; standard output belongs to reports. */
  readonly destination?: DestinationStream;
}

/**
 * A logger of JSON lines: `level` as a word, `time` in ISO 8601, `name`, `msg`, and the fields given. Fields whose
 * names look like a secret's are masked at any depth, and every text is redacted.
 */
export function createLogger({ level, name, destination }: LoggerOptions): Logger {
  const logger = pino(
    {
      level,
      base: { name },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: maskFields },
      // Errors are spelt out by maskFields; pino's own way would put the message of the cause into a message.
      serializers: { err: (masked: unknown) => masked },
      hooks: {
        logMethod(args, method) {
          const [first, ...rest] = args as unknown[];
          const spelt = first instanceof Error ? [{ err: first }, first.message, ...rest] : [first, ...rest];
          const masked = spelt.map((arg) => (typeof arg === 'string' ? redact(arg) : arg));
          method.apply(this, masked as typeof args);
        },
      },
    },
    destination ?? standardError(),
  );
  return withMaskedChildren(logger);
}

/** Lines that cannot be written are kept up to this many bytes. */
const unwrittenMax = 1024 * 1024;

/**
 * Writes synchronously: the last line before an exit is the one that is needed. Where standard error is a file on a
 * full disk, lines are lost and their callers go on.
 */
function standardError(): DestinationStream {
  const destination = pino.destination({ dest: 2, sync: true, maxLength: unwrittenMax });
  destination.on('error', () => undefined);
  return destination;
}

/** pino does not ask its formatters about the fields of a child. A child inherits this, and so do its own. */
function withMaskedChildren(logger: Logger): Logger {
  // oxlint-disable-next-line typescript/unbound-method -- it is called with the `this` that it has
  const { child } = logger;
  logger.child = function maskedChild(this: Logger, bindings: object, options?: object) {
    return child.call(this, maskFields(bindings), options);
  } as Logger['child'];
  return logger;
}

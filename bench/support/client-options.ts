import { z } from 'zod';

// What the processes of clients are started with, and what they print.

/** Of hostile-clients.ts. */
export const hostileOptionsSchema = z.object({
  host: z.string(),
  port: z.number(),
  /** Their address. */
  from: z.string(),
  /** How many read ranges slowly, and of which large objects. */
  slowReaders: z.number(),
  rangePaths: z.array(z.string()).min(1),
  /** Requests whose head never ends, opened in a second. */
  halfSentPerSecond: z.number(),
  /** How many ask for images, each of them for one after another. */
  imageClients: z.number(),
  imagePaths: z.array(z.string()).min(1),
});
export type HostileOptions = z.infer<typeof hostileOptionsSchema>;

/** Of idle-clients.ts. */
export const idleOptionsSchema = z.object({
  port: z.number(),
  path: z.string(),
  /** Of 127.0.0.0/8, in turn. */
  addresses: z.array(z.string()).min(1),
  connections: z.number(),
});
export type IdleOptions = z.infer<typeof idleOptionsSchema>;

/** How long paced-reader.ts plays before it measures: a program that was just started is slow itself. */
export const unmeasuredSeconds = 3;

/** Of paced-reader.ts. */
export const pacedOptionsSchema = z.object({
  port: z.number(),
  from: z.string(),
  perSecond: z.number(),
  seconds: z.number(),
  /** By kind; the kinds take turns, and the requests of each go round. */
  requests: z.record(z.string(), z.array(z.object({ path: z.string(), token: z.string().optional() })).min(1)),
});
export type PacedOptions = z.infer<typeof pacedOptionsSchema>;

/** What is printed: milliseconds of each kind, and what was wrong with the answers that were no 200. */
export const pacedOutcomeSchema = z.object({
  ms: z.record(z.string(), z.array(z.number())),
  failures: z.array(z.string()),
});
export type PacedOutcome = z.infer<typeof pacedOutcomeSchema>;

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Metrics } from '#platform/telemetry/metrics.ts';

/** Counts the bytes that are written for a response, when it ends or its client leaves. */
export function countStreamBytes(
  { socket }: IncomingMessage,
  response: ServerResponse,
  { streamBytes }: Pick<Metrics, 'streamBytes'>,
): void {
  const before = socket.bytesWritten;
  response.once('close', () => streamBytes.inc(Math.max(0, socket.bytesWritten - before)));
}

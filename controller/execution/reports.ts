import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { progressOf } from '#domain/jobs/progress.ts';
import { parseReport } from '#domain/work/report.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';

// Runner pods send `POST /reports/<job id>/<attempt>`, one report as JSON. No state depends on progress. A token is
// valid for one attempt.

/** The attempt that a report describes. */
interface Attempt {
  readonly jobId: string;
  readonly attempt: number;
}

/** The secret that signs report tokens: derived, so that every worker has the same one without another setting. */
export function reportSecretOf(webhookSecret: string): Buffer {
  return Buffer.from(hkdfSync('sha256', webhookSecret, '', 'reports/v1', 32));
}

/** The token of an attempt's runner. */
export function reportTokenOf({ jobId, attempt }: Attempt, secret: Buffer): string {
  return tokenOf(`${jobId}:${attempt}`, secret);
}

/** A token that is valid for `subject` alone. */
export function tokenOf(subject: string, secret: Buffer): string {
  return createHmac('sha256', secret).update(subject).digest('base64url');
}

export interface ReportDependencies {
  readonly jobs: Pick<JobStore, 'report'>;
  readonly webhookSecret: string;
}

/** Handles a request under `/reports/`. */
export type ReportHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

const reportBytesMax = 16 * 1024;

/** Answers `/reports/…`: 204 for a valid report, whether it changed the job or not. */
export function reportHandler({ jobs, webhookSecret }: ReportDependencies): ReportHandler {
  const secret = reportSecretOf(webhookSecret);
  return async (request, response) => {
    const status = await receive(request, { jobs, secret });
    response.writeHead(status, { 'cache-control': 'no-store' }).end();
  };
}

/** Records the report; returns the HTTP status of the answer. */
async function receive(
  request: IncomingMessage,
  { jobs, secret }: { jobs: Pick<JobStore, 'report'>; secret: Buffer },
): Promise<number> {
  const [, jobId = '', digits = ''] = /^\/reports\/([0-9a-f-]{36})\/(\d{1,9})$/.exec(request.url ?? '') ?? [];
  const attempt = { jobId, attempt: Number(digits) };
  if (request.method !== 'POST') return 405;
  if (jobId === '' || !isToken(request.headers.authorization, reportTokenOf(attempt, secret))) return 403;
  const body = await bodyOf(request);
  const report = body === null ? null : parseReport(body);
  if (report === null) return 400;
  if (report.type === 'phase' || report.type === 'progress') {
    const fraction = report.type === 'phase' ? 0 : report.fraction;
    await jobs.report({ ...attempt, phase: report.phase, progress: progressOf(report.phase, fraction) });
  }
  return 204;
}

/** Whether a request's header has the token, compared in constant time. */
export function isToken(header: string | undefined, token: string): boolean {
  const given = Buffer.from(header ?? '');
  const expected = Buffer.from(`Bearer ${token}`);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** The body; null when it is longer than `reportBytesMax`. */
export async function bodyOf(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > reportBytesMax) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { progressOf } from '#domain/jobs/progress.ts';
import { parseReport } from '#domain/runner/report.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';

// Runner pods POST their reports here: `POST /reports/<job id>/<attempt>`, one report as JSON. Progress is advice, so
// that losing all of it loses nothing, and a token is good for telling it of one attempt alone.

/** The attempt that reports are about. */
interface Attempt {
  readonly jobId: string;
  readonly attempt: number;
}

/** The secret that signs report tokens: derived, so that every worker has it and none is to be configured. */
export function reportSecretOf(webhookSecret: string): Buffer {
  return Buffer.from(hkdfSync('sha256', webhookSecret, '', 'reports/v1', 32));
}

/** The token of an attempt's runner. */
export function reportTokenOf({ jobId, attempt }: Attempt, secret: Buffer): string {
  return createHmac('sha256', secret).update(`${jobId}:${attempt}`).digest('base64url');
}

export interface ReportDependencies {
  readonly jobs: Pick<JobStore, 'report'>;
  readonly webhookSecret: string;
}

/** Handles a request under `/reports/`. */
export type ReportHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

const reportBytesMax = 16 * 1024;

/** What answers `/reports/…`: 204 for a report, whether it was news or not. */
export function reportHandler({ jobs, webhookSecret }: ReportDependencies): ReportHandler {
  const secret = reportSecretOf(webhookSecret);
  return async (request, response) => {
    const status = await take(request, { jobs, secret });
    response.writeHead(status, { 'cache-control': 'no-store' }).end();
  };
}

/** The HTTP status that a report is answered with. */
async function take(
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

function isToken(header: string | undefined, token: string): boolean {
  const given = Buffer.from(header ?? '');
  const wanted = Buffer.from(`Bearer ${token}`);
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

/** The body; null when it is too long. */
async function bodyOf(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > reportBytesMax) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

import { existsSync, writeFileSync } from 'node:fs';
import type { Report } from '#domain/work/report.ts';

// Further destinations of a pod's reports: the worker, by POST, and for the result of a step the termination message of
// its container.

/** The kubelet truncates longer messages, and a truncated report cannot be parsed. */
const messageBytesMax = 4096;

/** Longer than what a step has used so far, which is known of a container that is killed. */
const usedBytes = 1024;

/** Writes the result of a step, or what it has used so far, to `path`, which the kubelet mounted. */
export function writeTerminationMessage(path: string, report: Report): void {
  if ((report.type !== 'result' && report.type !== 'used') || !existsSync(path)) return;
  // One write of the same length: a kill never leaves half of it behind.
  if (report.type === 'used') return writeFileSync(path, JSON.stringify(report).padEnd(usedBytes), { flag: 'r+' });
  const whole = JSON.stringify(report);
  if (Buffer.byteLength(whole) <= messageBytesMax || report.error === null) return writeFileSync(path, whole);
  const { details: _details, ...error } = report.error;
  writeFileSync(path, JSON.stringify({ ...report, error }));
}

const postTimeoutMs = 2_000;

/** POSTs reports to a worker. A report that does not arrive is lost; while one is being sent, only the newest waits. */
export class ReportPoster {
  readonly #url: string;
  readonly #token: string;
  #newest: Report | null = null;
  #posting: Promise<void> | null = null;

  constructor({ url, token }: { url: string; token: string }) {
    this.#url = url;
    this.#token = token;
  }

  post(report: Report): void {
    if (report.type !== 'phase' && report.type !== 'progress') return;
    this.#newest = report;
    this.#posting ??= this.#postAll();
  }

  /** Resolves when no request is in flight: within the time limit of one report. */
  async settled(): Promise<void> {
    this.#newest = null;
    await this.#posting;
  }

  async #postAll(): Promise<void> {
    while (this.#newest !== null) {
      const report = this.#newest;
      this.#newest = null;
      await this.#postOne(report).catch(() => undefined);
    }
    this.#posting = null;
  }

  async #postOne(report: Report): Promise<void> {
    const response = await fetch(this.#url, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.#token}`, 'content-type': 'application/json' },
      body: JSON.stringify(report),
      redirect: 'error',
      signal: AbortSignal.timeout(postTimeoutMs),
    });
    await response.arrayBuffer();
  }
}

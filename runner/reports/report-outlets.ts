import { existsSync, writeFileSync } from 'node:fs';
import type { Report } from '#domain/work/report.ts';

// Further destinations of a pod's reports: the worker, by POST, and for the error of a failed step the pod's
// termination message.

/** The kubelet truncates longer messages, and a truncated report cannot be parsed. */
const messageBytesMax = 4096;

/** Writes the error of a failed step to `path`, which the kubelet mounted. */
export function writeTerminationMessage(path: string, report: Report): void {
  if (report.type !== 'result' || report.error === null || !existsSync(path)) return;
  const { details: _details, ...error } = report.error;
  const whole = JSON.stringify(report);
  writeFileSync(path, Buffer.byteLength(whole) <= messageBytesMax ? whole : JSON.stringify({ type: 'result', error }));
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

import { existsSync, writeFileSync } from 'node:fs';
import type { Report } from '#domain/runner/report.ts';

// Where reports go beside standard output, when the runner is a pod: to the worker, by POST, and the last word of a step
// that failed into the pod's own status, as its termination message.

/** The kubelet cuts a message off here; half a report is none. */
const messageBytesMax = 4096;

/** Leaves why a step failed in `path`, which the kubelet mounted. */
export function leaveTerminationMessage(path: string, report: Report): void {
  if (report.type !== 'result' || report.error === null || !existsSync(path)) return;
  const { details: _details, ...error } = report.error;
  const whole = JSON.stringify(report);
  writeFileSync(path, Buffer.byteLength(whole) <= messageBytesMax ? whole : JSON.stringify({ type: 'result', error }));
}

const postTimeoutMs = 2_000;

/** POSTs reports to a worker. They are advice: what does not arrive is lost, and only the newest waits its turn. */
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

  /** Resolves when nothing is under way any more; at most one report's time. */
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
    const answer = await fetch(this.#url, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.#token}`, 'content-type': 'application/json' },
      body: JSON.stringify(report),
      redirect: 'error',
      signal: AbortSignal.timeout(postTimeoutMs),
    });
    await answer.arrayBuffer();
  }
}

import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { Component } from '../lifecycle/component.ts';
import { failedChecks, type ReadinessOptions } from './readiness.ts';

/** A kubelet has one connection at a time. */
const connectionsMax = 64;
/** Longer than a kubelet waits: what arrived while the process stood still is answered, not refused as late. */
const timeouts = { headersTimeout: 10_000, requestTimeout: 10_000, connectionsCheckingInterval: 1_000 };

interface ProbeListenerOptions extends ReadinessOptions {
  readonly config: { readonly host: string; readonly probePort: number };
  /**
   * The checks that make this process unready: `always`, or until they have passed `once`. After that, an outage of the
   * dependency concerns all processes and not this one.
   */
  readonly required: Readonly<Record<string, 'always' | 'once'>>;
}

/**
 * `/healthz` and `/readyz` on a port of their own, so that clients of the main port cannot delay probes. `/readyz` runs
 * and counts all checks, and fails by the required ones alone. The port closes while the main one still completes its
 * responses.
 */
export function probeListener({ config, required, ...readiness }: ProbeListenerOptions): Component {
  const reached = new Set<string>();
  const server = createServer(timeouts, ({ url, method }, response) => {
    if (method !== 'GET' && method !== 'HEAD') answer(response, 405, 'method not allowed');
    else if (url === '/healthz') answer(response, 200, 'OK');
    else if (url === '/readyz') void answerReadiness(response);
    else answer(response, 404, 'not found');
  });
  server.maxConnections = connectionsMax;
  const answerReadiness = async (response: ServerResponse) => {
    const failures = await failedChecks(readiness);
    for (const check of Object.keys(required)) if (!failures.some((it) => it.check === check)) reached.add(check);
    const unfit = failures.find(
      ({ check }) => required[check] === 'always' || (check in required && !reached.has(check)),
    );
    if (unfit === undefined) answer(response, 200, 'OK');
    else answer(response, 503, `not ready: ${unfit.check}: ${unfit.detail}`);
  };
  return {
    name: 'probe listener',
    async start() {
      server.listen(config.probePort, config.host);
      await once(server, 'listening');
    },
    stop() {
      server.close();
      server.closeAllConnections();
      return Promise.resolve();
    },
  };
}

function answer(response: ServerResponse, status: number, text: string): void {
  const contentType = 'text/plain; charset=utf-8';
  response.writeHead(status, { 'content-type': contentType, 'content-length': Buffer.byteLength(text) }).end(text);
}

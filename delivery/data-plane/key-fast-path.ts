import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Metrics } from '#platform/telemetry/metrics.ts';
import { corsHeaders } from '../cors.ts';
import { exposedHeaders, type KeyAccess, type KeyDecision } from '../keys/key-access.ts';
import { FastAnswers } from './fast-answers.ts';

const plainHeaders = Object.entries({
  ...corsHeaders(exposedHeaders),
  'cache-control': 'no-store',
  'content-type': 'application/octet-stream',
}).flat();

interface KeyFastPathDependencies {
  readonly access: KeyAccess;
  readonly metrics: Metrics;
}

type PassOn = (learnt: KeyDecision | Error) => void;

/** The fast path of content keys: one that is cached. The framework answers refusals, by what was decided here. */
export class KeyFastPath {
  readonly prefix = '/api/key/';
  readonly #dependencies: KeyFastPathDependencies;
  readonly #answers: FastAnswers;

  constructor(dependencies: KeyFastPathDependencies) {
    this.#dependencies = dependencies;
    this.#answers = new FastAnswers(dependencies.metrics, '/api/key/{hash}');
  }

  take(request: IncomingMessage, response: ServerResponse, passOn: PassOn): boolean {
    const hash = (request.url ?? '').slice(this.prefix.length);
    if (!this.#dependencies.access.isCached(hash)) return false;
    void this.#answer(request, response, { hash, passOn });
    return true;
  }

  async #answer(
    request: IncomingMessage,
    response: ServerResponse,
    { hash, passOn }: { readonly hash: string; readonly passOn: PassOn },
  ): Promise<void> {
    const startedAtMs = performance.now();
    const decision = await this.#dependencies.access.decide(request, hash).catch((error: Error) => error);
    if (response.destroyed) return;
    if (!('key' in decision)) return passOn(decision);
    const { key, headers } = decision;
    const head = [...plainHeaders, 'x-trace-id', this.#answers.begin(request, response, startedAtMs)];
    for (const [name, value] of Object.entries(headers)) head.push(name, value);
    head.push('content-length', String(key.key.length));
    response.writeHead(200, head);
    response.end(key.key.toString('latin1'), 'latin1');
    this.#dependencies.metrics.keyRequests.inc({ outcome: 'served' });
  }
}

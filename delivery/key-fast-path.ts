import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { ContentKey } from '#domain/playback/content-key.ts';
import { addFastPath, FastAnswers } from './fast-path.ts';
import { type CheckedToken, checkToken, exposedHeaders, type KeyDependencies, keyLimit } from './key-access.ts';
import { corsHeaders } from './cors.ts';

// The fast path of content keys: a key that is remembered, for a token that holds and is within its limit. Everything
// else goes to the framework, which then counts the request again; above the limit another hit changes nothing.

const prefix = '/api/key/';
const route = '/api/key/{hash}';
const plainHeaders = Object.entries({
  ...corsHeaders(exposedHeaders),
  'cache-control': 'no-store',
  'content-type': 'application/octet-stream',
}).flat();

export function addKeyFastPath(app: FastifyInstance, dependencies: KeyDependencies): void {
  const { keys, limiter, metrics, config } = dependencies;
  const answers = new FastAnswers(metrics, route);
  const limit = keyLimit(config);

  const answer = async (request: IncomingMessage, response: ServerResponse, { key, bucket, passOn }: KeyAnswer) => {
    const startedAtMs = performance.now();
    const counted = await limiter.count(limit, bucket);
    if (response.destroyed) return;
    if (counted.isExceeded) return passOn();
    const head = [...plainHeaders, 'x-trace-id', answers.begin(request, response, startedAtMs)];
    for (const [name, value] of Object.entries(counted.headers)) head.push(name, value);
    head.push('content-length', String(key.key.length));
    response.writeHead(200, head);
    response.end(key.key.toString('latin1'), 'latin1');
    metrics.keyRequests.inc({ outcome: 'served' });
  };

  addFastPath(app, prefix, (request, response, passOn) => {
    const hash = (request.url ?? '').slice(prefix.length);
    const key = keys.kept(hash);
    const token: CheckedToken | null = key === null ? null : checkToken(request, hash, dependencies);
    if (key === null || token?.verdict !== 'valid') return false;
    void answer(request, response, { key, bucket: token.bucket, passOn });
    return true;
  });
}

interface KeyAnswer {
  readonly key: ContentKey;
  readonly bucket: string;
  readonly passOn: () => void;
}

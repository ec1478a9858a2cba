import type { IncomingMessage, ServerResponse } from 'node:http';
import { LRUCache } from 'lru-cache';
import { storedContentType } from '#domain/media/content-types.ts';
import type { ThumbQuery } from '#domain/playback/thumb-options.ts';
import { thumbCacheKey, type ThumbVariant } from '#domain/playback/thumb-variant.ts';
import type { Metrics } from '#platform/telemetry/metrics.ts';
import { corsHeaders } from '../cors.ts';
import { FastAnswers } from './fast-answers.ts';
import { exposedHeaders, thumbCacheControl } from '../images/thumb-headers.ts';
import type { ThumbMaker } from '../images/thumb-maker.ts';

// The fast path of images in memory, at addresses whose signature was verified before.

const plainHeaders = Object.entries(corsHeaders(exposedHeaders)).flat();
const addressesMax = 20_000;

interface ThumbFastPathDependencies {
  readonly thumbs: ThumbMaker;
  readonly metrics: Metrics;
  readonly clock: () => Date;
}

interface KnownAddress {
  readonly cacheKey: string;
  readonly query: Pick<ThumbQuery, 'exp' | 'preset'>;
  /** Names and values in turn. */
  readonly headers: readonly string[];
}

/** Addresses whose signature holds; whether they have expired is asked each time. */
export class ThumbFastPath {
  readonly #dependencies: ThumbFastPathDependencies;
  readonly #answers: FastAnswers;
  readonly #addresses = new LRUCache<string, KnownAddress>({ max: addressesMax });

  constructor(dependencies: ThumbFastPathDependencies) {
    this.#dependencies = dependencies;
    this.#answers = new FastAnswers(dependencies.metrics, '/thumb/{sig}/{encoded_key}');
  }

  /** Remembers an address that was answered with an image. */
  remember(url: string, variant: ThumbVariant, query: ThumbQuery): void {
    // The format depends on the request too, and a source may be written again.
    if (query.f === 'auto' || query.from !== undefined) return;
    const headers = [...plainHeaders, 'content-type', storedContentType(`.${variant.format}`)];
    this.#addresses.set(url, { cacheKey: thumbCacheKey(variant), query, headers });
  }

  take(request: IncomingMessage, response: ServerResponse): boolean {
    const address = this.#addresses.get(request.url ?? '');
    if (address === undefined) return false;
    const cacheControl = thumbCacheControl(address.query, this.#dependencies.clock);
    const thumb = cacheControl === null ? null : this.#dependencies.thumbs.cached(address.cacheKey);
    if (cacheControl === null || thumb === null) return false;
    const head = [...address.headers, 'x-trace-id', this.#answers.begin(request, response, performance.now())];
    head.push('cache-control', cacheControl, 'etag', thumb.etag, 'content-length', String(thumb.bytes.length));
    response.writeHead(200, head);
    response.end(thumb.bytes);
    return true;
  }
}

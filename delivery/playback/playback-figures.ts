import type { IncomingMessage, ServerResponse } from 'node:http';
import { readCmcd, type PlayerState } from '#domain/playback/cmcd.ts';
import { mediaOfAddress } from '#domain/playback/media-address.ts';
import { addSession, emptySketch, type SessionSketch } from '#domain/playback/session-sketch.ts';
import { throughputRange, throughputRanges } from '#domain/playback/throughput-counts.ts';
import type { Metrics } from '#platform/telemetry/metrics.ts';

// What players say of their state (C34.1 to C34.4, C34.9): metrics of all media together, and a digest of each media, which is
// taken and written every few seconds. A session's id is counted and forgotten, and no address is read.

/** A digest takes about a kilobyte. */
const mediaMaxDefault = 5_000;

/** The figures that players gave of one media since digests were taken. */
export interface PlaybackDigest {
  requests: number;
  starved: number;
  readonly sessions: SessionSketch;
  /** Requests by their measured throughput (domain/playback/throughput-counts.ts). */
  readonly throughputs: Uint32Array;
}

export type PlaybackDigests = ReadonlyMap<string, PlaybackDigest>;

type PlaybackMetrics = Pick<
  Metrics,
  | 'playbackRequests'
  | 'playbackStartupRequests'
  | 'playbackBuffer'
  | 'playbackThroughputRatio'
  | 'playbackStartDelay'
  | 'playbackDropped'
>;

/** Answers to players that got what they asked for: only then there is such a media. */
const statuses: ReadonlySet<number> = new Set([200, 206, 304]);

export class PlaybackFigures {
  readonly #metrics: PlaybackMetrics;
  readonly #mediaMax: number;
  #digests = new Map<string, PlaybackDigest>();

  constructor({
    metrics,
    mediaMax = mediaMaxDefault,
  }: {
    readonly metrics: PlaybackMetrics;
    readonly mediaMax?: number;
  }) {
    this.#metrics = metrics;
    this.#mediaMax = mediaMax;
  }

  /** Counts a request for an object of a stream, once its response has ended. */
  note({ url = '', headers }: Pick<IncomingMessage, 'url' | 'headers'>, response: SentResponse): void {
    if (!response.headersSent || !statuses.has(response.statusCode)) return;
    const state = readCmcd(url, headers);
    const hash = state === null ? null : mediaOfAddress(url);
    if (state === null || hash === null) return;
    this.#observe(state);
    const digest = this.#digestOf(hash);
    if (digest === null) this.#metrics.playbackDropped.inc();
    else addState(digest, state);
  }

  /** The digests so far, which begin anew. */
  take(): PlaybackDigests {
    const taken = this.#digests;
    this.#digests = new Map();
    return taken;
  }

  /** Adds digests that could not be written to those of meanwhile. */
  putBack(digests: PlaybackDigests): void {
    for (const [hash, { requests, starved, sessions, throughputs }] of digests) {
      const digest = this.#digestOf(hash);
      if (digest === null) {
        this.#metrics.playbackDropped.inc(requests);
        continue;
      }
      digest.requests += requests;
      digest.starved += starved;
      for (const [index, bits] of sessions.entries()) digest.sessions[index] = (digest.sessions[index] ?? 0) | bits;
      for (const [range, count] of throughputs.entries()) add(digest.throughputs, range, count);
    }
  }

  /** Null for one media more than there is memory for. */
  #digestOf(hash: string): PlaybackDigest | null {
    const found = this.#digests.get(hash);
    if (found !== undefined) return found;
    if (this.#digests.size >= this.#mediaMax) return null;
    const digest = {
      requests: 0,
      starved: 0,
      sessions: emptySketch(),
      throughputs: new Uint32Array(throughputRanges),
    };
    this.#digests.set(hash, digest);
    return digest;
  }

  #observe({ object, isStarved, isStartup, bufferMs, throughputKbps, bitrateKbps, startDelayMs }: PlayerState): void {
    const metrics = this.#metrics;
    metrics.playbackRequests.inc({ object, starved: String(isStarved) });
    if (isStartup) metrics.playbackStartupRequests.inc();
    if (bufferMs !== null) metrics.playbackBuffer.observe(bufferMs / 1000);
    if (throughputKbps !== null && bitrateKbps !== null && bitrateKbps > 0)
      metrics.playbackThroughputRatio.observe(throughputKbps / bitrateKbps);
    if (startDelayMs !== null) metrics.playbackStartDelay.observe(startDelayMs / 1000);
  }
}

type SentResponse = Pick<ServerResponse, 'headersSent' | 'statusCode'>;

function addState(digest: PlaybackDigest, { isStarved, sessionId, throughputKbps }: PlayerState): void {
  digest.requests += 1;
  if (isStarved) digest.starved += 1;
  if (sessionId !== null) addSession(digest.sessions, sessionId);
  if (throughputKbps !== null) add(digest.throughputs, throughputRange(throughputKbps), 1);
}

function add(counts: Uint32Array, index: number, count: number): void {
  counts[index] = (counts[index] ?? 0) + count;
}

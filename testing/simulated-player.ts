import { Agent, get } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

// Players without a screen: they fetch what a player fetches, in its order and at its pace.

export interface Pace {
  readonly baseUrl: string;
  /** What is played, one segment after another, from the beginning again when it has ended. */
  readonly hash: string;
  readonly tracks: readonly string[];
  readonly segmentCount: number;
  /** How long a segment plays. */
  readonly segmentMs: number;
  /** How many segments a player fetches ahead. */
  readonly bufferSegments: number;
  /** How many it plays: all of them, however long a slow machine takes. */
  readonly segmentsToPlay: number;
  /** Whether a segment of a track came as it is. */
  readonly isWhole: (track: string, bytes: Buffer) => boolean;
}

export interface Played {
  readonly segments: number;
  readonly bytes: number;
  /** How long it waited with nothing left to play, after its start. */
  readonly stalledMs: number;
  /** What went wrong, a line each. */
  readonly faults: string[];
}

/** Plays to the end, or to what goes wrong. */
export async function play(pace: Pace): Promise<Played> {
  const agent = new Agent({ keepAlive: true, maxSockets: 2 });
  const faults: string[] = [];
  let [segments, bytes, stalledMs] = [0, 0, 0];
  const fetchOne = async (path: string) => {
    const { status, body } = await getBytes(`${pace.baseUrl}/stream/${pace.hash}/${path}`, agent);
    if (status !== 200) faults.push(`${path}: ${status}`);
    bytes += body.length;
    return body;
  };
  try {
    await fetchOne('master.m3u8');
    for (const track of pace.tracks) {
      await fetchOne(`${track}/playlist.m3u8`);
      await fetchOne(`${track}/init.mp4`);
    }
    let bufferedUntilMs = performance.now();
    for (let n = 0; n < pace.segmentsToPlay; n++) {
      for (const track of pace.tracks) {
        const body = await fetchOne(`${track}/seg_${(n % pace.segmentCount) + 1}.m4s`);
        if (!pace.isWhole(track, body)) faults.push(`${track}/seg_${(n % pace.segmentCount) + 1}: not its bytes`);
      }
      segments += 1;
      const nowMs = performance.now();
      if (n > 0) stalledMs += Math.max(0, nowMs - bufferedUntilMs);
      bufferedUntilMs = Math.max(bufferedUntilMs, nowMs) + pace.segmentMs;
      const ahead = bufferedUntilMs - nowMs - pace.bufferSegments * pace.segmentMs;
      if (ahead > 0) await sleep(ahead);
    }
  } catch (error) {
    faults.push(String(error));
  } finally {
    agent.destroy();
  }
  return { segments, bytes, stalledMs, faults };
}

function getBytes(url: string, agent: Agent): Promise<{ status: number; body: Buffer }> {
  return new Promise((resolve, reject) => {
    const request = get(url, { agent, timeout: 30_000 }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks) }));
      response.on('error', reject);
    });
    request.on('timeout', () => request.destroy(new Error(`${url}: no answer in 30 s`)));
    request.on('error', reject);
  });
}

/** A client that asks for an object and takes its bytes slowly, or not at all. */
export interface SlowClient {
  /** What it has read so far. */
  readonly bytes: () => number;
  readonly isOpen: () => boolean;
  stop(): void;
}

/** `bytesPerSecond`: 0 never reads. */
export function startSlowClient(url: string, bytesPerSecond: number): SlowClient {
  const { hostname, port, pathname } = new URL(url);
  const socket: Socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  socket.pause();
  socket.write(`GET ${pathname} HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`);
  let bytes = 0;
  const timer = setInterval(() => {
    if (bytesPerSecond > 0)
      bytes += (socket.read(Math.min(bytesPerSecond, socket.readableLength)) as Buffer | null)?.length ?? 0;
  }, 1000);
  return {
    bytes: () => bytes,
    isOpen: () => !socket.destroyed,
    stop() {
      clearInterval(timer);
      socket.destroy();
    },
  };
}

import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// What the test files of a run share is started in the process of vitest when the first of them asks for it, and
// stopped after the last. They ask over a socket; `testing/stage/stage.ts` is their side.

/** A started part: the answer to who asks for it, and how it ends. */
export interface StartedPart<Answer> {
  readonly answer: Answer;
  readonly stop: () => Promise<void>;
}

export interface StageServer {
  /** The path of its socket. */
  readonly socket: string;
  /** Stops the parts, the last one first, and the server. */
  readonly stop: () => Promise<void>;
}

export type AskPart = (name: string) => Promise<unknown>;

/** Listens for names of parts. `start` starts the part of a name, and may ask for others. */
export async function openStage(
  start: (name: string, ask: AskPart) => Promise<StartedPart<unknown>>,
): Promise<StageServer> {
  const folder = await mkdtemp(join(tmpdir(), 'reelwright-stage-'));
  const socket = join(folder, 'socket');
  const asked = new Map<string, Promise<unknown>>();
  const stops: StartedPart<unknown>['stop'][] = [];
  const startOnce = async (name: string) => {
    const { answer, stop } = await start(name, ask);
    stops.unshift(stop);
    return answer;
  };
  /** A part is started once; one that failed to start is tried again by who asks next. */
  const ask: AskPart = (name) => {
    const answer = asked.get(name) ?? startOnce(name);
    asked.set(name, answer);
    answer.catch(() => asked.delete(name));
    return answer;
  };
  const server = createServer((request, response) => {
    ask(decodeURIComponent((request.url ?? '').slice(1))).then(
      (answer) => response.end(JSON.stringify(answer)),
      (error: unknown) => response.writeHead(500).end(error instanceof Error ? error.stack : String(error)),
    );
  }).listen(socket);
  await once(server, 'listening');
  const stop = async () => {
    server.closeAllConnections();
    server.close();
    await Promise.allSettled(asked.values());
    for (const each of stops) await each();
    await rm(folder, { recursive: true, force: true });
  };
  return { socket, stop };
}

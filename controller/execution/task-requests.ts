import type { IncomingMessage, ServerResponse } from 'node:http';
import { parseTaskRequest, type TaskRequest } from '#domain/work/batch-tasks.ts';
import type { Task } from '#domain/work/task.ts';
import { bodyOf, isToken, reportSecretOf, tokenOf } from './reports.ts';

// Runners of batches ask for their tasks: `POST /batches/<batch id>/tasks` (domain/work/batch-tasks.ts). A token is
// valid for one batch.

/** An answer to a runner: a task, none for now, or that it must end. */
export type TaskAnswer = { readonly task: Task } | 'wait' | 'end';

/** Hands out the tasks of batches. @throws an error of the database or the storage: the runner asks again */
export interface TaskServer {
  answer(batchId: string, request: TaskRequest): Promise<TaskAnswer>;
}

/** Where the leader takes requests for tasks; in a process that does not lead it is empty. */
export class TaskEndpoint {
  server: TaskServer | null = null;
}

/** The token of a batch's runner. */
export function taskTokenOf(batchId: string, secret: Buffer): string {
  return tokenOf(`batch:${batchId}`, secret);
}

/** The path below the address of the worker's listener. */
export function tasksPath(batchId: string): string {
  return `/batches/${batchId}/tasks`;
}

interface HandlerDependencies {
  readonly endpoint: TaskEndpoint;
  readonly webhookSecret: string;
}

/** Answers requests under `/batches/`. */
export function taskRequestHandler({ endpoint, webhookSecret }: HandlerDependencies) {
  const secret = reportSecretOf(webhookSecret);
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { status, body } = await answerTo(request, endpoint, secret);
    // The runner's next connection may lead to the leader.
    const headers = { 'cache-control': 'no-store', ...(status === 503 ? { connection: 'close' } : {}) };
    response.writeHead(status, body === undefined ? headers : { ...headers, 'content-type': 'application/json' });
    response.end(body);
  };
}

async function answerTo(
  request: IncomingMessage,
  { server }: TaskEndpoint,
  secret: Buffer,
): Promise<{ readonly status: number; readonly body?: string }> {
  const [, batchId = ''] = /^\/batches\/([0-9a-f-]{36})\/tasks$/.exec(request.url ?? '') ?? [];
  if (request.method !== 'POST') return { status: 405 };
  if (batchId === '' || !isToken(request.headers.authorization, taskTokenOf(batchId, secret))) return { status: 403 };
  const body = await bodyOf(request);
  const wanted = body === null ? null : parseTaskRequest(body);
  if (wanted === null) return { status: 400 };
  const answer = await server?.answer(batchId, wanted).catch(() => undefined);
  if (answer === undefined) return { status: 503 };
  if (typeof answer === 'string') return { status: answer === 'wait' ? 204 : 410 };
  return { status: 200, body: JSON.stringify(answer) };
}

import type { Callbacks } from '../../clients/typescript/src/index.ts';
import type { Command } from '../command.ts';
import { jobIdOf } from '../job-id.ts';
import { timeText } from '../output.ts';

// The commands about the webhook of a job.

const webhooks: Command = {
  name: 'webhooks',
  args: 'ID',
  argsMin: 1,
  argsMax: 1,
  completes: 'jobs',
  doc: 'Shows the webhook of a job: each attempt with its answer.',
  example: 'webhooks 7d8a0c6e',
  options: {},
  run: async (context) => {
    const { output } = context;
    const found = await (await context.client()).callbacks(await jobIdOf(context));
    output.note(lineOf(found));
    output.list(
      found,
      ['ATTEMPT', 'ANSWER', 'SENT'],
      found.attempts.map(({ attempt, status_code: status, error, started_at }) => [
        String(attempt),
        status === null ? (error ?? 'none') : String(status),
        timeText(started_at, output),
      ]),
    );
  },
};

function lineOf({ callback_url: url, callback_status: status, next_attempt_at: next }: Callbacks): string {
  if (url === null) return 'the job has no webhook';
  return `${url}: ${status ?? 'waits for the end of the job'}${next === null ? '' : `, tried again at ${next}`}`;
}

const redeliver: Command = {
  name: 'webhooks redeliver',
  args: 'ID',
  argsMin: 1,
  argsMax: 1,
  completes: 'jobs',
  doc: 'Sends the webhook of a job once more.',
  example: 'webhooks redeliver 7d8a0c6e',
  options: {},
  run: async (context) => {
    const sent = await (await context.client()).redeliver(await jobIdOf(context));
    context.output.result(sent, `${sent.job_id}  ${lineOf(sent)}`);
  },
};

export const webhookCommands: readonly Command[] = [webhooks, redeliver];

import { dataOf } from '../../clients/typescript/src/http.ts';
import type { Callbacks, Reelwright, Schemas } from '../../clients/typescript/src/index.ts';
import type { Command, Context } from '../command.ts';
import { confirm } from '../confirm.ts';
import { exitCode, UsageError } from '../exit-codes.ts';
import { firstOf } from '../first-of.ts';
import { forEachJob } from '../for-each.ts';
import { idText, jobIdOf } from '../job-id.ts';
import { timeText } from '../output.ts';

// The commands about webhooks: those of a job, and those that were not delivered.

type FailedWebhook = Schemas['FailedCallbacks']['callbacks'][number];

const failedMax = 10_000;
const receiver = { value: 'URL', doc: 'webhooks to addresses that begin with it' };

const webhooks: Command = {
  name: 'webhooks',
  args: '[ID]',
  argsMin: 0,
  argsMax: 1,
  completes: 'jobs',
  doc: 'Shows the webhook of a job with each attempt, or lists those that were not delivered.',
  example: 'webhooks --receiver https://example.com/',
  options: {
    receiver: { ...receiver, doc: `of the list: ${receiver.doc}` },
    limit: { value: 'N', short: 'n', doc: 'of the list: at most so many (20)' },
  },
  run: async (context) => (context.args.length === 0 ? await listFailed(context) : await show(context)),
};

async function show(context: Context): Promise<void> {
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
}

async function listFailed({ options, output, client }: Context): Promise<void> {
  const limit = options.whole('limit', 1, failedMax) ?? 20;
  const found = await firstOf(failedWebhooks(await client(), options.text('receiver') ?? ''), limit);
  if (found.length === 0) output.note('every webhook was delivered');
  output.list(
    { callbacks: found },
    ['JOB', 'HASH', 'ANSWER', 'ATTEMPTS', 'FAILED', 'RECEIVER'],
    found.map(({ job_id: id, hash, status_code: status, error, attempts, failed_at: at, url }) => [
      idText(id, output),
      hash,
      error ?? (status === null ? 'none' : String(status)),
      String(attempts),
      timeText(at, output),
      url,
    ]),
  );
}

/** The webhooks that were not delivered to addresses that begin so, the latest failure first. */
async function* failedWebhooks({ http }: Reelwright, begin: string): AsyncGenerator<FailedWebhook> {
  let cursor: string | null | undefined;
  while (cursor !== null) {
    const query = { limit: 100, ...(cursor === undefined ? {} : { cursor }) };
    const page: Schemas['FailedCallbacks'] = await dataOf(http.GET('/api/callbacks', { params: { query } }));
    yield* page.callbacks.filter(({ url }) => url.startsWith(begin));
    cursor = page.next_cursor;
  }
}

function lineOf({ callback_url: url, callback_status: status, next_attempt_at: next }: Callbacks): string {
  if (url === null) return 'the job has no webhook';
  return `${url}: ${status ?? 'waits for the end of the job'}${next === null ? '' : `, tried again at ${next}`}`;
}

const redeliver: Command = {
  name: 'webhooks redeliver',
  args: '[ID]',
  argsMin: 0,
  argsMax: 1,
  completes: 'jobs',
  doc: 'Sends the webhook of a job once more.',
  more: 'With --all each that was not delivered, or of these each of one receiver.',
  example: 'webhooks redeliver --all --receiver https://example.com/',
  options: {
    all: { doc: 'each webhook that was not delivered, after a confirmation' },
    receiver: { ...receiver, doc: `with --all: ${receiver.doc}` },
    limit: { value: 'N', short: 'n', doc: `with --all at most so many (1000, at most ${failedMax})` },
    yes: { short: 'y', doc: 'with --all: do not ask' },
  },
  run: async (context) => {
    const { args, options, output } = context;
    if (options.flag('all') === (args.length === 1))
      throw new UsageError(`webhooks redeliver: expected the id of a job or --all, found ${args[0] ?? 'nothing'}`);
    if (options.flag('all')) return await redeliverAll(context);
    const sent = await (await context.client()).redeliver(await jobIdOf(context));
    output.result(sent, `${sent.job_id}  ${lineOf(sent)}`);
    return 0;
  },
};

async function redeliverAll(context: Context): Promise<number> {
  const { options, output } = context;
  const limit = options.whole('limit', 1, failedMax) ?? 1_000;
  const client = await context.client();
  const failed = await firstOf(failedWebhooks(client, options.text('receiver') ?? ''), limit);
  if (failed.length > 0) {
    const noun = failed.length === 1 ? 'webhook' : 'webhooks';
    output.note(`${failed.length} ${noun}${failed.length === limit ? ', as many as --limit' : ''}`);
    const purpose = `to send the ${noun}`;
    await confirm(context, { expected: String(failed.length), purpose, otherwise: 'nothing was sent' });
  }
  const refused = await forEachJob(context, failed, (id) => client.redeliver(id));
  const sent = failed.length - refused.length;
  output.result({ sent, failed: refused }, `${sent} sent, ${refused.length} refused`);
  return refused.length === 0 ? 0 : exitCode('conflict');
}

export const webhookCommands: readonly Command[] = [webhooks, redeliver];

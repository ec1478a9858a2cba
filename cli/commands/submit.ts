import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { jobTypeNames } from '#domain/job-types/index.ts';
import { priorityMax } from '#domain/jobs/ticket.ts';
import type { Command, Context } from '../command.ts';
import { UsageError } from '../exit-codes.ts';
import { describeFile, uploadFromUrl, uploadLocalFile } from '../upload.ts';
import { showEnd, waitOptions } from './show.ts';

/** `reelwright submit`. */
export const submit: Command = {
  name: 'submit',
  args: 'FILE|KEY|URL',
  argsMin: 1,
  argsMax: 1,
  doc: 'Submits a job for a file, which is uploaded first, an object key of the source bucket, or an address.',
  more: [
    'An upload survives restarts of the service, and a second call after Ctrl-C sends only what is missing.',
    'Without --hash the hash is made of the bytes of the file, or of the key or address.',
  ].join('\n'),
  example: 'submit movie.mp4 --type video:transcode --hash movie-1 --option encrypt=true --wait',
  options: {
    type: { value: 'TYPE', short: 't', words: jobTypeNames, doc: `one of ${jobTypeNames.join(', ')}` },
    hash: { value: 'HASH', doc: 'the name of the media' },
    option: {
      value: 'NAME=VALUE',
      short: 'o',
      isMany: true,
      doc: 'an option of the job, such as transcode.encrypt=true; the value is JSON or a text',
    },
    profile: { value: 'NAME', doc: 'the encoding profile, in place of the one that the rules choose' },
    priority: { value: 'N', doc: `from -${priorityMax} to ${priorityMax}; higher ones begin first (0)` },
    title: { value: 'TEXT', doc: 'what people call the media' },
    metadata: {
      value: 'NAME=TEXT',
      short: 'm',
      isMany: true,
      doc: 'a string of your own that the job and the media have',
    },
    'callback-url': { value: 'URL', doc: 'where the webhook goes' },
    key: { doc: 'the argument is an object key, even where a file has that name' },
    ...waitOptions,
  },
  run: async (context) => {
    const { options, output, signal } = context;
    const type = options.word('type', jobTypeNames);
    if (type === undefined) throw new UsageError(`--type: expected one of ${jobTypeNames.join(', ')}, found nothing`);
    const priority = options.whole('priority', -priorityMax, priorityMax);
    const profile = options.text('profile');
    const callbackUrl = options.text('callback-url');
    const title = options.text('title');
    const metadata = metadataOf(options.all('metadata'));
    const jobOptions = jobOptionsOf(options.all('option'));
    const { source, hash } = await sourceOf(context);
    const client = await context.client();
    const job = await client.submit(
      {
        type,
        hash: options.text('hash') ?? hash,
        source,
        ...(options.all('option').length === 0 ? {} : { options: jobOptions }),
        ...(callbackUrl === undefined ? {} : { callback_url: callbackUrl }),
      },
      {
        signal,
        ...(profile === undefined ? {} : { profile }),
        ...(priority === undefined ? {} : { priority }),
        ...(title === undefined ? {} : { title }),
        ...(metadata === undefined ? {} : { metadata }),
      },
    );
    if (options.flag('wait')) return await showEnd(context, job.job_id);
    const found = job.is_new ? 'submitted' : `exists already, ${job.status}`;
    output.result(job, `${job.job_id}  ${job.type}  ${job.hash}  ${found}`);
  },
};

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

/** The object key to submit, and the hash that the media gets without `--hash`. */
async function sourceOf(context: Context): Promise<{ readonly source: string; readonly hash: string }> {
  const { args, options } = context;
  const [given = ''] = args;
  if (options.flag('key')) return { source: given, hash: hashOf(given) };
  if (/^https?:\/\//.test(given)) return { source: (await uploadFromUrl(context, given)).source, hash: hashOf(given) };
  const found = await stat(given).catch(() => null);
  if (found?.isFile() === true) {
    const file = await describeFile(context, given, found.size);
    return { source: (await uploadLocalFile(context, file)).source, hash: file.sha256.slice(0, 32) };
  }
  if (found !== null || /^(?:\.{0,2}\/|~)/.test(given)) throw new UsageError(`${given}: expected a file`);
  return { source: given, hash: hashOf(given) };
}

/** `a.b=true` as `{ a: { b: true } }`. @throws UsageError that names the option */
export function jobOptionsOf(given: readonly string[]): Record<string, unknown> {
  const all: Record<string, unknown> = {};
  for (const each of given) {
    const [, name, value] = /^([a-z][a-z0-9_.]*)=(.*)$/s.exec(each) ?? [];
    if (name === undefined || value === undefined)
      throw new UsageError(`--option: expected NAME=VALUE, found ${JSON.stringify(each)}`);
    const path = name.split('.');
    let at = all;
    for (const part of path.slice(0, -1)) {
      const below = Object.hasOwn(at, part) ? at[part] : (at[part] = {});
      if (typeof below !== 'object' || below === null || Array.isArray(below))
        throw new UsageError(`--option: ${name} is given beside ${part}`);
      at = below as Record<string, unknown>;
    }
    at[path.at(-1) ?? ''] = valueOf(value);
  }
  return all;
}

/** Undefined where none is given. @throws UsageError that names the option */
export function metadataOf(given: readonly string[]): Record<string, string> | undefined {
  if (given.length === 0) return undefined;
  return Object.fromEntries(
    given.map((each) => {
      const at = each.indexOf('=');
      if (at < 1) throw new UsageError(`--metadata: expected NAME=TEXT, found ${JSON.stringify(each)}`);
      return [each.slice(0, at), each.slice(at + 1)];
    }),
  );
}

function valueOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

import { readFile } from 'node:fs/promises';
import { errorOf } from '../../clients/typescript/src/errors.ts';
import { ReelwrightError } from '../../clients/typescript/src/index.ts';
import type { Command, Context } from '../command.ts';
import { UsageError } from '../exit-codes.ts';
import { jobOptionsOf } from './submit.ts';

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** `reelwright api`: any route, for what has no command. */
export const api: Command = {
  name: 'api',
  args: 'PATH',
  argsMin: 1,
  argsMax: 1,
  doc: 'Sends a request to a route of the API, and prints its answer.',
  more: 'Without --method it is GET, or POST where there are fields or an input.',
  example: 'api /api/jobs?limit=3',
  options: {
    method: { value: 'METHOD', short: 'X', words: methods, doc: methods.join(', ') },
    field: { value: 'NAME=VALUE', short: 'f', isMany: true, doc: 'a field of the body; the value is JSON or a text' },
    input: { value: 'FILE', doc: 'the body, from a file or, as -, from standard input' },
  },
  run: async (context) => {
    const { args, options, output, signal } = context;
    const [path = ''] = args;
    if (!path.startsWith('/')) throw new UsageError(`${path}: expected a path such as /api/jobs`);
    const body = await bodyOf(context);
    const { base_url: baseUrl, api_key: apiKey } = await context.server();
    const response = await fetch(`${baseUrl}${path}`, {
      method: options.word('method', methods) ?? (body === null ? 'GET' : 'POST'),
      headers: { 'x-api-key': apiKey, ...(body === null ? {} : { 'content-type': 'application/json' }) },
      body,
      redirect: 'manual',
      signal,
    }).catch((cause: Error) => {
      throw new ReelwrightError({ code: 'unreachable', detail: `${baseUrl}: ${cause.message}`, cause });
    });
    if (response.status >= 300) throw await errorOf(response);
    const text = await response.text();
    output.result(output.isJson ? (JSON.parse(text || 'null') as unknown) : null, text.trimEnd());
  },
};

async function bodyOf({ options, input }: Context): Promise<string | null> {
  const [fields, file] = [options.all('field'), options.text('input')];
  if (file !== undefined) return file === '-' ? await input.text() : await readFile(file, 'utf8');
  return fields.length === 0 ? null : JSON.stringify(jobOptionsOf(fields));
}

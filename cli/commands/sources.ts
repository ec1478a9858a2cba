import { stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Import, ReelwrightError } from '../../clients/typescript/src/index.ts';
import type { Command } from '../command.ts';
import { UsageError } from '../exit-codes.ts';
import { bytesText } from '../progress.ts';
import { describeFile, uploadLocalFile } from '../upload.ts';

// The commands that bring sources in without a job.

const upload: Command = {
  name: 'upload',
  args: 'FILE',
  argsMin: 1,
  argsMax: 1,
  doc: 'Uploads a file, and prints its object key, which is what to submit.',
  more: 'It survives restarts of the service, and a second call after Ctrl-C sends only what is missing.',
  example: 'upload movie.mp4',
  options: {},
  run: async (context) => {
    const [path = ''] = context.args;
    const found = await stat(path).catch(() => null);
    if (found?.isFile() !== true) throw new UsageError(`${path}: there is no such file`);
    const made = await uploadLocalFile(context, await describeFile(context, path, found.size));
    context.output.result(made, made.source);
  },
};

const pollMs = 1_000;

const importCommand: Command = {
  name: 'import',
  args: 'URL',
  argsMin: 1,
  argsMax: 1,
  doc: 'Lets the service fetch an address, and prints its object key, which is what to submit.',
  more: 'It waits until all is there; after Ctrl-C the service goes on.',
  example: 'import https://example.com/movie.mp4',
  options: {},
  run: async (context) => {
    const { args, output, signal } = context;
    const client = await context.client();
    let found = await client.beginImport({ url: args[0] ?? '' });
    while (found.ended_at === null) {
      const { bytes, size } = found;
      output.bar(`fetching ${bytesText(bytes)}${size === null ? '' : ` of ${bytesText(size)}`}`);
      await sleep(pollMs, undefined, { signal });
      found = await client.getImport(found);
    }
    if (found.status !== 'completed') throw endOf(found);
    output.result(found, found.source);
  },
};

function endOf({ status, error }: Import): ReelwrightError {
  return new ReelwrightError({ code: error?.code ?? 'conflict', detail: error?.message ?? `the import is ${status}` });
}

export const sourceCommands: readonly Command[] = [upload, importCommand];

import { setTimeout as sleep } from 'node:timers/promises';
import type { Media, MediaChange, MediaDeletion } from '../../clients/typescript/src/index.ts';
import type { Command, Context } from '../command.ts';
import { confirm } from '../confirm.ts';
import { UsageError } from '../exit-codes.ts';
import { firstOf } from '../first-of.ts';
import { printableLine, timeText } from '../output.ts';
import { bar, bytesText } from '../progress.ts';
import { metadataOf } from './submit.ts';

// The commands about media.

const media: Command = {
  name: 'media',
  args: '[HASH]',
  argsMin: 0,
  argsMax: 1,
  completes: 'media',
  doc: 'Shows what was made under a hash, or lists all media.',
  example: 'media movie-1',
  options: {
    prefix: { value: 'TEXT', doc: 'of the list: hashes that begin with it' },
    query: { value: 'TEXT', short: 'q', doc: 'of the list: words of the title, or the first characters of the hash' },
    metadata: {
      value: 'NAME=TEXT',
      short: 'm',
      isMany: true,
      doc: 'of the list: media with this string, repeated up to three times',
    },
    limit: { value: 'N', short: 'n', doc: 'of the list: at most so many (20)' },
  },
  run: async ({ args: [hash], options, output, client }) => {
    const service = await client();
    if (hash !== undefined) {
      const found = await service.media(hash);
      output.result(found, textOf(found));
      return;
    }
    const limit = options.whole('limit', 1, 100_000) ?? 20;
    const prefix = options.text('prefix');
    const q = options.text('query');
    const pairs = options.all('metadata');
    metadataOf(pairs);
    const filter = {
      limit: Math.min(100, limit),
      ...(prefix === undefined ? {} : { prefix }),
      ...(q === undefined ? {} : { q }),
      ...(pairs.length === 0 ? {} : { metadata: [...pairs] }),
    };
    const found = await firstOf(service.mediaList(filter), limit);
    if (found.length === 0) output.note('no media matches');
    output.list(
      { media: found },
      ['HASH', 'STATUS', 'SIZE', 'UPDATED', 'TITLE'],
      found.map((each) => [
        each.hash,
        each.status,
        bytesText(each.bytes),
        timeText(each.updated_at, output),
        each.title ?? '',
      ]),
    );
  },
};

function textOf(shown: Media) {
  const { hash, status, title, metadata, bytes, objects, expires_at, legal_hold, playback, revisions, images, jobs } =
    shown;
  const rows: [string, string | null][] = [
    ['hash', hash],
    ['title', title],
    ...Object.entries(metadata).map(([name, text]): [string, string] => ['metadata', `${name}=${text}`]),
    ['status', `${status}${legal_hold ? ', on legal hold' : ''}`],
    ['size', `${bytesText(bytes)} in ${objects} objects`],
    ['expires', expires_at],
    ['plays at', playback === null ? null : `${playback.master}, ${playback.manifest}`],
    ...revisions.map(({ revision, current, created_at }): [string, string] => [
      'revision',
      `${revision}  ${created_at}${current ? '  current' : ''}`,
    ]),
    ...images.map(({ key }): [string, string] => ['image', key]),
    ...jobs.map((job): [string, string] => ['job', `${job.job_id}  ${job.type}  ${job.status}`]),
  ];
  return rows
    .flatMap(([name, value]) => (value === null ? [] : [`${name.padEnd(8)}  ${printableLine(value)}`]))
    .join('\n');
}

const remove: Command = {
  name: 'delete',
  args: 'HASH',
  argsMin: 1,
  argsMax: 1,
  completes: 'media',
  doc: 'Deletes a media: its content key, objects and results. It cannot be undone.',
  example: 'delete movie-1 --yes --wait',
  options: {
    yes: { short: 'y', doc: 'do not ask' },
    wait: { short: 'w', doc: 'wait for the receipt' },
  },
  run: async (context) => {
    const { options, output, signal } = context;
    const [hash = ''] = context.args;
    await confirm(context, { expected: hash, purpose: 'to delete it', otherwise: 'nothing was deleted' });
    const client = await context.client();
    let deletion = await client.deleteMedia(hash);
    while (options.flag('wait') && deletion.status !== 'deleted') {
      output.bar(lineOf(deletion));
      await sleep(1000, undefined, { signal });
      deletion = await client.deletion(hash);
    }
    const { receipt } = deletion;
    output.result(deletion, `${hash}  ${deletion.status}${receipt === null ? '' : `\n${JSON.stringify(receipt)}`}`);
  },
};

function lineOf({ objects_total: total, objects_left: left }: MediaDeletion): string {
  const share = total === null || left === null || total === 0 ? 0 : (total - left) / total;
  return `deleting ${bar(share)}${left === null ? '' : `  ${left} objects left`}`;
}

const files: Command = {
  name: 'media files',
  args: 'HASH',
  argsMin: 1,
  argsMax: 1,
  completes: 'media',
  doc: 'Lists the objects of a media.',
  example: 'media files movie-1',
  options: {},
  run: async ({ args: [hash = ''], output, client }) => {
    const found = await Array.fromAsync((await client()).mediaFiles(hash, { limit: 1000 }));
    const rows = found.map(({ key, size, last_modified }) => [key, bytesText(size), timeText(last_modified, output)]);
    output.list({ files: found }, ['KEY', 'SIZE', 'MODIFIED'], rows);
  },
};

const expire: Command = {
  name: 'media expire',
  args: 'HASH TIME|never',
  argsMin: 2,
  argsMax: 2,
  completes: 'media',
  doc: 'Sets when a media is deleted.',
  example: 'media expire movie-1 2027-01-31T00:00:00Z',
  options: {},
  run: (context) => {
    const [, time = ''] = context.args;
    if (time !== 'never' && Number.isNaN(Date.parse(time)))
      throw new UsageError(`${time}: expected a time such as 2027-01-31T00:00:00Z, or never`);
    return change(context, { expires_at: time === 'never' ? null : new Date(time).toISOString() });
  },
};

const hold: Command = {
  name: 'media hold',
  args: 'HASH',
  argsMin: 1,
  argsMax: 1,
  completes: 'media',
  doc: 'Puts a media on legal hold: it is not deleted until the hold ends.',
  example: 'media hold movie-1',
  options: { off: { doc: 'end the hold' } },
  run: (context) => change(context, { legal_hold: !context.options.flag('off') }),
};

const playback: Command = {
  name: 'media playback',
  args: 'HASH open|signed',
  argsMin: 2,
  argsMax: 2,
  completes: 'media',
  doc: 'Sets who may play a media: everybody, or who has a ticket.',
  example: 'media playback movie-1 signed',
  options: { withdraw: { doc: 'also end every ticket that was made so far' } },
  run: async (context) => {
    const [hash = '', how] = context.args;
    if (how !== 'open' && how !== 'signed') throw new UsageError(`${how}: expected open or signed`);
    await change(context, { playback: how });
    if (context.options.flag('withdraw')) await (await context.client()).withdrawTickets(hash);
  },
};

const title: Command = {
  name: 'media title',
  args: 'HASH TITLE',
  argsMin: 1,
  argsMax: 2,
  completes: 'media',
  doc: 'Sets what people call a media.',
  example: 'media title movie-1 "Holiday in Lisbon"',
  options: {
    none: { doc: 'remove the title' },
    metadata: {
      value: 'NAME=TEXT',
      short: 'm',
      isMany: true,
      doc: 'all strings of the media, in place of those it has',
    },
  },
  run: async (context) => {
    const { args, options } = context;
    const [, text] = args;
    const metadata = metadataOf(options.all('metadata'));
    if ((text !== undefined && options.flag('none')) || ((text ?? metadata) === undefined && !options.flag('none')))
      throw new UsageError('media title: expected a title, --none or --metadata');
    const said = text ?? (options.flag('none') ? null : undefined);
    await change(context, {
      ...(said === undefined ? {} : { title: said }),
      ...(metadata === undefined ? {} : { metadata }),
    });
  },
};

async function change(context: Context, fields: MediaChange): Promise<void> {
  const changed = await (await context.client()).updateMedia(context.args[0] ?? '', fields);
  context.output.result(changed, textOf(changed));
}

const current: Command = {
  name: 'media current',
  args: 'HASH REVISION',
  argsMin: 2,
  argsMax: 2,
  completes: 'media',
  doc: 'Plays another revision of a media.',
  example: 'media current movie-1 4cde0dff5fc07d70',
  options: {},
  run: async ({ args: [hash = '', revision = ''], output, client }) => {
    const changed = await (await client()).setCurrent(hash, revision);
    output.result(changed, textOf(changed));
  },
};

export const mediaCommands: readonly Command[] = [media, title, files, expire, hold, playback, current, remove];

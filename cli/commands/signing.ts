import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  playbackToken,
  type PlayerUrlOptions,
  playerUrl,
  signedStreamUrl,
  streamTicket,
  thumbUrl,
  verifyWebhook,
} from '../../clients/typescript/src/server.ts';
import { ReelwrightError } from '../../clients/typescript/src/index.ts';
import { errorOf } from '../../clients/typescript/src/errors.ts';
import { mediaHashSchema } from '#domain/jobs/submission.ts';
import { readScope } from '#domain/playback/ticket-scope.ts';
import type { Command, Context, OptionRow } from '../command.ts';
import { UsageError } from '../exit-codes.ts';
import { findServer, mediaUrlOf, type Server } from '../settings.ts';
import { imageOptions, imageQuery } from './image-query.ts';

// The commands that sign or verify. Secrets come from the environment or the configuration file.

const secondsMax = 10 * 365 * 86_400;
const expiry: OptionRow = { value: 'SECONDS', doc: 'how long it is valid (3600)' };

function settings({ env, options }: Context): Promise<Server> {
  return findServer(env, options.text('server'));
}

/** @throws UsageError for what is no hash */
function checkHash(hash: string): void {
  const parsed = mediaHashSchema.safeParse(hash);
  if (!parsed.success) throw new UsageError(`${hash}: a hash ${parsed.error.issues[0]?.message}`);
}

async function tokenFor(context: Context, hash: string): Promise<string> {
  checkHash(hash);
  const expiresInSec = context.options.whole('expires-in', 1, secondsMax);
  const { key_token_secret: secret } = await settings(context);
  if (secret !== undefined) return await playbackToken(hash, secret, { expiresInSec: expiresInSec ?? 3600 });
  if (expiresInSec !== undefined && (expiresInSec < 60 || expiresInSec > servedSecMax))
    throw new UsageError(`--expires-in: the service signs for 60 to ${servedSecMax} seconds; ${tokenHint}`);
  const { playback } = await signedByService(context, {
    images: [],
    playback: hash,
    ...(expiresInSec === undefined ? {} : { playback_expires_in_sec: expiresInSec }),
  });
  if (playback === null) throw new UsageError(`no secret signs tokens: ${tokenHint}`);
  return playback.token;
}

const tokenHint = 'set KEY_TOKEN_SECRET, or ask for a server with CONSOLE=on, which signs tokens';
/** A token of the service is valid for a week at most. */
const servedSecMax = 604_800;

interface SignedLinks {
  readonly images: readonly { readonly path: string }[];
  readonly playback: { readonly token: string } | null;
}

/** Links that a service with the console signs. @throws UsageError where it has none */
async function signedByService(context: Context, body: object): Promise<SignedLinks> {
  const { http } = await context.client();
  const { data, response } = await http.POST('/api/console/links' as never, { body } as never);
  if (data !== undefined) return data;
  if (response.status === 401)
    throw new ReelwrightError({ code: 'unauthorized', status: 401, detail: 'the API key is refused' });
  if (response.status !== 404) throw await errorOf(response);
  throw new UsageError(`no secret signs it: ${tokenHint}`);
}

/** The path of an image, signed by the service for 15 to 30 minutes. */
async function imagePathByService(context: Context, image: { readonly key: string; readonly exp?: unknown }) {
  if (image.exp !== undefined)
    throw new UsageError('--expires-in: the service signs for 15 to 30 minutes; set THUMB_SECRET to sign here');
  const { images } = await signedByService(context, { images: [image] });
  return images[0]?.path ?? '';
}

/** The address of the player page of a stream, with a token where one can be made. */
export async function playerAddress(context: Context, hash: string): Promise<string> {
  return addressWith(context, hash, await tokenFor(context, hash).catch(() => ''));
}

async function addressWith(
  context: Context,
  hash: string,
  token: string,
  options: PlayerUrlOptions = {},
): Promise<string> {
  return playerUrl(mediaUrlOf(await context.server()), hash, token, {
    ...options,
    ticket: await ticketFor(context, hash),
  });
}

/** The ticket of a media that plays by nothing else; '' where STREAM_SECRET or the API key is not set. */
async function ticketFor(context: Context, hash: string): Promise<string> {
  const { stream_secret: secret, api_key: apiKey } = await settings(context);
  if (secret === undefined || apiKey === '') return '';
  const media = await (await context.client()).media(hash);
  if (media.playback_mode !== 'signed') return '';
  const expiresInSec = context.options.whole('expires-in', 1, secondsMax) ?? 3600;
  return await streamTicket(hash, secret, { expiresInSec, generation: media.playback_generation });
}

const token: Command = {
  name: 'token',
  args: 'HASH',
  argsMin: 1,
  argsMax: 1,
  completes: 'media',
  doc: 'Prints a playback token, signed with KEY_TOKEN_SECRET or by the console of the service.',
  example: 'token movie-1 --expires-in 600',
  options: { 'expires-in': expiry },
  run: async (context) => {
    const [hash = ''] = context.args;
    const value = await tokenFor(context, hash);
    context.output.result({ hash, token: value }, value);
  },
};

const play: Command = {
  name: 'play',
  args: 'HASH',
  argsMin: 1,
  argsMax: 1,
  completes: 'media',
  doc: 'Prints the address of the player page with a token, and with the ticket of a signed stream.',
  more: 'With --open the address passes to the browser by a redirect of this machine: the process list does not show it.',
  example: 'play movie-1 --at 0:30 --open',
  options: {
    'expires-in': expiry,
    at: { value: 'TIME', doc: 'where it begins, such as 90 or 1:30' },
    titled: { doc: 'with the title of the media, which whoever has the address can read' },
    open: { short: 'o', doc: 'open it in the browser' },
  },
  run: async (context) => {
    const [hash = ''] = context.args;
    const startSec = startOf(context.options.text('at'));
    const title = context.options.flag('titled') ? (await (await context.client()).media(hash)).title : null;
    const url = await addressWith(context, hash, await tokenFor(context, hash), { title: title ?? '', startSec });
    context.output.result({ hash, url }, url);
    if (context.options.flag('open')) await openInBrowser(url, context);
  },
};

/** The seconds of `90`, `1:30` or `1:02:03`; 0 without a text. @throws UsageError */
function startOf(text: string | undefined): number {
  if (text === undefined) return 0;
  if (!/^\d{1,6}(?::[0-5]?\d){0,2}$/.test(text))
    throw new UsageError(`--at: expected seconds or a time such as 1:30, found ${JSON.stringify(text)}`);
  return text.split(':').reduce((seconds, part) => seconds * 60 + Number(part), 0);
}

const openMs = 30_000;

/** Serves one redirect to the address, whose path cannot be guessed, and opens that. */
async function openInBrowser(url: string, { env, signal, output }: Context): Promise<void> {
  const path = `/${randomBytes(16).toString('hex')}`;
  const served = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    if (request.url !== path) response.writeHead(404).end();
    else
      response.writeHead(302, { location: url, 'cache-control': 'no-store', connection: 'close' }).end(served.resolve);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const opener = env['BROWSER'] ?? { darwin: 'open', win32: 'explorer' }[process.platform as string] ?? 'xdg-open';
  const child = spawn(opener, [`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`], {
    stdio: 'ignore',
    env,
  });
  child
    .once('error', () => output.note(`${opener} cannot be started: open the address above`))
    .once('error', served.resolve);
  child.unref();
  const timer = setTimeout(served.resolve, openMs);
  signal.addEventListener('abort', () => served.resolve(), { once: true });
  await served.promise;
  clearTimeout(timer);
  server.close();
  server.closeIdleConnections();
}

const ticket: Command = {
  name: 'ticket',
  args: 'HASH',
  argsMin: 1,
  argsMax: 1,
  completes: 'media',
  doc: 'Prints the address at which a stream plays by a ticket, signed with STREAM_SECRET.',
  more: 'With --json the ticket is there too, for the address of a DASH manifest or a segment.',
  example: 'ticket movie-1 --expires-in 600 --scope 720p~sid-user42',
  options: {
    'expires-in': expiry,
    generation: { value: 'N', doc: 'the playback_generation of the media (0)' },
    scope: { value: 'SCOPE', doc: 'audio, a height such as 720p, or sid-ID; the first two may be followed by ~sid-ID' },
  },
  run: async (context) => {
    const { options, output } = context;
    const [hash = ''] = context.args;
    checkHash(hash);
    const server = await settings(context);
    if (server.stream_secret === undefined)
      throw new UsageError('no secret signs tickets: set STREAM_SECRET, or run reelwright login');
    const scope = options.text('scope');
    if (scope !== undefined && readScope(scope) === null)
      throw new UsageError(`--scope: expected audio, a height such as 720p, or sid-ID, found ${scope}`);
    const value = await streamTicket(hash, server.stream_secret, {
      expiresInSec: options.whole('expires-in', 1, secondsMax) ?? 3600,
      generation: options.whole('generation', 0, Number.MAX_SAFE_INTEGER) ?? 0,
      ...(scope === undefined ? {} : { scope }),
    });
    const url = signedStreamUrl(mediaUrlOf(server), hash, value);
    output.result({ hash, ticket: value, url }, url);
  },
};

/** The key of the image that the first argument names; every key of the media bucket has a folder. @throws UsageError */
async function imageKeyOf({ args: [given = ''], options, client }: Context): Promise<string> {
  if (given.includes('/') || options.flag('from-source')) return given;
  const { images } = await (await client()).media(given);
  const [newest] = images;
  if (newest === undefined) throw new UsageError(`${given}: the media has no image; video:cover makes one`);
  return newest.key;
}

const thumb: Command = {
  name: 'thumb-url',
  args: 'KEY|HASH',
  argsMin: 1,
  argsMax: 1,
  completes: 'media',
  doc: 'Prints the signed address of an image, by its object key or as the newest image of a media.',
  example: 'thumb-url photo-1 --width 320 --format auto',
  options: {
    ...imageOptions,
    'expires-in': { value: 'SECONDS', doc: 'how long it is valid; without it for ever' },
  },
  run: async (context) => {
    const { options, output } = context;
    const server = await settings(context);
    const key = await imageKeyOf(context);
    const { key_token_secret: keyTokenSecret, thumb_secret: thumbSecret } = server;
    const expiresInSec = options.whole('expires-in', 1, secondsMax);
    const given = imageQuery(options, expiresInSec);
    if (thumbSecret === undefined && keyTokenSecret === undefined) {
      const url = `${mediaUrlOf(server)}${await imagePathByService(context, { key, ...given })}`;
      return output.result({ key, url }, url);
    }
    const secret = thumbSecret === undefined ? { keyTokenSecret: keyTokenSecret ?? '' } : { thumbSecret };
    const url = await thumbUrl(key, given, { ...secret, baseUrl: mediaUrlOf(server) });
    output.result({ key, url }, url);
  },
};

const verify: Command = {
  name: 'verify-webhook',
  args: '[FILE]',
  argsMin: 0,
  argsMax: 1,
  doc: 'Verifies a webhook that was received, by WEBHOOK_SECRET.',
  more: 'The body is read from FILE or standard input, byte for byte as it came.',
  example: "verify-webhook body.json -H 'webhook-id: …' -H 'webhook-timestamp: …' -H 'webhook-signature: …'",
  options: {
    header: { value: 'HEADER', short: 'H', isMany: true, doc: 'a header of the request, as NAME: VALUE' },
    tolerance: { value: 'SECONDS', doc: 'how far the clocks may differ (300)' },
  },
  run: async ({ args: [file], options, env, input, output }) => {
    const secret = env['WEBHOOK_SECRET'] ?? '';
    if (secret === '') throw new UsageError('no secret verifies it: set WEBHOOK_SECRET');
    const headers = new Headers();
    for (const header of options.all('header')) {
      const [, name, value] = /^([A-Za-z0-9-]+):\s*(.*?)\s*$/.exec(header) ?? [];
      if (name === undefined || value === undefined)
        throw new UsageError(`--header: expected NAME: VALUE, found ${JSON.stringify(header)}`);
      headers.set(name, value);
    }
    const toleranceSec = options.whole('tolerance', 1, secondsMax);
    const body = file === undefined ? await input.text() : await readFile(file, 'utf8');
    const event = await verifyWebhook({
      headers,
      body,
      secret,
      ...(toleranceSec === undefined ? {} : { toleranceSec }),
    });
    output.result({ valid: true, event }, `genuine: ${event.type} ${event.hash} ${event.status}, job ${event.job_id}`);
  },
};

export const signingCommands: readonly Command[] = [play, token, ticket, thumb, verify];

import { Reelwright } from '../../clients/typescript/src/index.ts';
import type { Command, Context } from '../command.ts';
import { UsageError } from '../exit-codes.ts';
import { configPath, readConfig, removeServer, saveServer, useServer } from '../settings.ts';

// The commands about the configuration file.

const login: Command = {
  name: 'login',
  args: '[NAME]',
  argsMin: 0,
  argsMax: 1,
  doc: 'Saves a service and its API key under a name, after a request that proves both.',
  more: [
    'The key is read from REELWRIGHT_API_KEY or standard input, never from an argument: others can read those.',
    'KEY_TOKEN_SECRET, THUMB_SECRET and STREAM_SECRET are saved too where they are set, to sign tokens, addresses and tickets.',
  ].join('\n'),
  example: 'login staging --url https://media.example.com < key.txt',
  options: {
    url: { value: 'URL', short: 'u', doc: 'the address of the service; else REELWRIGHT_URL' },
    'media-url': {
      value: 'URL',
      doc: 'the address of streams and images, where it is another (BASE_URL of the service)',
    },
  },
  run: async (context) => {
    const { args, options, env, output, signal } = context;
    const name = args[0] ?? 'default';
    const baseUrl = (options.text('url') ?? env['REELWRIGHT_URL'] ?? '').replace(/\/+$/, '');
    if (!/^https?:\/\//.test(baseUrl) || !URL.canParse(baseUrl))
      throw new UsageError(`--url: expected http://… or https://…, found ${JSON.stringify(baseUrl)}`);
    const apiKey = env['REELWRIGHT_API_KEY'] || (await readSecret(context, 'API key: '));
    if (apiKey === '') throw new UsageError('expected the API key on standard input, found nothing');
    const client = new Reelwright({ baseUrl, apiKey });
    for await (const _ of client.jobs({ limit: 1 })) break;
    signal.throwIfAborted();
    const mediaUrl = options.text('media-url') ?? env['REELWRIGHT_MEDIA_URL'];
    const path = await saveServer(env, name, {
      base_url: baseUrl,
      ...(mediaUrl ? { media_url: mediaUrl } : {}),
      api_key: apiKey,
      ...(env['KEY_TOKEN_SECRET'] ? { key_token_secret: env['KEY_TOKEN_SECRET'] } : {}),
      ...(env['THUMB_SECRET'] ? { thumb_secret: env['THUMB_SECRET'] } : {}),
      ...(env['STREAM_SECRET'] ? { stream_secret: env['STREAM_SECRET'].split(',')[0] } : {}),
    });
    output.result({ name, base_url: baseUrl, path }, `${name}: ${baseUrl} is saved in ${path}`);
  },
};

/** A line from standard input; on a terminal it is asked for, and not shown. */
async function readSecret({ input, signal }: Context, prompt: string): Promise<string> {
  return (await (input.isTerminal ? input.askSecret(prompt, signal) : input.text())).trim();
}

const list: Command = {
  name: 'config list',
  args: '',
  argsMin: 0,
  argsMax: 0,
  doc: 'Lists the saved services, without their keys.',
  example: 'config list',
  options: {},
  run: async ({ env, output }) => {
    const config = await readConfig(env);
    const servers = Object.entries(config.servers).map(([name, { base_url, key_token_secret }]) => ({
      name,
      base_url,
      is_default: name === config.default,
      signs_tokens: key_token_secret !== undefined,
    }));
    const rows = servers.map(({ name, base_url, is_default }) => [name, base_url, is_default ? 'default' : '']);
    output.list({ path: configPath(env), servers }, ['NAME', 'URL', ''], rows);
  },
};

const use: Command = {
  name: 'config use',
  args: 'NAME',
  argsMin: 1,
  argsMax: 1,
  completes: 'servers',
  doc: 'Makes a saved service the default.',
  example: 'config use staging',
  options: {},
  run: async ({ args: [name = ''], env, output }) => {
    await useServer(env, name);
    output.result({ default: name }, `${name} is the default`);
  },
};

const remove: Command = {
  name: 'config remove',
  args: 'NAME',
  argsMin: 1,
  argsMax: 1,
  completes: 'servers',
  doc: 'Removes a saved service with its key.',
  example: 'config remove staging',
  options: {},
  run: (context) => forget(context.args[0] ?? '', context),
};

const logout: Command = {
  name: 'logout',
  args: '[NAME]',
  argsMin: 0,
  argsMax: 1,
  completes: 'servers',
  doc: 'Removes a saved service with its key; without a name the default.',
  example: 'logout staging',
  options: {},
  run: async (context) => {
    const name = context.args[0] ?? (await readConfig(context.env)).default;
    if (name === undefined) throw new UsageError('no service is saved');
    await forget(name, context);
  },
};

async function forget(name: string, { env, output }: Context): Promise<void> {
  await removeServer(env, name);
  output.result({ removed: name }, `${name} is removed`);
}

const status: Command = {
  name: 'status',
  args: '',
  argsMin: 0,
  argsMax: 0,
  doc: 'Shows which service is called, whether it is ready, and whether it accepts the API key.',
  example: 'status',
  options: {},
  run: async ({ output, server, client }) => {
    const { base_url: url } = await server();
    const service = await client();
    for await (const _ of service.jobs({ limit: 1 })) break;
    const { response } = await service.http.GET('/readyz', { parseAs: 'text' });
    const ready = response.ok ? 'yes' : `no: ${url}/readyz answers ${response.status}`;
    output.result(
      { base_url: url, ready: response.ok, key_accepted: true },
      `service  ${url}\nkey      accepted\nready    ${ready}`,
    );
  },
};

export const serverCommands: readonly Command[] = [login, logout, status, list, use, remove];

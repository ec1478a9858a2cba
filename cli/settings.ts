import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { UsageError } from './exit-codes.ts';

// Which service is called, and with which key: the environment, else a server of the configuration file. A key is never
// an argument, since every user of a machine can read the arguments of its processes.

export type Env = Readonly<Record<string, string | undefined>>;

const serverSchema = z.strictObject({
  base_url: z.url({ protocol: /^https?$/ }).max(2048),
  api_key: z.string().min(1).max(4096),
  /** Where streams and images are, when that is another host than the API's. */
  media_url: z
    .url({ protocol: /^https?$/ })
    .max(2048)
    .optional(),
  /** To sign tokens and image addresses here. */
  key_token_secret: z.string().min(1).max(4096).optional(),
  thumb_secret: z.string().min(1).max(4096).optional(),
  stream_secret: z.string().min(1).max(4096).optional(),
});
const fileSchema = z.strictObject({
  default: z.string().optional(),
  servers: z.record(z.string().regex(/^[\w.-]{1,64}$/), serverSchema),
});
type ConfigFile = z.infer<typeof fileSchema>;
export type Server = z.infer<typeof serverSchema>;

/** `REELWRIGHT_CONFIG`, else below `XDG_CONFIG_HOME` or `~/.config`. */
export function configPath(env: Env): string {
  const home = env['XDG_CONFIG_HOME'] ?? join(env['HOME'] ?? homedir(), '.config');
  return env['REELWRIGHT_CONFIG'] ?? join(home, 'reelwright/config.json');
}

/** @throws UsageError when the file is readable by others, or not what it should be */
export async function readConfig(env: Env): Promise<ConfigFile> {
  const path = configPath(env);
  let text: string;
  try {
    const { mode } = await stat(path);
    if (process.platform !== 'win32' && (mode & 0o077) !== 0)
      throw new UsageError(`${path} can be read by other users: chmod 600 ${path}`);
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { servers: {} };
    throw error;
  }
  try {
    return fileSchema.parse(JSON.parse(text));
  } catch (error) {
    // The text is not shown: it has keys.
    const what = error instanceof z.ZodError ? z.prettifyError(error) : 'expected JSON';
    throw new UsageError(`${path}: ${what}`);
  }
}

/** Writes the file, whole or not at all, with the mode 0600. */
async function writeConfig(env: Env, config: ConfigFile): Promise<string> {
  const path = configPath(env);
  await writePrivately(path, `${JSON.stringify(config, null, 2)}\n`);
  return path;
}

/** A file that its owner alone can read, written whole or not at all; its folder is made. */
export async function writePrivately(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const own = `${path}.${process.pid}`;
  await writeFile(own, text, { mode: 0o600 });
  await rename(own, path);
}

/** Adds or replaces a server; the first one is the default. The path of the file. */
export async function saveServer(env: Env, name: string, server: Server): Promise<string> {
  const config = await readConfig(env);
  const servers = { ...config.servers, [name]: server };
  const next = fileSchema.safeParse({ default: config.default ?? name, servers });
  if (!next.success) throw new UsageError(z.prettifyError(next.error));
  return await writeConfig(env, next.data);
}

/** Removes a server. @throws UsageError when there is none of that name */
export async function removeServer(env: Env, name: string): Promise<void> {
  const { default: usual, servers } = await readConfig(env);
  knownServer(env, servers, name);
  const { [name]: _, ...rest } = servers;
  const next = usual === name ? Object.keys(rest)[0] : usual;
  await writeConfig(env, { ...(next === undefined ? {} : { default: next }), servers: rest });
}

/** Makes a server the default. @throws UsageError when there is none of that name */
export async function useServer(env: Env, name: string): Promise<void> {
  const { servers } = await readConfig(env);
  knownServer(env, servers, name);
  await writeConfig(env, { default: name, servers });
}

function knownServer(env: Env, servers: ConfigFile['servers'], name: string): Server {
  const found = servers[name];
  if (found !== undefined) return found;
  const known = Object.keys(servers).join(', ') || 'none';
  throw new UsageError(`${name}: expected a server of ${configPath(env)}; there are: ${known}`);
}

/**
 * The service to call. `REELWRIGHT_URL` and `REELWRIGHT_API_KEY` win over the default of the file, and a server that is
 * named wins over both.
 *
 * @throws UsageError that says how to name one
 */
export async function serverOf(env: Env, name: string | undefined): Promise<Server> {
  const found = await findServer(env, name);
  if (found.base_url === '') throw new UsageError('no service is named: set REELWRIGHT_URL, or run reelwright login');
  if (!z.url({ protocol: /^https?$/ }).safeParse(found.base_url).success)
    throw new UsageError(`REELWRIGHT_URL: expected http://… or https://…, found ${JSON.stringify(found.base_url)}`);
  if (found.api_key === '') throw new UsageError('no API key: set REELWRIGHT_API_KEY, or run reelwright login');
  return { ...found, base_url: found.base_url.replace(/\/+$/, '') };
}

/** The address of streams and images. */
export function mediaUrlOf({ media_url, base_url }: Server): string {
  return (media_url ?? base_url).replace(/\/+$/, '');
}

/** The same, whatever of it is known: to sign needs no API key. */
export async function findServer(env: Env, name: string | undefined): Promise<Server> {
  const { REELWRIGHT_API_KEY: key = '', REELWRIGHT_URL: url = '' } = env;
  const secrets = {
    ...(env['REELWRIGHT_MEDIA_URL'] ? { media_url: env['REELWRIGHT_MEDIA_URL'] } : {}),
    ...(env['KEY_TOKEN_SECRET'] ? { key_token_secret: env['KEY_TOKEN_SECRET'] } : {}),
    ...(env['THUMB_SECRET'] ? { thumb_secret: env['THUMB_SECRET'].split(',')[0] } : {}),
    ...(env['STREAM_SECRET'] ? { stream_secret: env['STREAM_SECRET'].split(',')[0] } : {}),
  } as Partial<Server>;
  const { default: usual, servers } = await readConfig(env);
  if (name !== undefined) return { ...secrets, ...knownServer(env, servers, name) };
  // Another service's key and secrets are never sent to, or used for, the one that REELWRIGHT_URL names.
  const saved = usual === undefined ? undefined : servers[usual];
  if (url !== '' && url !== saved?.base_url) return { base_url: url, api_key: key, ...secrets };
  return { base_url: '', ...saved, api_key: key || (saved?.api_key ?? ''), ...secrets };
}

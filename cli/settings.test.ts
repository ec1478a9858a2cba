import { chmod, mkdtemp, open, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { configPath, findServer, mediaUrlOf, removeServer, saveServer, serverOf, useServer } from './settings.ts';

let home = '';
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'reelwright-cli-'));
});
afterEach(() => rm(home, { recursive: true }));

const first = { base_url: 'https://a.test', api_key: 'key-a' };
const second = { base_url: 'https://b.test/', api_key: 'key-b', key_token_secret: 'secret-b' };

it('a saved server is read by its owner alone, and a file that others can read is refused', async () => {
  const env = { HOME: home };
  const path = await saveServer(env, 'a', first);
  expect(path).toBe(join(home, '.config/reelwright/config.json'));
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(await serverOf(env, undefined)).toEqual(first);
  await chmod(path, 0o640);
  await expect(serverOf(env, undefined)).rejects.toThrow(`chmod 600 ${path}`);
});

it('the folder of the file is its owner’s alone, and a file is replaced whole, never written over', async () => {
  const env = { HOME: home };
  const path = await saveServer(env, 'a', first);
  expect((await stat(dirname(path))).mode & 0o777).toBe(0o700);
  const before = await readFile(path, 'utf8');
  const reader = await open(path);
  await saveServer(env, 'b', second);
  // Who has opened the earlier file reads it to its end, as after a crash in the middle of a write.
  expect(await reader.readFile('utf8')).toBe(before);
  await reader.close();
  expect(await readFile(path, 'utf8')).toContain('key-b');
});

it('the first server is the default, until another is chosen or it is removed', async () => {
  const env = { HOME: home };
  await saveServer(env, 'a', first);
  await saveServer(env, 'b', second);
  expect((await serverOf(env, undefined)).api_key).toBe('key-a');
  expect((await serverOf(env, 'b')).base_url).toBe('https://b.test');
  await useServer(env, 'b');
  expect((await serverOf(env, undefined)).api_key).toBe('key-b');
  await removeServer(env, 'b');
  expect((await serverOf(env, undefined)).api_key).toBe('key-a');
  await expect(serverOf(env, 'b')).rejects.toThrow('there are: a');
});

it('a key is sent to its own service alone, and the environment wins over the default', async () => {
  const env = { HOME: home };
  await saveServer(env, 'b', second);
  const other = { ...env, REELWRIGHT_URL: 'https://c.test' };
  expect(await findServer(other, undefined)).toEqual({ base_url: 'https://c.test', api_key: '' });
  await expect(serverOf(other, undefined)).rejects.toThrow('REELWRIGHT_API_KEY');
  expect(await serverOf({ ...other, REELWRIGHT_API_KEY: 'k' }, undefined)).toMatchObject({ api_key: 'k' });
  expect(await serverOf({ ...other, REELWRIGHT_API_KEY: 'k' }, 'b')).toMatchObject({ api_key: 'key-b' });
  expect(await findServer({ ...env, KEY_TOKEN_SECRET: 's' }, undefined)).toMatchObject({ key_token_secret: 's' });
});

it('a call without a service says how to name one, and a broken file where it is', async () => {
  const env = { HOME: home };
  await expect(serverOf(env, undefined)).rejects.toThrow('REELWRIGHT_URL');
  await expect(serverOf({ ...env, REELWRIGHT_URL: 'media' }, undefined)).rejects.toThrow('https://');
  await saveServer(env, 'a', first);
  const { writeFile } = await import('node:fs/promises');
  await writeFile(configPath(env), '{"servers": {"a": {"base_url": "x", "api_key": "secret-key"}}}');
  const error = await serverOf(env, undefined).catch((thrown: unknown) => thrown as Error);
  expect((error as Error).message).toContain('servers.a.base_url');
  expect((error as Error).message).not.toContain('secret-key');
  await writeFile(configPath(env), '{"servers": "secret-key');
  await expect(serverOf(env, undefined)).rejects.toThrow(`${configPath(env)}: expected JSON`);
});

it('streams have the host of the API, unless another is saved or set', async () => {
  const env = { HOME: home };
  await saveServer(env, 'b', { ...second, media_url: 'https://media.test/' });
  expect(mediaUrlOf(await findServer(env, undefined))).toBe('https://media.test');
  expect(mediaUrlOf(await findServer({ ...env, REELWRIGHT_MEDIA_URL: 'https://m.test' }, undefined))).toBe(
    'https://m.test',
  );
  expect(mediaUrlOf(second)).toBe('https://b.test');
});

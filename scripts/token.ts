import { parseArgs } from 'node:util';
import { signPlaybackToken } from '#domain/playback/token.ts';

// `npm run token -- --hash my-video [--expires-in 3600]`: prints a playback token signed with KEY_TOKEN_SECRET.

const usage = 'usage: KEY_TOKEN_SECRET=… npm run token -- --hash HASH [--expires-in SECONDS]';

function main(): void {
  const { values } = parseArgs({
    options: { hash: { type: 'string' }, 'expires-in': { type: 'string', default: '3600' } },
  });
  const secret = process.env['KEY_TOKEN_SECRET'] ?? '';
  const seconds = Number(values['expires-in']);
  if (secret === '' || values.hash === undefined || !Number.isSafeInteger(seconds) || seconds < 1)
    throw new Error(usage);
  const exp = Math.floor(Date.now() / 1000) + seconds;
  process.stdout.write(`${signPlaybackToken({ hash: values.hash, exp }, secret)}\n`);
}

try {
  main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : usage}\n`);
  process.exitCode = 2;
}

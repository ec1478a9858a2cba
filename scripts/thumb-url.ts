import { parseArgs } from 'node:util';
import { signThumbPath, thumbSecretsOf } from '#domain/playback/thumb.ts';

// `npm run thumb-url -- --key images/…/thumb.webp [--w 200 …]`: prints the signed address of an image.

const usage =
  'usage: BASE_URL=… THUMB_SECRET=… (or KEY_TOKEN_SECRET=…) npm run thumb-url -- --key KEY ' +
  '[--w PX] [--h PX] [--fit cover|contain|inside] [--f webp|jpg|png|avif|auto] [--q 1-100] [--exp UNIX_SECONDS]';
const names = ['w', 'h', 'fit', 'f', 'q', 'exp'] as const;

function main(): void {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({ options: { key: text, w: text, h: text, fit: text, f: text, q: text, exp: text } });
  const given = (process.env['THUMB_SECRET'] ?? '').split(',').filter((secret) => secret !== '');
  const tokenSecret = process.env['KEY_TOKEN_SECRET'] ?? '';
  if (values.key === undefined || (given.length === 0 && tokenSecret === '')) throw new Error(usage);
  const query: Record<string, string> = {};
  for (const name of names) if (values[name] !== undefined) query[name] = values[name];
  // With several secrets (rotation), the first one signs.
  const [secret = ''] = thumbSecretsOf(given, tokenSecret);
  process.stdout.write(`${process.env['BASE_URL'] ?? ''}${signThumbPath(values.key, query, secret)}\n`);
}

try {
  main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : usage}\n`);
  process.exitCode = 2;
}

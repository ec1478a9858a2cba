import { parseArgs } from 'node:util';
import { signThumbPath, thumbSecretsOf } from '#domain/playback/thumb.ts';
import { thumbOptionNames } from '#domain/playback/thumb-options.ts';

// `npm run thumb-url -- --key images/…/thumb.webp [--w 200 …]`: prints the signed address of an image.

const usage =
  'usage: BASE_URL=… THUMB_SECRET=… (or KEY_TOKEN_SECRET=…) npm run thumb-url -- --key KEY ' +
  `[--OPTION VALUE …], with the options ${thumbOptionNames.join(', ')} (docs/guides/api.md, "Show images")`;

function main(): void {
  const names = ['key', ...thumbOptionNames];
  const { values } = parseArgs({
    options: Object.fromEntries(names.map((name) => [name, { type: 'string' } as const])),
  });
  const { key, ...query } = values;
  const given = (process.env['THUMB_SECRET'] ?? '').split(',').filter((secret) => secret !== '');
  const tokenSecret = process.env['KEY_TOKEN_SECRET'] ?? '';
  if (key === undefined || (given.length === 0 && tokenSecret === '')) throw new Error(usage);
  // With several secrets (rotation), the first one signs.
  const [secret = ''] = thumbSecretsOf(given, tokenSecret);
  process.stdout.write(`${process.env['BASE_URL'] ?? ''}${signThumbPath(key, query, secret)}\n`);
}

try {
  main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : usage}\n`);
  process.exitCode = 2;
}

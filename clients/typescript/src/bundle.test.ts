import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { expect, it } from 'vitest';

/** The minified bundle of an entry for browsers. */
async function bundleOf(entry: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, entry)],
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    write: false,
  });
  return outputFiles[0]?.text ?? '';
}

it('the client is at most 15 kB of gzip in a browser, and has nothing of the helpers for servers', async () => {
  const bundle = await bundleOf('index.ts');
  expect(gzipSync(bundle).length).toBeLessThanOrEqual(15_000);
  expect(bundle).toContain('x-api-key');
  expect(bundle).not.toContain('thumb/v1');
});

it('the helpers for servers need no module of Node', async () => {
  expect(await bundleOf('server.ts')).toContain('thumb/v1');
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { expect, test } from 'vitest';

const script = `
import { createLogger } from '#platform/telemetry/logger.ts';
const log = createLogger({ level: 'info', name: 'test' });
const text = 'x'.repeat(20_000);
const logged = () => { for (let n = 0; n < 2_000; n += 1) log.info({ text }, 'a line'); };
logged();
globalThis.gc();
const before = process.memoryUsage().rss;
for (let round = 0; round < 3; round += 1) logged();
globalThis.gc();
console.log(JSON.stringify({ grown: process.memoryUsage().rss - before }));
`;

test('a log on a full disk fails no caller, and takes no memory that grows', async () => {
  const child = spawn(process.execPath, ['--expose-gc', '--input-type=module', '--eval', script], {
    cwd: join(import.meta.dirname, '../..'),
    stdio: ['ignore', 'pipe', openSync('/dev/full', 'w')],
  });
  const output = (child.stdout as Readable).setEncoding('utf8').toArray();
  expect(await once(child, 'close')).toEqual([0, null]);
  const { grown } = JSON.parse((await output).join('')) as { grown: number };
  expect(grown).toBeLessThan(32 * 1024 * 1024);
});

import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { findIsolation, runIsolated } from '#platform/commands/isolation.ts';

const env = { PATH: process.env['PATH'] ?? '' };
const found = await findIsolation({ env, readOnly: null });

it.skipIf(!('isolation' in found))('a command that is killed behind its isolation has ended by a signal', async () => {
  const isolation = 'isolation' in found ? found.isolation : [];
  const name = randomUUID();
  // Under that name alone: its isolation has it among its arguments.
  const kill = async () => {
    for (;;) {
      for (const pid of await readdir('/proc')) {
        const line = /^\d+$/.test(pid) ? await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '') : '';
        if (line.startsWith(`${name}\0`)) return process.kill(Number(pid), 'SIGKILL');
      }
      await sleep(20);
    }
  };
  const command = { program: 'bash', args: ['-c', `echo ready && exec -a ${name} sleep 60`] };
  const options = { env, timeoutMs: 30_000, onStdoutLine: () => void kill() };
  const outcome = await runIsolated(command, isolation, options);
  expect(outcome).toMatchObject({ exitCode: null, signal: 'SIGKILL', timedOut: false });
  const failing = { program: 'bash', args: ['-c', 'echo Error >&2; exit 1'] };
  expect(await runIsolated(failing, isolation, { env, timeoutMs: 30_000 })).toMatchObject({
    exitCode: 1,
    signal: null,
  });
});

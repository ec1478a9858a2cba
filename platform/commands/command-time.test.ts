import { spawnSync } from 'node:child_process';
import { describe, expect, it, vi } from 'vitest';
import { CommandTime } from './command-time.ts';
import { runCommand } from './run-command.ts';

/** A script that uses so much processor time, asking for it seldom: to ask is a call of the kernel, which counts too. */
const busy = (ms: number) => `
  const usedMs = () => (({ user, system }) => (user + system) / 1000)(process.cpuUsage());
  const endMs = usedMs() + ${ms};
  while (usedMs() < endMs) for (let i = 0; i < 1e6; i += 1);`;
const run = (time: CommandTime, script: string) =>
  runCommand({ program: process.execPath, args: ['-e', script] }, { timeoutMs: 60_000, time });

// Counted through /proc.
describe.skipIf(process.platform !== 'linux')('the processor time of a command', () => {
  it('C37.23: a command that is killed counts whole, also without a reading', async () => {
    const time = new CommandTime();
    expect(await run(time, `${busy(300)} process.kill(process.pid, 'SIGKILL');`)).toMatchObject({ signal: 'SIGKILL' });
    expect(time.readMs()).toBeGreaterThanOrEqual(300);
    expect(time.readMs()).toBeLessThan(3_000);
  });

  it('C37.23: what another way of starting processes has used before is not counted', async () => {
    spawnSync(process.execPath, ['-e', busy(2_000)]);
    const time = new CommandTime();
    await run(time, `process.kill(process.pid, 'SIGKILL')`);
    expect(time.readMs()).toBeLessThan(1_500);
  });

  it('C37.23: a tool that ends with its killed runner counts by the last reading', async () => {
    const time = new CommandTime();
    const tool = `process.stdout.on('error', () => process.exit()); for (;;) process.stdout.write('.');`;
    const start = `require('node:child_process').spawn(process.execPath, ['-e', process.argv[1]])`;
    const stopping = new AbortController();
    const program = { program: process.execPath, args: ['-e', `${start}; setInterval(() => {}, 1000)`, tool] };
    const ended = runCommand(program, { timeoutMs: 60_000, time, signal: stopping.signal, killDelayMs: 0 });
    await vi.waitFor(() => expect(time.readMs()).toBeGreaterThan(700), { timeout: 30_000 });
    const readMs = time.readMs() ?? 0;
    stopping.abort(new Error('stopped'));
    await expect(ended).rejects.toThrow('stopped');
    expect(time.readMs()).toBeGreaterThanOrEqual(readMs);
  });

  it('C37.23: commands that end together count together what they used, each no less than was read', async () => {
    const times = [new CommandTime(), new CommandTime(), new CommandTime()];
    await Promise.all(times.map((time) => run(time, busy(200))));
    const wholeMs = times.reduce((sum, time) => sum + (time.readMs() ?? 0), 0);
    expect(wholeMs).toBeGreaterThanOrEqual(600);
    expect(wholeMs).toBeLessThan(6_000);
  });
});

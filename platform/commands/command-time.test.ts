import { describe, expect, it, vi } from 'vitest';
import { CommandTime } from './command-time.ts';
import { runCommand } from './run-command.ts';

const busy = (ms: number) =>
  `const end = process.cpuUsage().user + ${ms} * 1000; while (process.cpuUsage().user < end);`;
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

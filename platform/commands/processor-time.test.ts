import { once } from 'node:events';
import { spawn } from 'node:child_process';
import { expect, it, vi } from 'vitest';
import { ProcessorMeter } from './processor-time.ts';

it('the processor time so far has that of a tool that runs, and a lap has it once the tool has ended', async () => {
  const meter = new ProcessorMeter();
  await meter.lapMs();
  const tool = spawn('sh', ['-c', 'while :; do :; done'], { stdio: 'ignore' });
  await vi.waitFor(async () => expect(await meter.soFarMs()).toBeGreaterThan(300), { timeout: 30_000, interval: 50 });
  const beforeMs = (await meter.soFarMs()) ?? 0;
  tool.kill('SIGKILL');
  await once(tool, 'close');
  expect(await meter.lapMs()).toBeGreaterThanOrEqual(beforeMs - 10);
  expect(await meter.soFarMs()).toBeLessThan(200);
});

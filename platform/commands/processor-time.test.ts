import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

// In a process of its own: the threads that run other tests beside this one would be counted with it.
const program = `
import { once } from 'node:events';
import { spawn } from 'node:child_process';
import { ProcessorMeter } from '${new URL('processor-time.ts', import.meta.url).href}';

const meter = new ProcessorMeter();
meter.lapMs();
const tool = spawn('sh', ['-c', 'while :; do :; done'], { stdio: 'ignore' });
while (meter.soFarMs() <= 300) await new Promise((resolve) => setTimeout(resolve, 50));
const beforeMs = meter.soFarMs();
tool.kill('SIGKILL');
await once(tool, 'close');
console.log(JSON.stringify({ beforeMs, lapMs: meter.lapMs(), afterMs: meter.soFarMs() }));
`;

it('the processor time so far has that of a tool that runs, and a lap has it once the tool has ended', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program]);
  const { beforeMs, lapMs, afterMs } = JSON.parse(stdout) as { beforeMs: number; lapMs: number; afterMs: number };
  expect(beforeMs).toBeGreaterThan(300);
  expect(lapMs).toBeGreaterThanOrEqual(beforeMs - 10);
  expect(afterMs).toBeLessThan(200);
});

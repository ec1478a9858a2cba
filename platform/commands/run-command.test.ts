import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Command } from './command.ts';
import { runCommand } from './run-command.ts';

const timeoutMs = 20_000;

/** Node itself is the one program that is always there. */
function node(script: string, secrets: string[] = []): Command {
  return { program: process.execPath, args: ['-e', script], secrets };
}

/** The processes whose command line holds `mark`. */
function processesWith(mark: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(mark);
      } catch {
        return false;
      }
    })
    .map(Number);
}

async function hasEnded(mark: string): Promise<boolean> {
  for (let tries = 0; tries < 40; tries += 1) {
    if (processesWith(mark).length === 0) return true;
    await sleep(50);
  }
  return false;
}

let dir: string;
beforeAll(async () => {
  dir = await realpath(await mkdtemp(join(tmpdir(), 'reelwright-commands-')));
});
afterAll(() => rm(dir, { recursive: true }));

describe('a command that ends by itself', () => {
  it('a command that ends by itself gives its exit code and its output', async () => {
    const script = 'console.log("out"); console.error("err"); process.exitCode = 7';
    const outcome = await runCommand(node(script), { timeoutMs });
    expect(outcome).toEqual({ exitCode: 7, signal: null, stdout: 'out\n', stderrTail: 'err\n', timedOut: false });
  });

  it('a command that ends by itself runs without a shell, in its folder, with its environment and no other', async () => {
    const script = 'console.log(JSON.stringify([process.argv.slice(1), process.cwd(), process.env]))';
    const args = ['-e', script, '$HOME; echo `id`', '*'];
    const outcome = await runCommand(
      { program: process.execPath, args },
      { timeoutMs, cwd: dir, env: { ONLY: 'this' } },
    );
    expect(JSON.parse(outcome.stdout)).toEqual([['$HOME; echo `id`', '*'], dir, { ONLY: 'this' }]);
    const bare = await runCommand(node('console.log(Object.keys(process.env).length)'), { timeoutMs });
    expect(bare.stdout).toBe('0\n');
  });

  it('what a command leaves running ends with it', async () => {
    const mark = `left-behind-${process.pid}`;
    const child = `require("child_process").spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)", "${mark}"], { stdio: "inherit" }).unref()`;
    const outcome = await runCommand(node(`${child}; console.log("done")`), { timeoutMs });
    expect(outcome).toMatchObject({ exitCode: 0, stdout: 'done\n' });
    expect(await hasEnded(mark)).toBe(true);
  });

  it('a command does not wait for a process that has left its group and holds its output open', async () => {
    const mark = `escaped-${process.pid}`;
    const child = `require("child_process").spawn(process.execPath, ["-e", "setTimeout(() => {}, 8000)", "${mark}"], { stdio: "inherit", detached: true }).unref()`;
    const start = performance.now();
    await runCommand(node(child), { timeoutMs });
    expect(performance.now() - start).toBeLessThan(6000);
    for (const pid of processesWith(mark)) process.kill(pid, 'SIGKILL');
  });
});

describe('a program that cannot be started', () => {
  it('a program that does not exist is named in the error', async () => {
    const missing = runCommand({ program: '/nowhere/ffmpeg', args: [] }, { timeoutMs });
    await expect(missing).rejects.toThrow('cannot start /nowhere/ffmpeg: no such program');
  });
});

describe('a command that is stopped', () => {
  it('a command that is stopped ends with its whole group after its timeout', async () => {
    const mark = `timed-out-${process.pid}`;
    const child = `require("child_process").spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)", "${mark}"])`;
    const outcome = await runCommand(node(`${child}; setInterval(() => {}, 1000)`), { timeoutMs: 500 });
    expect(outcome).toMatchObject({ exitCode: null, signal: 'SIGTERM', timedOut: true });
    expect(await hasEnded(mark)).toBe(true);
  });

  it('a command that is stopped and does not end is killed after three seconds', async () => {
    const script = 'process.on("SIGTERM", () => console.log("no")); setInterval(() => {}, 1000)';
    const start = performance.now();
    const outcome = await runCommand(node(script), { timeoutMs: 500 });
    const tookMs = performance.now() - start;
    expect(outcome).toMatchObject({ signal: 'SIGKILL', timedOut: true, stdout: 'no\n' });
    expect(tookMs).toBeGreaterThan(3400);
    expect(tookMs).toBeLessThan(5000);
  });

  it('a command that is stopped ends on abort, with the reason', async () => {
    const mark = `aborted-${process.pid}`;
    const stopping = new AbortController();
    const reason = new Error('shutting down');
    const run = runCommand(node(`"${mark}"; setInterval(() => {}, 1000)`), { timeoutMs, signal: stopping.signal });
    setTimeout(() => stopping.abort(reason), 300);
    await expect(run).rejects.toBe(reason);
    expect(await hasEnded(mark)).toBe(true);
  });

  it('a command is not started for a signal that is aborted already', async () => {
    const path = join(dir, 'never');
    const reason = new Error('too late');
    const script = `require("fs").writeFileSync(${JSON.stringify(path)}, "")`;
    const run = runCommand(node(script), { timeoutMs, signal: AbortSignal.abort(reason) });
    await expect(run).rejects.toBe(reason);
    await sleep(200);
    await expect(readFile(path)).rejects.toThrow('ENOENT');
  });

  it('a command that is stopped ends with this process', async () => {
    const mark = `orphan-${process.pid}`;
    const module = join(import.meta.dirname, 'run-command.ts');
    const script = `
      const { runCommand } = await import(${JSON.stringify(module)});
      runCommand({ program: process.execPath, args: ["-e", "setInterval(() => {}, 1000)", "${mark}"] }, { timeoutMs: 20000 });
      setTimeout(() => process.exit(3), 300);`;
    const command = { program: process.execPath, args: ['--input-type=module', '-e', script] };
    expect(await runCommand(command, { timeoutMs })).toMatchObject({ exitCode: 3 });
    expect(await hasEnded(mark)).toBe(true);
  });
});

describe('output', () => {
  it('output comes line by line, also the last one without an end', async () => {
    const lines: string[] = [];
    const errors: string[] = [];
    const script = 'process.stdout.write("a\\nb\\r\\nc\\rd"); process.stderr.write("e\\n")';
    await runCommand(node(script), {
      timeoutMs,
      onStdoutLine: (line) => lines.push(line),
      onStderrLine: (line) => errors.push(line),
    });
    expect(lines).toEqual(['a', 'b', 'c', 'd']);
    expect(errors).toEqual(['e']);
  });

  it('output without end is read and dropped past its bound', async () => {
    const script =
      'const a = "x".repeat(65536); const go = () => { while (process.stdout.write(a)); process.stdout.once("drain", go); }; go()';
    const before = process.memoryUsage().rss;
    const outcome = await runCommand(node(script), { timeoutMs: 1500, stdoutBytesMax: 1000 });
    expect(outcome.timedOut).toBe(true);
    expect(outcome.stdout).toBe('x'.repeat(1000));
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024);
  });

  it('output of stderr is kept from its end, 4 kB at most, redacted', async () => {
    const key = '0123456789abcdef0123456789abcdef';
    const script = `
      for (let n = 0; n < 2000; n++) console.error("line " + n);
      console.error("opening https://user:pw@host/path?X-Amz-Signature=abc with key ${key} and top-secret-value é");`;
    const { stderrTail } = await runCommand(node(script, ['top-secret-value']), { timeoutMs });
    expect(Buffer.byteLength(stderrTail)).toBeLessThanOrEqual(4096);
    expect(Buffer.byteLength(stderrTail)).toBeGreaterThan(3000);
    expect(stderrTail).toContain('line 1999\nopening https://***@host/path?*** with key *** and *** é\n');
    expect(stderrTail).not.toContain(key);
  });

  it('output that a callback cannot take stops the command and fails the call', async () => {
    const mark = `callback-${process.pid}`;
    const failure = new Error('this is no report');
    const run = runCommand(node(`"${mark}"; console.log("x"); setInterval(() => {}, 1000)`), {
      timeoutMs,
      onStdoutLine: () => {
        throw failure;
      },
    });
    await expect(run).rejects.toBe(failure);
    expect(await hasEnded(mark)).toBe(true);
  });
});

describe('input', () => {
  it('input is closed when none is given', async () => {
    const script = 'process.stdin.on("end", () => console.log("ended")).resume()';
    expect((await runCommand(node(script), { timeoutMs })).stdout).toBe('ended\n');
  });

  it('input that fails stops the command and fails the call', async () => {
    const failure = new Error('the source was deleted');
    const stdin = new Readable({ read: () => stdin.destroy(failure) });
    await expect(
      runCommand(node('process.stdin.resume(); setInterval(() => {}, 1000)'), { timeoutMs, stdin }),
    ).rejects.toBe(failure);
  });
});

import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findProgram } from './find-program.ts';
import { runCommand } from './run-command.ts';

let dir: string;
const makeProgram = (path: string, mode = 0o755) => {
  writeFileSync(path, '#!/bin/sh\n');
  chmodSync(path, mode);
  return path;
};

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'reelwright-programs-'));
  for (const folder of ['first', 'second']) mkdirSync(join(dir, folder));
});
afterAll(() => rmSync(dir, { recursive: true }));

describe('finding a tool', () => {
  it('finding a tool takes what the variable names before anything else', () => {
    const mine = makeProgram(join(dir, 'my-packager'));
    expect(findProgram('packager', { PACKAGER_PATH: mine, PATH: dir })).toBe(mine);
  });

  it('finding a tool refuses a variable that names no program, in one line that names the variable', () => {
    const path = makeProgram(join(dir, 'not-executable'), 0o644);
    for (const wrong of [path, join(dir, 'missing'), dir]) {
      expect(() => findProgram('ffmpeg', { FFMPEG_PATH: wrong, PATH: '/usr/bin' })).toThrow(
        `FFMPEG_PATH names no program that can be run: ${wrong}`,
      );
    }
  });

  it('finding a tool goes through PATH in its order, past what cannot be run', () => {
    makeProgram(join(dir, 'first/ffprobe'), 0o644);
    const second = makeProgram(join(dir, 'second/ffprobe'));
    const path = `:${join(dir, 'nowhere')}:${join(dir, 'first')}:${join(dir, 'second')}`;
    expect(findProgram('ffprobe', { PATH: path, FFPROBE_PATH: '' })).toBe(second);
  });

  it('finding a tool takes the packager out of its npm package, and that one runs', async () => {
    const program = findProgram('packager', {});
    expect(program).toContain('shaka-packager/bin/packager-');
    const { exitCode, stdout, stderrTail } = await runCommand({ program, args: ['--version'] }, { timeoutMs: 20_000 });
    expect(exitCode).toBe(0);
    expect(stdout + stderrTail).toContain('3.4.2');
  });

  it('finding a tool that measures VMAF takes ffmpeg where PATH has no ffmpeg-vmaf', () => {
    const ffmpeg = makeProgram(join(dir, 'my-ffmpeg'));
    expect(findProgram('vmaf', { FFMPEG_PATH: ffmpeg, PATH: join(dir, 'nowhere') })).toBe(ffmpeg);
    const own = makeProgram(join(dir, 'second/ffmpeg-vmaf'));
    expect(findProgram('vmaf', { FFMPEG_PATH: ffmpeg, PATH: join(dir, 'second') })).toBe(own);
  });

  it('finding a tool says what is missing and which variable helps when it finds none', () => {
    let found: string | Error;
    try {
      found = findProgram('ffmpeg', { PATH: join(dir, 'nowhere') });
    } catch (error) {
      found = error as Error;
    }
    // Where the optional package ffmpeg-static is installed, it is what is found.
    if (typeof found === 'string') expect(found).toContain('ffmpeg-static');
    else expect(found.message).toBe('ffmpeg was not found in node_modules or on PATH: install it or set FFMPEG_PATH');
  });
});

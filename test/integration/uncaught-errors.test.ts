import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { endPrograms, secrets, startProgram } from '../../testing/programs.ts';

// An uncaught error is logged once; the program then stops as after a signal and ends with 1, so that its supervisor
// starts it again.

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'reelwright-uncaught-'));
});
afterEach(endPrograms);
afterAll(() => rm(dir, { recursive: true, force: true }));

const planted = {
  uncaughtException: 'throw new Error("planted")',
  unhandledRejection: 'void Promise.reject(new Error("planted"))',
};

describe.each(Object.entries(planted))('an %s', (kind, statement) => {
  it('an uncaught error ends the process with exit code 1 after a log line with its stack', async () => {
    const script = `process.on('SIGUSR2', () => { ${statement} })`;
    const program = await startProgram({
      env: {
        MODE: 'server',
        SERVER_SURFACES: 'delivery',
        KEY_TOKEN_SECRET: secrets.KEY_TOKEN_SECRET,
        ENCRYPTION_KEY: secrets.ENCRYPTION_KEY,
        DATABASE_URL: 'postgres://unused@127.0.0.1:1/none',
        MEDIA_BUCKET: `file:${dir}`,
        // The program does not use SIGUSR2, so the test decides when.
        NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(script)}`,
      },
      waits: 'alive',
    });
    program.signal('SIGUSR2');
    expect(await program.ended).toBe(1);
    const lines = program.output().trim().split('\n');
    const logged = lines.map(
      (line) => JSON.parse(line) as { level: string; msg: string; event?: string; err?: Record<string, string> },
    );
    const fatal = logged.filter(({ level }) => level === 'fatal');
    expect(fatal).toHaveLength(1);
    expect(fatal[0]).toMatchObject({ msg: 'uncaught error', event: kind });
    expect(fatal[0]?.err).toMatchObject({ message: 'planted', stack: expect.stringContaining('at ') as string });
    expect(logged.at(-1)?.msg).toBe('stopped');
  });
});

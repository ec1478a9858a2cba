import { describe, expect, it } from 'vitest';
import { createLogger, type Logger, type LogLevel } from './logger.ts';

function logged(write: (log: Logger) => void, level: LogLevel = 'info'): Record<string, unknown>[] {
  const lines: string[] = [];
  write(createLogger({ level, name: 'test', destination: { write: (line) => void lines.push(line) } }));
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

function writeTwo(log: Logger): void {
  log.debug('a');
  log.warn('b');
}

const key = '0123456789abcdef0123456789abcdef';

describe('a line of the log', () => {
  it('a line of the log is JSON with level, time, name, fields and message', () => {
    const [line] = logged((log) => log.info({ jobId: 'a', sizeBytes: 5, done: true, at: new Date(0) }, 'started'));
    expect(line).toEqual({
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      name: 'test',
      jobId: 'a',
      sizeBytes: 5,
      done: true,
      at: '1970-01-01T00:00:00.000Z',
      msg: 'started',
    });
  });

  it('a line of the log is written from its level on', () => {
    expect(logged(writeTwo).map(({ msg }) => msg)).toEqual(['b']);
    expect(logged(writeTwo, 'silent')).toEqual([]);
  });

  it('a line of the log carries the fields of its child', () => {
    const [line] = logged((log) => log.child({ jobId: 'a', apiKey: 'hunter2' }).info('x'));
    expect(line).toMatchObject({ jobId: 'a', apiKey: '***' });
  });
});

describe('secrets', () => {
  it.each([
    'secret',
    'password',
    'apiKey',
    'x-api-key',
    'authorization',
    'cookie',
    'token',
    'encryptionKeys',
    'privateKey',
    'credentials',
    'signature',
  ])('secrets are masked in a field named %s, at any depth and of any kind', (name) => {
    const [line] = logged((log) =>
      log.info(
        { [name]: 'hunter2', deep: { list: [{ [name]: ['hunter2'] }] }, more: { [name]: { a: 'hunter2' } } },
        'x',
      ),
    );
    expect(line).toMatchObject({ [name]: '***', deep: { list: [{ [name]: '***' }] }, more: { [name]: '***' } });
    expect(JSON.stringify(line)).not.toContain('hunter2');
  });

  it('secrets are redacted in messages and in every text', () => {
    const [line] = logged((log) =>
      log.info({ url: 'postgres://me:hunter2@db/x', list: [`key ${key}`] }, `opening https://u:hunter2@h/?sig=${key}`),
    );
    expect(line).toMatchObject({
      url: 'postgres://***@db/x',
      list: ['key ***'],
      msg: 'opening https://***@h/?***',
    });
  });

  it('secrets are redacted in values put into the message, and masked in objects put there', () => {
    const lines = logged((log) => {
      log.info('opening %s with %s', 'https://u:hunter2@h/', key);
      log.info(`plain ${key}`);
    });
    expect(lines.map(({ msg }) => msg)).toEqual(['opening https://***@h/ with ***', 'plain ***']);
  });

  it('secrets are redacted in errors and in what caused them', () => {
    const cause = Object.assign(new Error(`refused by https://u:hunter2@h/`), {
      code: 'ECONNREFUSED',
      token: 'hunter2',
    });
    const [line] = logged((log) => log.error({ err: new Error(`bad key ${key}`, { cause }) }, 'failed'));
    expect(line).toMatchObject({
      err: {
        type: 'Error',
        message: 'bad key ***',
        stack: expect.stringContaining('logger.test.ts'),
        cause: { message: 'refused by https://***@h/', code: 'ECONNREFUSED', token: '***' },
      },
    });
    expect(JSON.stringify(line)).not.toMatch(/hunter2|0123456789abcdef/);
  });

  it('leave identifiers readable that are long hex by nature', () => {
    const fields = { traceId: key, trace_id: key, hash: key, kid: key, key: `videos/ab/${key}/master.m3u8` };
    expect(logged((log) => log.info(fields, 'x'))[0]).toMatchObject(fields);
    expect(logged((log) => log.info({ key }, 'x'))[0]).toMatchObject({ key: '***' });
  });
});

describe('odd fields', () => {
  it('odd fields do not break a line: bytes, deep and circular objects, nothing, big numbers', () => {
    const circular: Record<string, unknown> = { a: 1 };
    circular['self'] = circular;
    const [line] = logged((log) =>
      log.info({ bytes: Buffer.from('hunter2'), circular, nothing: null, missing: undefined, big: 2n ** 70n }, 'x'),
    );
    expect(line).toMatchObject({ bytes: '7 bytes', nothing: null, big: '1180591620717411303424', msg: 'x' });
  });
});

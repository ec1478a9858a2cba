import { expect, it } from 'vitest';
import { ReelwrightError } from '../clients/typescript/src/index.ts';
import { openOutput, printable, printError, table, timeText } from './output.ts';
import { TransferRate } from './progress.ts';

function outlets({ isTTY = true, isJson = false, columns = 40, env = {} as Record<string, string> }) {
  const written = { stdout: '', stderr: '' };
  const outlet = (name: 'stdout' | 'stderr') => ({
    isTTY,
    columns,
    write: (text: string) => (written[name] += text),
  });
  const both = { stdout: outlet('stdout'), stderr: outlet('stderr') };
  return { written, output: openOutput({ isJson, env, ...both }), ...both };
}

it.each([
  ['on a terminal', {}, true],
  ['in a pipe', { isTTY: false }, false],
  ['with NO_COLOR', { env: { NO_COLOR: '1' } }, false],
  ['with an empty NO_COLOR', { env: { NO_COLOR: '' } }, true],
  ['on a dumb terminal', { env: { TERM: 'dumb' } }, false],
  ['with --json', { isJson: true }, false],
])('%s a text has its colour or not', (_, given, hasColour) => {
  const { output, written } = outlets(given);
  output.result('x', 'text', { colour: 'red', word: 'fault' });
  expect(written.stdout.includes('\u001B[31mfault\u001B[0m  text')).toBe(hasColour);
});

it('a bar is one line of a terminal, which a result replaces', () => {
  const { written, output } = outlets({});
  output.bar('a'.repeat(100));
  output.result({ a: 1 }, 'done');
  expect(written.stderr).toBe(`\r\u001B[K${'a'.repeat(39)}\r\u001B[K`);
  expect(written.stdout).toBe('done\n');
});

it('without a terminal there is no bar, and with --json neither bar nor remark', () => {
  const piped = outlets({ isTTY: false });
  piped.output.bar('x');
  piped.output.note('remark');
  expect(piped.written).toEqual({ stdout: '', stderr: 'remark\n' });
  const json = outlets({ isJson: true });
  json.output.bar('x');
  json.output.note('remark');
  json.output.result({ a: 1 }, 'text');
  expect(json.written).toEqual({ stdout: '{"a":1}\n', stderr: '' });
});

it.each([
  [{ code: 'unauthorized', status: 401 }, 'the API key is refused: run reelwright login, or set REELWRIGHT_API_KEY'],
  [{ code: 'not_found', status: 404, traceId: 'abc' }, 'not_found: There is no job'],
  [
    { code: 'internal_error', status: 500, traceId: 'abc' },
    'internal_error: There is no job. Look up the trace id in the log of the service. (trace id abc)',
  ],
  [{ code: 'source_missing', status: 400 }, 'There is no job. There is no such file here either.'],
])('the error %j is one line, the fault first', (fields, line) => {
  const { written, stderr } = outlets({});
  printError(new ReelwrightError({ detail: 'There is no job.', ...fields }), { isJson: false, stderr });
  expect(written.stderr).toBe(`reelwright: ${line}\n`);
});

it.each([
  [30, 'just now'],
  [61, '1 min ago'],
  [7_300, '2 h ago'],
  [200_000, '2 d ago'],
  [-7_300, 'in 2 h'],
])('a time %d seconds ago is read as %s, and stays as it is for programs', (seconds, text) => {
  const now = Date.parse('2026-11-27T12:00:00Z');
  const iso = new Date(now - seconds * 1000).toISOString();
  expect(timeText(iso, { isRead: true }, now)).toBe(text);
  expect(timeText(iso, { isRead: false }, now)).toBe(iso);
});

it('a cell has its colour where a person looks, and columns stay as wide as their words', () => {
  const rows = [
    [{ colour: 'red', word: 'failed' }, 'a'],
    ['ok', 'b'],
  ] as const;
  expect(table(['S', 'X'], rows, true)).toBe('S       X\n\u001B[31mfailed\u001B[0m  a\nok      b');
  expect(table(['S', 'X'], rows)).toBe('S       X\nfailed  a\nok      b');
});

it('an error is a line with what to do, and one JSON document with --json', () => {
  const error = new ReelwrightError({ code: 'not_found', status: 404, detail: 'no\u001B[31m job', traceId: 'abc' });
  const { written, stderr } = outlets({});
  printError(error, { isJson: false, stderr });
  expect(written.stderr).toContain('reelwright: not_found: no?[31m job\n');
  written.stderr = '';
  printError(error, { isJson: true, stderr });
  expect(JSON.parse(written.stderr)).toMatchObject({
    error: {
      code: 'not_found',
      status: 404,
      errors: [],
      trace_id: 'abc',
      advice: expect.stringContaining('id') as string,
    },
  });
});

it('no way out of the program passes what steers a terminal', () => {
  const hostile = '\u001B]0;title\u0007\u009B2J\u202Edesrever\r';
  // oxlint-disable-next-line no-control-regex -- it is what must not be there
  const steering = /[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u202E]/;
  for (const isJson of [false, true]) {
    const { output, written, stderr } = outlets({ isJson });
    output.result({ hostile }, hostile);
    output.note(hostile);
    const error = new ReelwrightError({ code: hostile, detail: hostile, traceId: hostile });
    printError(Object.defineProperty(error, 'advice', { value: hostile }), { isJson, stderr });
    expect(`${written.stdout}${written.stderr}`).not.toMatch(steering);
  }
  const { output, written } = outlets({});
  output.bar(`\n${hostile}`);
  expect(written.stderr.slice('\r\u001B[K'.length)).toBe('??]0;title??2J?desrever?');
});

it('a table has columns as wide as their cells, without control characters', () => {
  expect(table(['A', 'B'], [['long', 'x\u0007\n']])).toBe('A     B\nlong  x??');
});

it('text of a service steers no terminal: neither ESC nor its forms of one byte pass', () => {
  const text = ['\u0000', '\u001B[2J', '\r', '\u007F', '\u0080', '\u009B2J', '\u009F'].join('a');
  expect(printable(text)).toBe('?a?[2Ja?a?a?a?2Ja?');
  expect(printable('line\nÄ\u00A0 片')).toBe('line\nÄ\u00A0 片');
});

it('the rate of a transfer is of its last seconds, and what it resumed with does not count', () => {
  let now = 0;
  const rate = new TransferRate(() => now);
  const mebibyte = 1024 ** 2;
  expect(rate.line(50 * mebibyte, 100 * mebibyte)).toBe('[#####.....]  50 %  50.0 MiB of 100 MiB');
  now = 5_000;
  expect(rate.line(60 * mebibyte, 100 * mebibyte)).toContain('2.0 MiB/s  ends in 0:20');
  now = 6_000;
  expect(rate.line(40 * mebibyte, 100 * mebibyte)).not.toContain('/s');
  now = 8_000;
  expect(rate.line(44 * mebibyte, 100 * mebibyte)).toContain('2.0 MiB/s  ends in 0:28');
});

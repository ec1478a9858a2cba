import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { type Call, checkArgs, findCommand, readCall } from './command.ts';
import { commands } from './commands/index.ts';
import { jobOptionsOf } from './commands/submit.ts';
import { helpOf, helpOfProgram } from './help.ts';

function callOf(...argv: string[]): Call {
  const call = findCommand(argv, commands);
  if ('helpOf' in call) throw new Error('no command');
  return call;
}

const read = (...argv: string[]) => {
  const call = callOf(...argv);
  const { args, options } = readCall(call);
  checkArgs(call.command, args);
  return { args, options };
};

it('the help of the program and of every command is the one of cli/help.txt', async () => {
  const texts = [helpOfProgram(commands), ...commands.map(helpOf)];
  await expect(texts.join(`${'-'.repeat(80)}\n`)).toMatchFileSnapshot('help.txt');
});

it('the example of every command is a call of it', () => {
  for (const { name, example, args } of commands) {
    const words = [...example.split(/ [<>] /)[0]!.matchAll(/'[^']*'|"[^"]*"|\S+/g)].map(([word]) => word);
    expect(callOf(...words).command.name).toBe(name);
    expect(() => read(...words), `${example} (${args})`).not.toThrow();
  }
});

it.each([
  [['submitt'], 'no command submitt; did you mean submit?'],
  [['explode'], 'no command explode; see reelwright --help'],
  [['jbos'], 'no command jbos; did you mean jobs?'],
  [['config', 'lits'], 'no command config lits; did you mean config list?'],
  [['help', 'explode'], 'no command explode; see reelwright --help'],
  [['jobs', '--stauts', 'failed'], 'jobs: no option --stauts; did you mean --status?'],
  [['jobs', '--colour'], 'jobs: no option --colour; see reelwright … --help'],
  [['job'], 'job: expected ID, found nothing'],
  [['cancel', 'a', 'b'], 'cancel: expected [ID], found a b'],
  [['jobs', '--limit'], "jobs: Option '-n, --limit <value>' argument missing"],
])('%j is refused with what was expected', (argv, message) => {
  expect(() => read(...argv)).toThrow(message);
});

it.each([
  [['--help'], commands.length],
  [[], commands.length],
  [['help'], commands.length],
  [['config'], 3],
  [['config', '--help'], 3],
  [['help', 'config'], 3],
  [['help', 'config', 'use'], 1],
  [['help', 'jobs'], 1],
])('%j asks for the help of so many commands: %i', (argv, count) => {
  const call = findCommand(argv, commands);
  expect('helpOf' in call ? call.helpOf.length : 0).toBe(count);
});

it('-s is the status of jobs, and a wrong word gets the nearest', () => {
  expect(read('jobs', '-s', 'failed').options.text('status')).toBe('failed');
  expect(() => read('jobs', '-s', 'fialed').options.word('status', ['failed', 'queued'])).toThrow(
    '--status: expected one of failed, queued, found "fialed"; did you mean failed?',
  );
});

it.each(['0', '-1', '1.5', 'many', '1e3', '100001', ' 1'])('--limit %j is refused with its bounds', (limit) => {
  const { options } = read('jobs', `--limit=${limit}`);
  expect(() => options.whole('limit', 1, 100_000)).toThrow('--limit: expected a whole number from 1 to 100000');
});

it('--limit takes its bounds themselves', () => {
  const limits = ['1', '100000'].map((limit) => read('jobs', '-n', limit).options.whole('limit', 1, 100_000));
  expect(limits).toEqual([1, 100_000]);
});

it('an option of a job is a path and a value, which is JSON or a text', () => {
  const given = ['transcode.encrypt=true', 'transcode.profile=a=b', 'outputs=[{"width":1}]', 'format=webp', 'empty='];
  expect(jobOptionsOf(given)).toEqual({
    transcode: { encrypt: true, profile: 'a=b' },
    outputs: [{ width: 1 }],
    format: 'webp',
    empty: '',
  });
});

it.each(['encrypt', '=true', '__proto__.a=1', 'A=1'])('--option %j is refused', (option) => {
  expect(() => jobOptionsOf([option])).toThrow('--option: expected NAME=VALUE');
});

it('an option beside its own part is refused, and the prototype of objects is no option', () => {
  expect(() => jobOptionsOf(['a=1', 'a.b=2'])).toThrow('--option: a.b is given beside a');
  expect(Object.hasOwn(jobOptionsOf(['constructor.name=1']), 'constructor')).toBe(true);
});

it('the scripts of completion have every command and option, and a shell reads the one for bash', async () => {
  const completion = commands.find(({ name }) => name === 'completion');
  const scripts = new Map<string, string>();
  for (const shell of ['bash', 'zsh', 'fish']) {
    const output = { result: (_: unknown, text: string) => void scripts.set(shell, text) };
    await completion?.run({ args: [shell], output } as never);
  }
  for (const script of scripts.values())
    for (const { name, options } of commands.filter(({ isHidden }) => isHidden !== true)) {
      for (const word of name.split(' ')) expect(script).toContain(word);
      for (const option of Object.keys(options)) expect(script).toContain(option);
    }
  const bash = scripts.get('bash') ?? '';
  const completedBy = (line: string, word: string) => {
    const words = line.split(' ');
    const called = `reelwright() { [ "$*" = "complete jobs" ] && printf '7d8a-1\n7d8a-2\n'; }`;
    const asked = `COMP_WORDS=(${line}); COMP_CWORD=${words.length - 1}; _reelwright reelwright '${word}' ${words.at(-2)}`;
    const script = `${called}\n${bash}\n${asked}; echo "\${COMPREPLY[*]}"`;
    return execFileSync('bash', ['-c', script], { encoding: 'utf8' }).trim();
  };
  expect(completedBy('reelwright config us', 'us')).toBe('use');
  expect(completedBy('reelwright jobs -s fa', 'fa')).toBe('failed');
  expect(completedBy('reelwright submit --type image', 'image')).toBe('image:thumbnail');
  expect(completedBy('reelwright watch 7d', '7d')).toBe('7d8a-1 7d8a-2');
  await expect(completion?.run({ args: ['tcsh'] } as never)).rejects.toThrow('expected bash, zsh or fish');
});

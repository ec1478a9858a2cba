import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { checkArgs, findCommand, readCall } from './command.ts';
import { commands } from './commands/index.ts';
import { jobOptionsOf } from './commands/submit.ts';
import { helpOf, helpOfProgram } from './help.ts';

const read = (...argv: string[]) => {
  const call = findCommand(argv, commands);
  if (call === null) throw new Error('no command');
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
    expect(findCommand(words, commands)?.command.name).toBe(name);
    expect(() => read(...words), `${example} (${args})`).not.toThrow();
  }
});

it.each([
  [['submitt'], 'no command submitt; did you mean submit?'],
  [['explode'], 'no command explode; see reelwright --help'],
  [['config'], 'no command config; did you mean config list or config use or config remove?'],
  [['jobs', '--stauts', 'failed'], 'jobs: no option --stauts; did you mean --status?'],
  [['jobs', '--colour'], 'jobs: no option --colour; see reelwright … --help'],
  [['job'], 'job: expected ID, found nothing'],
  [['cancel', 'a', 'b'], 'cancel: expected ID, found a b'],
  [['jobs', '--limit'], "jobs: Option '-n, --limit <value>' argument missing"],
])('%j is refused with what was expected', (argv, message) => {
  expect(() => read(...argv)).toThrow(message);
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
    for (const { name, options } of commands) {
      for (const word of name.split(' ')) expect(script).toContain(word);
      for (const option of Object.keys(options)) expect(script).toContain(option);
    }
  const bash = scripts.get('bash') ?? '';
  const asked =
    'COMP_WORDS=(reelwright config us); COMP_CWORD=2; _reelwright reelwright us config; echo "${COMPREPLY[*]}"';
  expect(execFileSync('bash', ['-c', `${bash}\n${asked}`], { encoding: 'utf8' })).toBe('use\n');
  await expect(completion?.run({ args: ['tcsh'] } as never)).rejects.toThrow('expected bash, zsh or fish');
});

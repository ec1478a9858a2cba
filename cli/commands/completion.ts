import { jobTypeNames } from '#domain/job-types/index.ts';
import { type Command, sharedOptions } from '../command.ts';
import { UsageError } from '../exit-codes.ts';

// Completion: scripts for shells, made of the table of commands.

/** What a script completes: the first words, and by first word the second words and options. */
function wordsOf(commands: readonly Command[]): ReadonlyMap<string, readonly string[]> {
  const byFirst = new Map<string, Set<string>>();
  for (const { name, options } of commands) {
    const [first = '', second] = name.split(' ');
    const words = byFirst.get(first) ?? new Set<string>();
    if (second !== undefined) words.add(second);
    for (const option of Object.keys({ ...options, ...sharedOptions })) words.add(`--${option}`);
    byFirst.set(first, words);
  }
  return new Map([...byFirst].map(([first, words]) => [first, [...words]]));
}

function bash(commands: readonly Command[]): string {
  const words = wordsOf(commands);
  const cases = [...words].map(([first, each]) => `    ${first}) words='${each.join(' ')}' ;;`);
  return [
    '# reelwright completion bash > /etc/bash_completion.d/reelwright',
    '_reelwright() {',
    '  local words=',
    '  COMPREPLY=()',
    `  if [ "$COMP_CWORD" = 1 ]; then words='${[...words.keys()].join(' ')}'`,
    `  elif [ "$3" = --type ] || [ "$3" = -t ]; then words='${jobTypeNames.join(' ')}'`,
    '  else case "${COMP_WORDS[1]}" in',
    ...cases,
    '  esac; fi',
    '  COMPREPLY=($(compgen -W "$words" -- "$2"))',
    '}',
    'complete -o default -F _reelwright reelwright',
  ].join('\n');
}

function zsh(commands: readonly Command[]): string {
  const words = wordsOf(commands);
  return [
    '#compdef reelwright',
    '# reelwright completion zsh > "${fpath[1]}/_reelwright"',
    '_reelwright() {',
    `  if (( CURRENT == 2 )); then compadd -- ${[...words.keys()].join(' ')}; return; fi`,
    `  if [[ $words[CURRENT-1] == (--type|-t) ]]; then compadd -- ${jobTypeNames.join(' ')}; return; fi`,
    '  case $words[2] in',
    ...[...words].map(([first, each]) => `    ${first}) compadd -- ${each.join(' ')} ;;`),
    '  esac',
    '  _files',
    '}',
    'compdef _reelwright reelwright',
  ].join('\n');
}

function quoted(text: string): string {
  return `'${text.replaceAll(/['\\]/g, (found) => `\\${found}`)}'`;
}

function fish(commands: readonly Command[]): string {
  const lines = commands.flatMap(({ name, doc, options }) => {
    const [first = '', second] = name.split(' ');
    const named = `complete -c reelwright -n '__fish_use_subcommand' -f -a ${first} -d ${quoted(doc)}`;
    const below = `complete -c reelwright -n '__fish_seen_subcommand_from ${first}'`;
    const rows = Object.entries({ ...options, ...sharedOptions }).map(([option, row]) => {
      const values = option === 'type' ? ` -a ${quoted(jobTypeNames.join(' '))}` : '';
      return `${below} -l ${option}${row.value === undefined ? '' : ` -r${values}`} -d ${quoted(row.doc)}`;
    });
    return [named, ...(second === undefined ? [] : [`${below} -f -a ${second} -d ${quoted(doc)}`]), ...rows];
  });
  return ['# reelwright completion fish > ~/.config/fish/completions/reelwright.fish', ...lines].join('\n');
}

const shells = { bash, zsh, fish };

/** `reelwright completion`; `all` is asked for late, since the table has this command too. */
export function completionCommand(all: () => readonly Command[]): Command {
  return {
    name: 'completion',
    args: 'bash|zsh|fish',
    argsMin: 1,
    argsMax: 1,
    doc: 'Prints a script that completes commands and options in a shell.',
    example: 'completion bash > ~/.local/share/bash-completion/completions/reelwright',
    options: {},
    run: async ({ args: [shell = ''], output }) => {
      if (!Object.hasOwn(shells, shell)) throw new UsageError(`completion: expected bash, zsh or fish, found ${shell}`);
      const script = shells[shell as keyof typeof shells](all());
      output.result({ shell, script }, script);
    },
  };
}

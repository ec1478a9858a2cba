import { type Command, type Completed, completed, sharedOptions } from '../command.ts';
import { UsageError } from '../exit-codes.ts';
import { firstOf } from '../first-of.ts';
import { dataOf } from '../../clients/typescript/src/http.ts';
import { readConfig } from '../settings.ts';

// Completion: scripts for shells, made of the table of commands.

/** The words that a script completes after a first one: second words, options, the values of options, and arguments. */
interface Words {
  readonly words: readonly string[];
  /** By option, as it is written: `--type` and `-t`. */
  readonly values: ReadonlyMap<string, readonly string[]>;
  readonly completes: readonly Completed[];
}

function wordsOf(commands: readonly Command[]): ReadonlyMap<string, Words> {
  const shown = commands.filter(({ isHidden }) => isHidden !== true);
  const firsts = [...new Set(shown.map(({ name }) => name.split(' ')[0] ?? ''))];
  return new Map(firsts.map((first) => [first, wordsAfter(shown.filter(({ name }) => name.split(' ')[0] === first))]));
}

function wordsAfter(commands: readonly Command[]): Words {
  const rows = commands.flatMap(({ options }) => Object.entries({ ...options, ...sharedOptions }));
  const seconds = commands.flatMap(({ name }) => name.split(' ').slice(1));
  const values = rows.flatMap(([name, { short, words = [] }]): [string, readonly string[]][] =>
    words.length === 0
      ? []
      : [[`--${name}`, words], ...(short === undefined ? [] : [[`-${short}`, words] as [string, readonly string[]]])],
  );
  return {
    words: [...new Set([...seconds, ...rows.map(([name]) => `--${name}`)])],
    values: new Map(values),
    completes: [...new Set(commands.flatMap(({ completes }) => completes ?? []))],
  };
}

/** The shell's call for the words that the service or the configuration file knows. */
const asked = (completes: readonly Completed[]) =>
  completes.map((each) => ` $(reelwright complete ${each} 2>/dev/null)`).join('');

const serverOptions = ['--server', '-S'];

function bash(commands: readonly Command[]): string {
  const words = wordsOf(commands);
  const cases = [...words].map(([first, { words: each, completes, values }]) => {
    const byOption = [...values].map(([option, of]) => `${option}) words='${of.join(' ')}' ;;`);
    const rest = `*) case "$2" in -*) words='${each.join(' ')}' ;; *) words="${each.join(' ')}${asked(completes)}" ;; esac ;;`;
    return `    ${first}) case "$3" in ${[...byOption, rest].join(' ')} esac ;;`;
  });
  return [
    '# reelwright completion bash > /etc/bash_completion.d/reelwright',
    '_reelwright() {',
    '  local words=',
    '  COMPREPLY=()',
    `  if [ "$COMP_CWORD" = 1 ]; then words='${[...words.keys()].join(' ')}'`,
    `  elif [ "$3" = ${serverOptions.join(' ] || [ "$3" = ')} ]; then words="${asked(['servers'])}"`,
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
  const cases = [...words].map(([first, { words: each, completes, values }]) => {
    const byOption = [...values].map(([option, of]) => `(${option}) compadd -- ${of.join(' ')}; return ;;`);
    return `    ${first}) case $words[CURRENT-1] in ${byOption.join(' ')} *) compadd -- ${each.join(' ')}${asked(completes)} ;; esac ;;`;
  });
  return [
    '#compdef reelwright',
    '# reelwright completion zsh > "${fpath[1]}/_reelwright"',
    '_reelwright() {',
    `  if (( CURRENT == 2 )); then compadd -- ${[...words.keys()].join(' ')}; return; fi`,
    `  if [[ $words[CURRENT-1] == (${serverOptions.join('|')}) ]]; then compadd --${asked(['servers'])}; return; fi`,
    '  case $words[2] in',
    ...cases,
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
  const lines = commands.flatMap(({ name, doc, options, completes, isHidden }) => {
    if (isHidden === true) return [];
    const [first = '', second] = name.split(' ');
    const named = `complete -c reelwright -n '__fish_use_subcommand' -f -a ${first} -d ${quoted(doc)}`;
    const below = `complete -c reelwright -n '__fish_seen_subcommand_from ${first}'`;
    const rows = Object.entries({ ...options, ...sharedOptions }).map(([option, row]) => {
      const words = option === 'server' ? '(reelwright complete servers)' : (row.words ?? []).join(' ');
      const values = words === '' ? '' : ` -a ${quoted(words)}`;
      return `${below} -l ${option}${row.value === undefined ? '' : ` -r${values}`} -d ${quoted(row.doc)}`;
    });
    const args = completes === undefined ? [] : [`${below} -f -a ${quoted(`(reelwright complete ${completes})`)}`];
    return [named, ...(second === undefined ? [] : [`${below} -f -a ${second} -d ${quoted(doc)}`]), ...args, ...rows];
  });
  return ['# reelwright completion fish > ~/.config/fish/completions/reelwright.fish', ...lines].join('\n');
}

/** The most names that a completion asks for. */
const askedMax = 50;

/** `reelwright complete`, which the scripts call. */
export const complete: Command = {
  name: 'complete',
  args: completed.join('|'),
  argsMin: 1,
  argsMax: 1,
  isHidden: true,
  doc: 'Prints the newest names of a kind, a line each, for the completion of a shell.',
  example: 'complete jobs',
  options: {},
  run: async ({ args: [kind], output, client, env }) => {
    const names: string[] = [];
    if (kind === 'servers') names.push(...Object.keys((await readConfig(env)).servers));
    else if (kind === 'jobs')
      names.push(...(await firstOf((await client()).jobs({ limit: askedMax }), askedMax)).map(({ job_id: id }) => id));
    else if (kind === 'media')
      names.push(...(await firstOf((await client()).mediaList({ limit: askedMax }), askedMax)).map(({ hash }) => hash));
    else if (kind === 'rollouts') {
      const { rollouts } = await dataOf((await client()).http.GET('/api/rollouts', { params: { query: {} } }));
      names.push(...rollouts.map(({ rollout_id: id }) => id));
    } else throw new UsageError(`complete: expected one of ${completed.join(', ')}, found ${kind}`);
    output.result(names, names.join('\n'));
  },
};

const shells = { bash, zsh, fish };

/** `reelwright completion`; `all` is asked for late, since the table has this command too. */
export function completionCommand(all: () => readonly Command[]): Command {
  return {
    name: 'completion',
    args: 'bash|zsh|fish',
    argsMin: 1,
    argsMax: 1,
    doc: 'Prints a script that completes commands, options and their values in a shell.',
    example: 'completion bash > ~/.local/share/bash-completion/completions/reelwright',
    options: {},
    run: async ({ args: [shell = ''], output }) => {
      if (!Object.hasOwn(shells, shell)) throw new UsageError(`completion: expected bash, zsh or fish, found ${shell}`);
      const script = shells[shell as keyof typeof shells](all());
      output.result({ shell, script }, script);
    },
  };
}

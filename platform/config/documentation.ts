import type { Role, Variables } from './variable.ts';

/** A variable that a deployment of some roles has to set. */
interface Need {
  readonly name: string;
  readonly isSecret: boolean;
  /** Without it the process does not start. */
  readonly isRequired: boolean;
}

/** Every variable that a process of these roles reads: a chart gives a deployment these and no other. */
export function variablesOf(roles: readonly Role[], tables: readonly Variables[]): Need[] {
  return tables
    .flatMap((variables) => Object.values(variables))
    .filter(({ usedBy }) => usedBy.some((role) => roles.includes(role)))
    .map(({ name, isSecret, requiredBy }) => ({
      name,
      isSecret: isSecret === true,
      isRequired: requiredBy.some((role) => roles.includes(role)),
    }));
}

/** The table of docs/reference/configuration.md with a row for each variable: name, default, meaning. */
export function settingsTable(variables: Variables): string {
  const rows = Object.values(variables).map(({ name, isSecret, default: fallback, defaultDoc, doc }) => {
    const shown = typeof fallback === 'string' ? `\`${fallback}\`` : (defaultDoc ?? '–');
    return `| \`${name}\`${isSecret === true ? ' (secret)' : ''} | ${shown} | ${doc} |`;
  });
  return ['| name | default | meaning |', '| --- | --- | --- |', ...rows].join('\n');
}

/** The table of the page that says which part of the service requires what. */
export function rolesTable(tables: readonly Variables[]): string {
  const declared = tables.flatMap((variables) => Object.values(variables));
  const isOfSome = ({ requiredBy }: (typeof declared)[number]) =>
    requiredBy.length > 0 && !requiredBy.includes('kubernetes') && requiredBy.length < 3;
  const rows = declared.filter(isOfSome).map(({ name, requiredBy, usedBy }) => {
    const cells = (['api', 'delivery', 'worker'] as const).map((role) =>
      requiredBy.includes(role) ? 'yes' : usedBy.includes(role) ? 'optional' : '–',
    );
    return `| \`${name}\` | ${cells.join(' | ')} |`;
  });
  const head = '| variable | surface `api` | surface `delivery` | worker |';
  return [head, '| --- | --- | --- | --- |', ...rows].join('\n');
}

/** The text that `--help` prints. */
export function helpText(tables: Readonly<Record<string, Variables>>): string {
  const usage = [
    'Usage: npm start -- [--mode=all|server|worker] [--check-config] [--help]',
    '',
    '  --mode=         what this process does, like the variable MODE',
    '  --check-config  checks the configuration, lists every fault, and ends: 0 it is valid, 2 it is not',
    '  --help          prints this text and ends',
    '',
    'Everything else is set by environment variables (docs/reference/configuration.md).',
  ];
  const variables = Object.entries(tables).flatMap(([title, table]) => [
    '',
    `${title}:`,
    ...Object.values(table).flatMap(({ name, default: fallback, defaultDoc, doc }) => {
      const shown = typeof fallback === 'string' ? fallback : defaultDoc;
      return [`  ${name}${shown === undefined ? '' : ` (default: ${shown})`}`, `      ${doc}`];
    }),
  ]);
  return `${[...usage, ...variables].join('\n')}\n`;
}

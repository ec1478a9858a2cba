import type { Schemas } from '../../clients/typescript/src/index.ts';
import type { Command } from '../command.ts';
import { UsageError } from '../exit-codes.ts';
import { timeText } from '../output.ts';
import { dataOf } from '../../clients/typescript/src/http.ts';

// The commands about named API keys, for a key with the right `admin`.

type Key = Schemas['Key'];
type KeyRight = Key['rights'][number];

const rights: readonly KeyRight[] = ['read', 'submit', 'upload', 'import', 'delete', 'publish', 'admin'];

const quotaNames = [
  'jobs_at_once',
  'jobs_a_day',
  'output_minutes_a_day',
  'processor_hours_a_day',
  'stored_bytes',
] as const satisfies readonly Exclude<keyof NonNullable<Key['quotas']>, 'when_reached'>[];

/** Reads the quotas of `--quota NAME=N`. */
function quotasOf(given: readonly string[]): NonNullable<Key['quotas']> {
  const quotas = given.map((text) => {
    const [name = '', limit = ''] = text.split('=', 2);
    if (name === 'when_reached' && (limit === 'refuse' || limit === 'wait')) return [name, limit] as const;
    const known = quotaNames.find((each) => each === name);
    if (known === undefined || !(Number(limit) > 0)) {
      const found = JSON.stringify(text);
      const expected = `NAME=N with one of ${quotaNames.join(', ')}, or when_reached=wait`;
      throw new UsageError(`--quota: expected ${expected}, found ${found}`);
    }
    return [known, Number(limit)] as const;
  });
  return Object.fromEntries(quotas);
}

const keys: Command = {
  name: 'keys',
  args: '',
  argsMin: 0,
  argsMax: 0,
  doc: 'Lists the named API keys of the service.',
  example: 'keys',
  options: {},
  run: async ({ output, client }) => {
    const { http } = await client();
    const found: Key[] = [];
    for (let cursor: string | undefined, isMore = true; isMore; isMore = cursor !== undefined) {
      const query = { limit: 100, ...(cursor === undefined ? {} : { cursor }) };
      const page = await dataOf(http.GET('/api/keys', { params: { query } }));
      found.push(...page.keys);
      cursor = page.next_cursor ?? undefined;
    }
    if (found.length === 0) output.note('there is no named key');
    output.list(
      { keys: found },
      ['KEY', 'NAME', 'RIGHTS', 'PREFIX', 'EXPIRES', 'LAST USED'],
      found.map((key) => [
        key.key_id,
        key.name,
        key.rights.join(','),
        key.hash_prefix ?? '',
        key.expires_at === null ? 'never' : timeText(key.expires_at, output),
        key.last_used_at === null ? 'never' : timeText(key.last_used_at, output),
      ]),
    );
  },
};

const make: Command = {
  name: 'keys make',
  args: 'NAME',
  argsMin: 1,
  argsMax: 1,
  doc: 'Makes a named API key, and prints it: it is shown this once.',
  example: 'keys make acme --right read --right submit --hash-prefix acme-',
  options: {
    right: { value: 'RIGHT', isMany: true, doc: `what it may do, repeated: ${rights.join(', ')}` },
    'hash-prefix': { value: 'TEXT', doc: 'media that it submits and sees, by the beginning of their hash' },
    'source-prefix': { value: 'TEXT', doc: 'sources that it may submit' },
    profile: { value: 'NAME', isMany: true, doc: 'a profile that it may choose, repeated; the first is the default' },
    'priority-max': { value: 'N', doc: 'the greatest priority that it may give (0)' },
    weight: { value: 'N', doc: 'how many slots its jobs get beside those of other keys, 1 to 100 (1)' },
    quota: {
      value: 'NAME=N',
      isMany: true,
      doc: `what it may use, repeated: ${quotaNames.join(', ')}; when_reached=wait`,
    },
    expires: { value: 'TIME', doc: 'from when it is refused, such as 2027-01-31T00:00:00Z' },
  },
  run: async ({ args: [name = ''], options, output, client }) => {
    const given = options.all('right').map((right) => {
      const known = rights.find((each) => each === right);
      if (known !== undefined) return known;
      throw new UsageError(`--right: expected one of ${rights.join(', ')}, found ${JSON.stringify(right)}`);
    });
    if (given.length === 0) throw new UsageError(`--right: expected one of ${rights.join(', ')}, found nothing`);
    const [hashPrefix, sourcePrefix] = [options.text('hash-prefix'), options.text('source-prefix')];
    const profiles = options.all('profile');
    const priorityMax = options.whole('priority-max', 0, 1000);
    const weight = options.whole('weight', 1, 100);
    const quotas = quotasOf(options.all('quota'));
    const expiresAt = options.text('expires');
    const { http } = await client();
    const body: Schemas['KeyRequest'] = {
      name,
      rights: given,
      ...(hashPrefix === undefined ? {} : { hash_prefix: hashPrefix }),
      ...(sourcePrefix === undefined ? {} : { source_prefix: sourcePrefix }),
      ...(profiles.length === 0 ? {} : { profiles: [...profiles] }),
      ...(priorityMax === undefined ? {} : { priority_max: priorityMax }),
      ...(weight === undefined ? {} : { weight }),
      ...(Object.keys(quotas).length === 0 ? {} : { quotas }),
      ...(expiresAt === undefined ? {} : { expires_at: expiresAt }),
    };
    const made = await dataOf(http.POST('/api/keys', { body }));
    output.note(`key ${made.key_id}: ${made.rights.join(', ')}; it is not shown again`);
    output.result(made, made.key);
  },
};

const revoke: Command = {
  name: 'keys revoke',
  args: 'ID',
  argsMin: 1,
  argsMax: 1,
  doc: 'Revokes a named API key: within five seconds it is refused, for good.',
  example: 'keys revoke 2bb80d53',
  options: {},
  run: async ({ args: [id = ''], output, client }) => {
    const { http } = await client();
    const revoked = await dataOf(http.DELETE('/api/keys/{id}', { params: { path: { id } } }));
    output.result(revoked, `${revoked.key_id}  ${revoked.name}  revoked`);
  },
};

export const keyCommands: readonly Command[] = [keys, make, revoke];

import type { Reelwright, Schemas } from '../../clients/typescript/src/index.ts';
import type { Command, Context } from '../command.ts';
import { UsageError } from '../exit-codes.ts';
import { type Badge, printableLine, timeText } from '../output.ts';
import { dataOf } from '../../clients/typescript/src/http.ts';

// The commands about rollouts: many media made again with another profile.

type Rollout = Schemas['Rollout'];

const rollouts: Command = {
  name: 'rollouts',
  args: '[ID]',
  argsMin: 0,
  argsMax: 1,
  completes: 'rollouts',
  doc: 'Shows a rollout, or lists all, the newest first.',
  example: 'rollouts',
  options: {},
  run: async ({ args: [id], output, client }) => {
    const { http } = await client();
    if (id !== undefined) {
      const found = await dataOf(http.GET('/api/rollouts/{id}', { params: { path: { id } } }));
      output.result(found, textOf(found));
      return;
    }
    const found = await dataOf(http.GET('/api/rollouts', { params: { query: {} } }));
    if (found.rollouts.length === 0) output.note('there is no rollout');
    output.list(
      { rollouts: found.rollouts },
      ['ROLLOUT', 'PROFILE', 'STATUS', 'DONE', 'FAILED', 'LEFT', 'CREATED'],
      found.rollouts.map((each) => [
        each.rollout_id,
        each.spec.to_profile,
        stateOf(each),
        ...countsOf(each).map(String),
        timeText(each.created_at, output),
      ]),
    );
  },
};

/** Media that are done, that failed, and that are left. */
function countsOf({ media, canary }: Rollout): readonly number[] {
  const parts = canary === null ? [media] : [media, canary];
  const sum = (of: (part: Rollout['media']) => number) => parts.reduce((total, part) => total + of(part), 0);
  return [sum(({ done }) => done), sum(({ failed }) => failed), sum(({ planned, running }) => planned + running)];
}

const colours: Partial<Record<Rollout['status'], Badge['colour']>> = { completed: 'green', rolling_back: 'red' };

function stateOf({ status, paused }: Rollout): Badge {
  return { colour: colours[status] ?? 'yellow', word: paused ? `${status}, paused` : status };
}

function textOf(rollout: Schemas['RolloutDetails']): string {
  const { rollout_id, spec, reason, gate, failures, created_at, finished_at } = rollout;
  const [done, failed, left] = countsOf(rollout);
  const rows: [string, string | null][] = [
    ['rollout', rollout_id],
    ['status', `${stateOf(rollout).word}${reason === null ? '' : `: ${reason}`}`],
    ['profile', spec.to_profile],
    ['media', `${done} done, ${failed} failed, ${left} left`],
    ['gate', gate === null ? null : gate.passed ? 'passed' : gate.failures.join('; ')],
    ['created', created_at],
    ['finished', finished_at],
    ...failures.map(({ hash, reason: why }): [string, string] => ['failure', `${hash}  ${why}`]),
  ];
  return rows
    .flatMap(([name, value]) => (value === null ? [] : [`${name.padEnd(8)}  ${printableLine(value)}`]))
    .join('\n');
}

const start: Command = {
  name: 'rollouts start',
  args: '',
  argsMin: 0,
  argsMax: 0,
  doc: 'Makes many media again with another profile.',
  example: 'rollouts start --to-profile mobile --prefix show- --canary 0.05 --jobs 4',
  options: {
    'to-profile': { value: 'NAME', doc: 'the profile that makes them again' },
    prefix: { value: 'TEXT', doc: 'media whose hash begins with it' },
    profile: { value: 'NAME', doc: 'media that this profile made' },
    jobs: { value: 'N', doc: 'jobs at once (1)' },
    canary: { value: 'SHARE', doc: 'the share that is made first, such as 0.05' },
  },
  run: async ({ options, output, client }) => {
    const profile = options.text('to-profile');
    if (profile === undefined) throw new UsageError('--to-profile: expected the name of a profile, found nothing');
    const [prefix, made] = [options.text('prefix'), options.text('profile')];
    const jobs = options.whole('jobs', 1, 10_000);
    const share = options.text('canary');
    if (share !== undefined && !(Number(share) > 0 && Number(share) <= 1))
      throw new UsageError(`--canary: expected a share such as 0.05, found ${JSON.stringify(share)}`);
    const { http } = await client();
    const sent = http.POST('/api/rollouts', {
      body: {
        to_profile: profile,
        which: {
          ...(prefix === undefined ? {} : { hash_prefix: prefix }),
          ...(made === undefined ? {} : { profile: made }),
        },
        ...(jobs === undefined ? {} : { budget: { jobs } }),
        ...(share === undefined ? {} : { canary: { share: Number(share) } }),
      },
    });
    const begun = await dataOf(sent);
    output.result(begun, `${begun.rollout_id}  ${begun.spec.to_profile}  ${begun.status}`);
  },
};

type Change = (http: Reelwright['http'], params: { readonly path: { readonly id: string } }) => Promise<Rollout>;

function changing(verb: string, doc: string, change: Change): Command {
  return {
    name: `rollouts ${verb}`,
    args: 'ID',
    argsMin: 1,
    argsMax: 1,
    completes: 'rollouts',
    doc,
    example: `rollouts ${verb} 0c9e6f0a-5b57-4b0e-8b8e-0f3c3b0c7a11`,
    options: {},
    run: async ({ args: [id = ''], client, output }: Context) => {
      const changed = await change((await client()).http, { path: { id } });
      output.result(changed, `${changed.rollout_id}  ${stateOf(changed).word}`);
    },
  };
}

export const rolloutCommands: readonly Command[] = [
  rollouts,
  start,
  changing('pause', 'Pauses a rollout: what runs goes on, nothing begins.', (http, params) =>
    dataOf(http.POST('/api/rollouts/{id}/pause', { params })),
  ),
  changing('resume', 'Resumes a paused rollout.', (http, params) =>
    dataOf(http.POST('/api/rollouts/{id}/resume', { params })),
  ),
  changing('cancel', 'Ends a rollout, and keeps what it has made.', (http, params) =>
    dataOf(http.POST('/api/rollouts/{id}/cancel', { params })),
  ),
  changing('rollback', 'Ends a rollout, and plays the earlier streams again.', (http, params) =>
    dataOf(http.POST('/api/rollouts/{id}/rollback', { params })),
  ),
];

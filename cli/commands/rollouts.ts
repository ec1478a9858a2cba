import type { Reelwright, Schemas } from '../../clients/typescript/src/index.ts';
import type { Command, Context, Options } from '../command.ts';
import { UsageError } from '../exit-codes.ts';
import { confirm } from '../confirm.ts';
import { type Badge, printableLine, timeText } from '../output.ts';
import { bytesText } from '../progress.ts';
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
    plan: { doc: 'show what it would make again, and begin nothing' },
    yes: { short: 'y', doc: 'do not ask' },
  },
  run: async (context) => {
    const { options, input, output, client } = context;
    const body = requestOf(options);
    const { http } = await client();
    const isAsked = output.isWatched && input.isTerminal && !options.flag('yes');
    if (options.flag('plan') || isAsked) {
      const plan = await dataOf(http.POST('/api/rollouts/plan', { body }));
      if (options.flag('plan')) return output.result(plan, planText(plan));
      output.note(planText(plan));
      await confirm(context, { expected: 'yes', purpose: 'to start it', otherwise: 'no rollout was started' });
    }
    const begun = await dataOf(http.POST('/api/rollouts', { body }));
    output.result(begun, `${begun.rollout_id}  ${begun.spec.to_profile}  ${begun.status}`);
  },
};

/** The request of a rollout by the options of a call. @throws UsageError that names the option */
function requestOf(options: Options): Schemas['CreateRolloutRequest'] {
  const profile = options.text('to-profile');
  if (profile === undefined) throw new UsageError('--to-profile: expected the name of a profile, found nothing');
  const [prefix, made] = [options.text('prefix'), options.text('profile')];
  const jobs = options.whole('jobs', 1, 10_000);
  const share = options.text('canary');
  if (share !== undefined && !(Number(share) > 0 && Number(share) <= 1))
    throw new UsageError(`--canary: expected a share such as 0.05, found ${JSON.stringify(share)}`);
  return {
    to_profile: profile,
    which: {
      ...(prefix === undefined ? {} : { hash_prefix: prefix }),
      ...(made === undefined ? {} : { profile: made }),
    },
    ...(jobs === undefined ? {} : { budget: { jobs } }),
    ...(share === undefined ? {} : { canary: { share: Number(share) } }),
  };
}

function planText(plan: Schemas['RolloutPlan']): string {
  const { spec, is_whole, looked_at, media, not_chosen, source_hours, unmeasured, bytes, processor_hours } = plan;
  const [least, from] = [is_whole ? '' : 'at least ', estimateTexts[plan.estimated_from ?? 'nothing']];
  const skipped = Object.entries(not_chosen).map(([why, number]) => `${number} ${why.replaceAll('_', ' ')}`);
  const rows: [string, string][] = [
    ['profile', spec.to_profile],
    ['media', `${least}${media} of ${looked_at} looked at`],
    ['skipped', skipped.length === 0 ? 'none' : skipped.join(', ')],
    ['length', `${source_hours} h of sources${unmeasured === 0 ? '' : `, and ${unmeasured} media of unknown length`}`],
    ['size', `${bytesText(bytes.now)} now, ${bytes.expected === null ? 'unknown' : bytesText(bytes.expected)} after`],
    ['takes', processor_hours === null ? from : `${processor_hours} h of processor time, ${from}`],
  ];
  return rows.map(([name, value]) => `${name.padEnd(8)}  ${printableLine(value)}`).join('\n');
}

const estimateTexts = {
  profile: 'as the profile took in the last 30 days',
  present_streams: 'as the present streams took',
  nothing: 'unknown: no processor time was recorded',
} as const;

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

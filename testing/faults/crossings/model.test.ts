import { expect, it } from 'vitest';
import { type DeedKind, type Facts, History } from './history.ts';
import { type Found, Model } from './model.ts';

// What the model calls a violation, and what it leaves to chance.

const hash = 'h';
const hourLater = Date.now() + 3_600_000;

/** `a+`: the deed begins; `a-`: it is answered; `a`: both at once. */
type Step = readonly [name: string, kind: DeedKind, facts: object] | string;

async function historyOf(steps: readonly Step[]): Promise<History> {
  const history = new History();
  const open = new Map<string, { answer: () => void; noted: Promise<unknown> }>();
  for (const step of steps) {
    if (typeof step === 'string') {
      open.get(step)?.answer();
      await open.get(step)?.noted;
      continue;
    }
    const [name, kind, facts] = step;
    const { promise, resolve } = Promise.withResolvers<void>();
    const noted = history.note(
      { kind, hash, what: name },
      () => promise,
      () => facts as Facts[DeedKind],
    );
    open.set(name, { answer: resolve, noted });
  }
  return history;
}

/** A deed that is answered before the next one begins. */
const at = (name: string, kind: DeedKind, facts: object): Step[] => [[name, kind, facts], name];
const job = (jobId: string, more: object = {}) =>
  ['accept', { jobId, isNew: true, rerunOf: null, replaces: null, ...more }] as const;
const submit = (id: string, more?: object) => at(`submit ${id}`, ...job(id, more));
const end = (jobId: string) => at(`end ${jobId}`, 'end', { jobId, status: 'completed' });
const publish = (jobId: string) => at('publish', 'publish', { jobId, undoes: null });
const remove = (more: object = {}) =>
  at('delete', 'delete', { isNew: true, isByTime: false, purgeInMs: 8_000, ...more });
const hold = (isHeld: boolean) => at(`hold ${isHeld}`, 'hold', { isHeld });
const describe = (title: string, byJob = false) => at(`describe ${title}`, 'describe', { title, byJob });
const expire = (when: number | null) => at(`expire ${when}`, 'expire', { at: when });

/** The state that is found where these jobs have a stream, the first of which is played. */
function found(streams: readonly string[], more: Partial<Found> = {}): Found {
  const [playedJob = null] = streams;
  return {
    jobs: streams.map((id) => ({ id, status: 'completed', hasStream: true })),
    currentJobs: streams.slice(0, 1),
    playedJob,
    isWhole: true,
    hasKey: false,
    isDeleted: false,
    isHeld: false,
    expiresAt: null,
    title: null,
    answering: playedJob,
    ...more,
  };
}

const deleted = (more: Partial<Found> = {}) => found([], { isDeleted: true, ...more });
const byHand = { rerunOf: 'a', replaces: null };
const ofRollout = { rerunOf: 'a', replaces: 'a' };

it.each<[what: string, steps: readonly Step[], state: Found, violation: string | null]>([
  ['an earlier submission that is played', [...submit('a'), ...submit('b')], found(['a', 'b']), 'I35'],
  ['a later one', [...submit('a'), ...submit('b')], found(['b', 'a']), null],
  ['either of two at once', [['x', ...job('a')], ['y', ...job('b')], 'x', 'y'], found(['a', 'b']), null],
  ['one that was published again', [...submit('a'), ...submit('b'), ...publish('a')], found(['a', 'b']), null],
  [
    'one that is played although another was published',
    [...submit('a'), ...submit('b'), ...publish('a')],
    found(['b', 'a']),
    'I35',
  ],
  [
    'a rerun over what was submitted after its job',
    [...submit('a'), ...submit('b'), ...submit('r', byHand)],
    found(['r', 'b']),
    'I35',
  ],
  ['a rerun over its own job', [...submit('a'), ...submit('r', byHand)], found(['r', 'a']), null],
  [
    'a rerun that a rollback undid',
    [...submit('a'), ...submit('r', ofRollout), ...at('back', 'publish', { jobId: 'a', undoes: 'r' })],
    found(['a', 'r']),
    null,
  ],
  [
    'a rollout over a rerun by hand',
    [...submit('a'), ...submit('r', byHand), ...end('r'), ...submit('o', ofRollout), ...end('o')],
    found(['o', 'r']),
    'I35',
  ],
  [
    'a rollout over a rerun that a publication outranked',
    [...submit('a'), ...submit('r', byHand), ...publish('a'), ...end('r'), ...submit('o', ofRollout), ...end('o')],
    found(['o', 'r']),
    null,
  ],
  ['rows that name another stream', submit('a'), found(['a'], { currentJobs: ['a', 'b'] }), 'I35'],
  ['a stream without its objects', submit('a'), found(['a'], { isWhole: false }), 'I35'],
  ['a stream that is not played', submit('a'), found(['a'], { playedJob: null, answering: null }), 'I35'],
  ['a stream of before a deletion', [...submit('a'), ...remove()], found(['a']), 'I36'],
  ['a stream of after it', [...submit('a'), ...remove(), ...submit('b')], found(['b']), null],
  ['a job that completes after it', [...submit('a'), ...remove(), ...submit('b'), ...end('a')], found(['b']), 'I36'],
  ['a key after it', [...submit('a'), ...remove()], deleted({ hasKey: true }), 'I36'],
  ['a key of a later job', [...submit('a'), ...remove(), ...submit('b')], deleted({ hasKey: true }), null],
  [
    'a key of a job that was submitted meanwhile',
    [['x', 'delete', {}], ...submit('a'), 'x'],
    deleted({ hasKey: true }),
    null,
  ],
  ['an address that does not answer 410', [...submit('a'), ...remove()], deleted({ isDeleted: false }), 'I36'],
  ['a purge before servers know', [...submit('a'), ...remove({ purgeInMs: 100 })], deleted(), 'I36'],
  ['a deletion under a hold', [...submit('a'), ...hold(true), ...remove()], deleted({ isHeld: true }), 'I37'],
  ['a deletion after the hold', [...submit('a'), ...hold(true), ...hold(false), ...remove()], deleted(), null],
  ['a hold that is lost', [...submit('a'), ...hold(true)], found(['a']), 'I37'],
  ['an expiry that is lost', [...submit('a'), ...expire(hourLater)], found(['a']), 'I37'],
  ['an expiry', [...submit('a'), ...expire(1), ...expire(hourLater)], found(['a'], { expiresAt: hourLater }), null],
  [
    'a deletion by a time that was moved',
    [
      ...submit('a'),
      ...expire(1),
      ['x', 'delete', { isNew: true, isByTime: true, purgeInMs: null }],
      ...expire(null),
      'x',
    ],
    deleted(),
    'I37',
  ],
  ['a title that is lost', [...submit('a'), ...describe('one')], found(['a']), 'I37'],
  ['a title of a job that had ended', [...submit('a'), ...describe('one', true)], found(['a']), null],
  ['an earlier title', [...submit('a'), ...describe('one'), ...describe('two')], found(['a'], { title: 'one' }), 'I37'],
  [
    'either of two titles at once',
    [...submit('a'), ['x', 'describe', { title: 'x' }], ['y', 'describe', { title: 'y' }], 'x', 'y'],
    found(['a'], { title: 'x' }),
    null,
  ],
  ['a title after a deletion', [...submit('a'), ...describe('one'), ...remove()], deleted({ title: 'one' }), 'I36'],
  ['a title that a deletion took', [...submit('a'), ...describe('one'), ...remove()], deleted(), null],
  ['a cancelled job that completes', [...submit('a'), ...at('cancel', 'cancel', { jobId: 'a' })], found(['a']), 'I37'],
  ['an equal submission that another job answers', submit('a'), found(['a'], { answering: 'b' }), 'I38'],
  [
    'an answer of what was deleted',
    [...submit('a'), ...remove(), ...at('again', 'accept', { jobId: 'a', isNew: false })],
    deleted(),
    'I38',
  ],
])('%s', async (_, steps, state, violation) => {
  const violations = new Model(await historyOf(steps), hash).violations(state);
  expect(violations.map((line) => line.slice(0, 3))).toEqual(violation === null ? [] : violations.map(() => violation));
  expect(violations.length > 0).toBe(violation !== null);
});

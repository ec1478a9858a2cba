import { DatabaseError, type PoolClient } from 'pg';
import { type ItemStatus, rolloutRequestSchema } from '#domain/rollouts/rollout.ts';
import type { Database } from '#platform/postgres/database.ts';
import { readPlanPage } from '#platform/postgres/rollout-plan.ts';
import { RolloutStore } from '#platform/postgres/rollout-store.ts';
import { idOfRow, rolloutIds } from './many-rows.ts';

type Query = readonly [what: string, examinedMax: number, call: (d: Database) => Promise<unknown>];

const [canary, running] = rolloutIds;
const items = (d: Database) => new RolloutStore(d).items;
const slots = (d: Database) => new RolloutStore(d).slots;
const begun = { hash: 'h20605', earlierJobId: idOfRow(20_605), earlierRev: '0'.repeat(16), jobId: idOfRow(20_605) };
const spec = rolloutRequestSchema.parse({ to_profile: 'mobile' });

/** A page of media of which one cannot be read. */
const withUnreadable = (d: Database): Database => ({
  ...d,
  transaction: (work) =>
    d.transaction((client) => {
      const query = (text: string, values?: unknown[]) => {
        if (!text.includes('is_by_target')) return client.query(text, values);
        throw Object.assign(new DatabaseError('unsupported escape', 0, 'error'), { code: '22P05' });
      };
      return work({ query } as unknown as PoolClient);
    }),
});

/** The queries about rollouts and their items. */
export function rolloutQueries(): Query[] {
  const moves: readonly (readonly [ItemStatus, ItemStatus, string])[] = [
    ['running', 'done', 'h20601'],
    ['planned', 'running', 'h20600'],
  ];
  return [
    ['rollout: begun', 10, (d) => new RolloutStore(d).insert({ id: idOfRow(3), spec, profile: null })],
    ['rollout: found', 0, (d) => new RolloutStore(d).find(canary)],
    ['rollout: a list', 0, (d) => new RolloutStore(d).list({ after: null, limit: 51 })],
    ['rollout: paused', 0, (d) => new RolloutStore(d).setPaused(canary, true)],
    ['rollout: its next status', 0, (d) => new RolloutStore(d).move(canary, 'running')],
    ['rollout: their number by status', 0, (d) => new RolloutStore(d).countByStatus()],
    ['rollout: of MediaRollouts', 0, (d) => new RolloutStore(d).ofResources()],
    ['rollout: claimed', 0, (d) => new RolloutStore(d).claim(1)],
    ['rollout: deferred', 0, (d) => new RolloutStore(d).defer(canary, 1_000)],
    ['rollout: old items', 0, (d) => new RolloutStore(d).forgetItems(86_400_000, 1_000)],
    ['rollout: a page of media', 600, (d) => items(d).planPage(canary, 500)],
    ['rollout: a page of its plan', 600, (d) => readPlanPage(d, { spec, profile: null, plannedAfter: '' }, 500)],
    ['rollout: a media that cannot be read', 10, (d) => items(withUnreadable(d)).planPage(canary, 1)],
    ['rollout: the next item of the canary', 10, (d) => items(d).begin(canary, idOfRow(4))],
    ['rollout: the next item', 10, (d) => items(d).begin(running, idOfRow(4))],
    ['rollout: named reruns', 10, (d) => items(d).unsubmitted(canary, 100)],
    ['rollout: a rerun that is there', 10, (d) => items(d).noteSubmitted(canary, begun, { bytes: 1, score: null })],
    ['rollout: an item that waits', 10, (d) => items(d).delay(canary, 'h20600', 1_000)],
    ['rollout: reruns that ended', 2_000, (d) => items(d).ended(canary, 50)],
    ...moves.map(([from, to, hash]): Query => {
      return [`rollout: from ${from} to ${to}`, 10, (d) => items(d).move(canary, hash, { from, to, seconds: 1 })];
    }),
    ['rollout: how long jobs ran', 2_000, (d) => items(d).runningSeconds(canary)],
    ['rollout: a media now', 10, (d) => items(d).mediaNow('busy')],
    ['rollout: what a job made', 10, (d) => items(d).made(idOfRow(20_605))],
    ['rollout: what was made', 10, (d) => items(d).done(canary, 50)],
    ['rollout: what runs', 10, (d) => items(d).running(canary, 50)],
    ['rollout: failures', 10, (d) => items(d).failures(canary, 20)],
    ['rollout: submissions that wait', 6_000, (d) => slots(d).waitingSubmissions(2_000)],
    ['rollout: jobs that hold slots', 2_000, (d) => slots(d).working(canary, 'default', 10)],
    ['rollout: slots that are about to be free', 10, (d) => slots(d).givingWay(canary, 20_000)],
    ['rollout: a job that gives way', 10, (d) => slots(d).noteGivingWay(canary, 'h20601')],
  ];
}

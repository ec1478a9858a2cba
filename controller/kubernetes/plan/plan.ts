import { attemptActions } from './attempt-actions.ts';
import { mediaJobActions } from './media-job-actions.ts';
import { deletionsOf, type Observed, type Plan, type PlanSettings } from './observed.ts';
import { classify } from './rules.ts';

/*
 * The actions for a MediaJob, from its observed state: pure, so that every case is a row of a table.
 *
 *   no row ──adopt──▶ row waits for a slot ──claim (admission)──▶ row is claimed
 *   claimed, no Job of the attempt ──▶ create the Job ──▶ pod ──▶ conclude: completed, failed, or the next attempt
 *   row is final ──▶ one status write ──▶ after the TTL, delete the MediaJob
 *
 * Postgres is the truth: the row says which attempt is the current one and whether the job is final. The Job of an
 * attempt is created once, by the leader that claimed the attempt. An absent Job that may have existed counts as a
 * disruption, which costs nothing: with a second Job, two pods could write under one revision.
 *
 * The status of a brief job is written once, at its end, since a status write costs the API server as much as the rest
 * of the job. While many jobs run, progress is written less often; problems and ends are written at once.
 */

/** The delay of a progress write that the rate did not allow. */
const progressRetryMs = 10_000;

/** The actions for a MediaJob now; pure. The rules name its situation, and a table has what follows. */
export function plan(observed: Observed, nowMs: number, settings: PlanSettings): Plan {
  const view = { ...observed, nowMs, settings };
  const { situation, attempt } = classify(view);
  if (attempt === null) return mediaJobActions[situation](view);
  const { actions, ...rest } = attemptActions[situation](attempt);
  return withoutExcessProgress({ ...rest, actions: [...deletionsOf(observed.otherJobs), ...actions] }, observed);
}

function withoutExcessProgress(planned: Plan, { writes }: Observed): Plan {
  const actions = planned.actions.filter((action) => !(action.do === 'writeStatus' && action.isProgress === true));
  if (writes.mayReportProgress || actions.length === planned.actions.length) return planned;
  return { ...planned, actions, requeueAfterMs: Math.min(planned.requeueAfterMs ?? Infinity, progressRetryMs) };
}

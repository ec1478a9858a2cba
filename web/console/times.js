import { ask, byId } from './api.js';
import { html, useLoaded } from './base.js';
import { bytesText, dateTimeText, secondsText } from './format.js';
import { stateOf } from './job-state.js';
import { card, numbers } from './parts.js';

// Where the time of a job went: its waits, attempts, units and steps, each with a bar on one scale, and what it used.

/** @import { AnyJob, Attempt, ComponentChildren, Scale, Schemas, TimeLine, Unit } from './types.ts' */

/** @param {{ job: AnyJob }} props */
export function Times({ job }) {
  const { data } = useLoaded(
    (signal) => ask((http) => http.GET('/api/jobs/{id}/timeline', { ...byId(job.job_id), signal })),
    [stateOf(job)],
  );
  if (data === null || data.attempts.length === 0) return null;
  const { accepted_at: accepted, finished_at: finished, attempts, usage } = data;
  const from = Date.parse(accepted);
  const scale = { from, ms: Math.max(1, (finished === null ? Date.now() : Date.parse(finished)) - from) };
  const lines = attempts.map((attempt, index) => {
    const since = index === 0 ? accepted : (attempts[index - 1]?.ended_at ?? null);
    return [waitOf(since, attempt, index === 0, scale), attemptOf(attempt, scale)];
  });
  return card('Time and usage', {}, usageOf(usage), html`<ol class="spans">${lines}</ol>`);
}

/** @param {Schemas['JobTimelineUsage']} usage */
function usageOf({ duration_ms: ran, processor_ms: processor, source_bytes: source, result_bytes: result }) {
  /** @type {[string, string | null][]} */
  const all = [
    ['Ran', ran === null ? null : secondsText(ran)],
    ['Processors', processor === null ? null : secondsText(processor)],
    ['Source', source === null ? null : bytesText(source)],
    ['Results', result === null ? null : bytesText(result)],
  ];
  const known = all.filter(([, text]) => text !== null);
  return known.length === 0 ? null : numbers(known);
}

/** A line with its bar; `more`: what is below it. @param {TimeLine} line @param {Scale} scale @param {ComponentChildren[]} more */
function lineOf({ name, note = '', kind, start, ms, processor = null }, scale, ...more) {
  const share = (/** @type {number} */ value) => `${Math.min(100, Math.max(0, (100 * value) / scale.ms))}%`;
  const used = processor === null ? '' : `, ${secondsText(processor)} of processors`;
  const place = { '--from': share(start - scale.from), '--share': share(ms) };
  return html`<li data-kind=${kind}>
    <span>${name}${note !== '' && html`<span class="soft"> ${note}</span>`}</span>
    <span class="took" title=${dateTimeText(new Date(start).toISOString())}>${secondsText(ms)}${used}</span>
    <span class="span" aria-hidden="true" style=${place}><span></span></span>
    ${more}
  </li>`;
}

/**
 * Before an attempt; null where it followed at once, or the attempts before it are not known.
 *
 * @param {string | null} since @param {Attempt} attempt @param {boolean} isFirst @param {Scale} scale
 */
function waitOf(since, { attempt, claimed_at: claimed }, isFirst, scale) {
  if (since === null || (isFirst && attempt > 1)) return null;
  const [start, ms] = [Date.parse(since), Date.parse(claimed) - Date.parse(since)];
  if (ms < 1) return null;
  const name = isFirst ? 'Waited in the queue' : 'Waited for the next attempt';
  return lineOf({ name, kind: 'wait', start, ms }, scale);
}

/** @param {Attempt} attempt @param {Scale} scale */
function attemptOf(attempt, scale) {
  const { claimed_at: claimed, duration_ms: duration, worker, result, code, units, units_left_out: leftOut } = attempt;
  const start = Date.parse(claimed);
  const reason = code === null || code === result ? '' : ` ${result === 'retried' ? 'after' : 'by'} ${code}`;
  const line = {
    name: `Attempt ${attempt.attempt} ${result ?? 'runs'}${reason}`,
    note: worker === null ? '' : `on ${worker}`,
    kind: result ?? 'runs',
    start,
    ms: duration ?? Math.max(0, Date.now() - start),
    processor: attempt.processor_ms,
  };
  const steps = units.flatMap((unit) => unit.steps.map((step) => stepOf(unit, step, scale)));
  return lineOf(
    line,
    scale,
    steps.length > 0 && html`<ol class="spans">${steps}</ol>`,
    leftOut > 0 && html`<p class="soft">And ${leftOut} more.</p>`,
  );
}

/** @param {Unit} unit @param {Unit['steps'][number]} step @param {Scale} scale */
function stepOf({ unit, chunk, pod }, { step, started_at: started, duration_ms: ms, processor_ms, code }, scale) {
  const of = unit === 'chunk' ? `chunk ${chunk === null ? '' : chunk + 1}` : unit === 'finish' ? 'assembly' : '';
  const notes = [of, pod === null ? '' : `in ${pod}`, code === null ? '' : `failed by ${code}`];
  const note = notes.filter((text) => text !== '').join(', ');
  const kind = code === null ? 'step' : 'failed';
  return lineOf({ name: step, note, kind, start: Date.parse(started), ms, processor: processor_ms }, scale);
}

import { api, has } from './api.js';
import { h } from './dom.js';
import { bytesText, dateTimeText, secondsText } from './format.js';
import { card } from './parts.js';

// Where the time of a job went: its waits, attempts, units and steps, each with a bar on one scale, and what it used.

/** Draws the times of a job into `place`; nothing where the server does not know them. */
export async function showTimes(place, job, signal) {
  if (!has('GET /api/jobs/{id}/timeline')) return;
  const timeline = await api.timeline(job.job_id, signal).catch(() => null);
  if (timeline === null || signal.aborted) return;
  place.replaceChildren(...timesOf(timeline));
}

function timesOf({ accepted_at: accepted, finished_at: finished, attempts, usage }) {
  if (attempts.length === 0) return [];
  const from = Date.parse(accepted);
  const scale = { from, ms: Math.max(1, (finished === null ? Date.now() : Date.parse(finished)) - from) };
  return [
    card(
      'Time and usage',
      {},
      usageOf(usage),
      h(
        'ol',
        { class: 'spans' },
        attempts.flatMap((attempt, index) => {
          const since = index === 0 ? accepted : attempts[index - 1].ended_at;
          return [waitOf(since, attempt, index === 0, scale), attemptOf(attempt, scale)];
        }),
      ),
    ),
  ];
}

function usageOf({ duration_ms: ran, processor_ms: processor, source_bytes: source, result_bytes: result }) {
  const known = [
    ['Ran', ran === null ? null : secondsText(ran)],
    ['Processors', processor === null ? null : secondsText(processor)],
    ['Source', source === null ? null : bytesText(source)],
    ['Results', result === null ? null : bytesText(result)],
  ].filter(([, text]) => text !== null);
  if (known.length === 0) return null;
  return h(
    'dl',
    { class: 'numbers' },
    known.map(([name, text]) => h('div', {}, h('dt', {}, name), h('dd', {}, text))),
  );
}

/** A line with its bar; `more`: what is below it. */
function line({ name, note = '', kind, start, ms, processor = null }, scale, ...more) {
  const share = (value) => `${Math.min(100, Math.max(0, (100 * value) / scale.ms))}%`;
  const used = processor === null ? '' : `, ${secondsText(processor)} of processors`;
  return h(
    'li',
    { dataset: { kind } },
    h('span', {}, name, note === '' ? null : h('span', { class: 'soft' }, ` ${note}`)),
    h('span', { class: 'took', title: dateTimeText(start) }, `${secondsText(ms)}${used}`),
    h(
      'span',
      { class: 'span', 'aria-hidden': 'true', vars: { '--from': share(start - scale.from), '--share': share(ms) } },
      h('span', {}),
    ),
    ...more,
  );
}

/** Before an attempt; null where it followed at once, or the attempts before it are not known. */
function waitOf(since, { attempt, claimed_at: claimed }, isFirst, scale) {
  const [start, ms] = [Date.parse(since), Date.parse(claimed) - Date.parse(since)];
  if (ms < 1 || (isFirst && attempt > 1)) return null;
  return line(
    { name: isFirst ? 'Waited in the queue' : 'Waited for the next attempt', kind: 'wait', start, ms },
    scale,
  );
}

function attemptOf(attempt, scale) {
  const { claimed_at: claimed, duration_ms: duration, worker, result, code, units, units_left_out: leftOut } = attempt;
  const start = Date.parse(claimed);
  const reason = code === null || code === result ? '' : ` ${result === 'retried' ? 'after' : 'by'} ${code}`;
  const name = `Attempt ${attempt.attempt} ${result ?? 'runs'}${reason}`;
  const ms = duration ?? Math.max(0, Date.now() - start);
  const steps = units.flatMap((unit) => unit.steps.map((step) => stepOf(unit, step, scale)));
  return line(
    {
      name,
      note: worker === null ? '' : `on ${worker}`,
      kind: result ?? 'runs',
      start,
      ms,
      processor: attempt.processor_ms,
    },
    scale,
    steps.length === 0 ? null : h('ol', { class: 'spans' }, steps),
    leftOut === 0 ? null : h('p', { class: 'soft' }, `And ${leftOut} more.`),
  );
}

function stepOf(
  { unit, chunk, pod },
  { step, started_at: started, duration_ms: ms, processor_ms: processor, code },
  scale,
) {
  const of = unit === 'chunk' ? `chunk ${chunk === null ? '' : chunk + 1}` : unit === 'finish' ? 'assembly' : '';
  const note = [of, pod === null ? null : `in ${pod}`, code === null ? null : `failed by ${code}`].filter(Boolean);
  const kind = code === null ? 'step' : 'failed';
  return line({ name: step, note: note.join(', '), kind, start: Date.parse(started), ms, processor }, scale);
}

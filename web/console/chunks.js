import { ask, byId, has } from './api.js';
import { html, useLoaded } from './base.js';
import { stateOf } from './job-state.js';
import { card } from './parts.js';

// The chunks of a long video, a square for each, which is filled once it is encoded.

/** @import { AnyJob } from './types.ts' */

const pollMs = 3000;

/** Nothing for a job in one piece. @param {{ job: AnyJob }} props */
export function Chunks({ job }) {
  const isAsked = has('GET /api/jobs/{id}/chunks') && job.type.startsWith('video:');
  const { data } = useLoaded(
    async (signal) =>
      isAsked ? (await ask((http) => http.GET('/api/jobs/{id}/chunks', { ...byId(job.job_id), signal }))).chunks : null,
    [stateOf(job)],
    job.status === 'processing' ? pollMs : 0,
  );
  if (data === null) return null;
  const count = data.filter(({ finished }) => finished).length;
  const squares = data.map(
    ({ frames, finished }, index) =>
      html`<span data-finished=${String(finished)} title=${`Chunk ${index + 1}: ${frames} frames`}></span>`,
  );
  return card(
    'Chunks',
    {},
    html`<p class="soft">${count} of ${data.length} are encoded.</p>`,
    html`<div class="chunks" aria-hidden="true">${squares}</div>`,
  );
}

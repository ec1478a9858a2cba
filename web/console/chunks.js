import { api, has } from './api.js';
import { h } from './dom.js';
import { card } from './parts.js';

// The chunks of a long video, a square for each, which is filled once it is encoded.

/** Draws the chunks of a job into `place`; nothing for a job in one piece. */
export async function showChunks(place, job, signal) {
  if (!has('GET /api/jobs/{id}/chunks') || !job.type.startsWith('video:')) return;
  const answer = await api.chunks(job.job_id, signal).catch(() => null);
  // What is shown stays while the server does not answer.
  if (answer === null) return;
  const { chunks } = answer;
  if (chunks === null) {
    delete place.dataset.drawn;
    place.replaceChildren();
    return;
  }
  const count = chunks.filter(({ finished }) => finished).length;
  const drawn = `${count} of ${chunks.length}`;
  if (place.dataset.drawn === drawn) return;
  place.dataset.drawn = drawn;
  place.replaceChildren(
    card(
      'Chunks',
      {},
      h('p', { class: 'soft' }, `${drawn} are encoded.`),
      h(
        'div',
        { class: 'chunks', 'aria-hidden': 'true' },
        chunks.map(({ frames, finished }, index) =>
          h('span', { dataset: { finished: String(finished) }, title: `Chunk ${index + 1}: ${frames} frames` }),
        ),
      ),
    ),
  );
}

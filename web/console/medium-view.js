import { api, has } from './api.js';
import { announce, confirmation, h } from './dom.js';
import { bytesText, dateTimeText } from './format.js';
import { ago, card, emptyState, facts, faultState, statusBadge, whileDisabled } from './parts.js';
import { playbackCard } from './playback.js';
import { filesCard } from './files.js';
import { imagesCard, imagesOf, playerCard, tracksCard } from './results.js';
import { shareCard } from './share.js';

// The page of one media: its player, its images and its jobs; where the server has the routes, its revisions, its
// expiry and its deletion.

function nullWhereUnknown(problem) {
  if (problem.status === 404) return null;
  throw problem;
}

/** The page of one media. @returns `{node, destroy()}` */
export function mediumView({ hash, navigate }) {
  const node = h('div', { class: 'view page', 'aria-busy': 'true' });
  async function open() {
    try {
      const [{ jobs }, medium] = await Promise.all([
        api.jobs({ hash, include: 'results', limit: 50 }),
        has('GET /api/media/{hash}') ? api.media(hash).catch(nullWhereUnknown) : null,
      ]);
      node.removeAttribute('aria-busy');
      if (jobs.length === 0 && medium === null) {
        node.replaceChildren(
          emptyState(
            'Not found',
            `There is no job of “${hash}”.`,
            h('a', { class: 'button', href: '#/media' }, 'All media'),
          ),
        );
        return;
      }
      node.replaceChildren(...pageOf({ hash, jobs, medium, navigate, reload: open }));
    } catch (problem) {
      node.replaceChildren(faultState(problem, () => void open()));
    }
  }
  void open();
  return { node, destroy() {} };
}

function pageOf({ hash, jobs, medium, navigate, reload }) {
  const stream = jobs.find(({ results }) => results?.streaming);
  const withImages = jobs.find((job) => imagesOf(job).length > 0);
  const rows = jobs.map((job) =>
    h(
      'li',
      {},
      statusBadge(job.status),
      h('a', { href: `#/jobs/${job.job_id}` }, job.type),
      h('span', { class: 'soft' }, ago(job.created_at)),
    ),
  );
  return [
    h(
      'header',
      { class: 'page-head' },
      h('p', { class: 'crumbs' }, h('a', { href: '#/media' }, 'Media'), ' /'),
      h(
        'div',
        { class: 'title-line' },
        h('h1', { class: 'mono' }, hash),
        medium && medium.status !== 'live' ? statusBadge(medium.status) : null,
        h('div', { class: 'actions' }, deleteButton({ hash, medium, reload, navigate })),
      ),
    ),
    h(
      'div',
      { class: 'columns' },
      h(
        'div',
        { class: 'stack' },
        stream ? playerCard(stream) : null,
        withImages ? imagesCard(withImages) : null,
        stream ? tracksCard(stream) : null,
        stream && has('GET /api/media/{hash}/playback') ? playbackCard(hash) : null,
        medium?.status === 'live' && has('GET /api/media/{hash}/files') ? filesCard(medium) : null,
      ),
      h(
        'div',
        { class: 'stack side' },
        stream ? shareCard(stream) : null,
        medium ? mediumCard({ hash, medium, reload }) : null,
        medium?.revisions?.length > 0 ? revisionsCard({ hash, medium, reload }) : null,
        card('Jobs', {}, h('ul', { class: 'job-list' }, rows)),
      ),
    ),
  ].filter(Boolean);
}

function deleteButton({ hash, medium, reload }) {
  if (!has('DELETE /api/media/{hash}') || medium?.status !== 'live') return null;
  const button = h('button', { type: 'button', class: 'button danger' }, 'Delete');
  button.addEventListener('click', async () => {
    const isSure = await confirmation({
      title: 'Delete this media?',
      text: `Every stream, image and content key of “${hash}” is deleted for good. Sources stay in the source bucket.`,
      action: 'Delete for good',
      isDangerous: true,
    });
    if (!isSure) return;
    await whileDisabled(button, () =>
      api.deleteMedia(hash).then(
        () => announce('The deletion has begun.'),
        (problem) => announce(problem.message, 'fault'),
      ),
    );
    await reload();
  });
  return button;
}

function mediumCard({ hash, medium, reload }) {
  return card(
    'Media',
    {},
    facts([
      ['Status', medium.status],
      ['Size', Number.isFinite(medium.bytes) ? `${bytesText(medium.bytes)} in ${medium.objects} objects` : null],
      ['Key id', medium.kid ? h('code', { class: 'break' }, medium.kid) : null],
      ['Expires', medium.expires_at ? dateTimeText(medium.expires_at) : 'never'],
      ['Legal hold', medium.legal_hold ? 'yes' : null],
    ]),
    has('PATCH /api/media/{hash}') && medium.status === 'live' ? expiryForm({ hash, medium, reload }) : null,
  );
}

function expiryForm({ hash, medium, reload }) {
  const day = h('input', { type: 'date', value: medium.expires_at?.slice(0, 10) ?? '' });
  const change = async (expiresAt) => {
    try {
      await api.changeMedia(hash, { expires_at: expiresAt });
      announce('The expiry was changed.');
      await reload();
    } catch (problem) {
      announce(problem.message, 'fault');
    }
  };
  return h(
    'form',
    {
      class: 'line-form',
      onsubmit: (event) => {
        event.preventDefault();
        void change(day.value === '' ? null : new Date(`${day.value}T00:00:00Z`).toISOString());
      },
    },
    h('label', { class: 'field' }, h('span', {}, 'Expires on (empty: never)'), day),
    h('button', { type: 'submit', class: 'button' }, 'Set'),
  );
}

function revisionsCard({ hash, medium, reload }) {
  const choose = (revision) => {
    const button = h('button', { type: 'button', class: 'button small' }, 'Play this one');
    button.addEventListener('click', () =>
      whileDisabled(button, () =>
        api.chooseRevision(hash, revision).then(reload, (problem) => announce(problem.message, 'fault')),
      ),
    );
    return button;
  };
  const canChoose = has('PUT /api/media/{hash}/current');
  return card(
    'Revisions',
    {},
    h(
      'ul',
      { class: 'job-list' },
      medium.revisions.map((each) =>
        h(
          'li',
          {},
          h('code', {}, each.revision),
          h('span', { class: 'soft' }, `${bytesText(each.bytes)}, `, ago(each.created_at)),
          each.current ? h('strong', {}, 'current') : canChoose && each.playlist ? choose(each.revision) : null,
        ),
      ),
    ),
  );
}

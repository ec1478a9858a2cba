import { h } from 'preact';
import { useState } from 'preact/hooks';
import { ask, byId, has } from './api.js';
import { html, useLatest } from './base.js';
import { Bulk, choiceBox, useSelection } from './bulk.js';
import { useFeed } from './feed.js';
import { pathWith, useForm, withTexts } from './form.js';
import { ago, card, emptyState, feedEnd } from './parts.js';

// The webhooks that were not delivered, their delivery once more, and a test of a receiver.

/** @import { BulkAction, FailedWebhook, FeedOptions, Field, Navigate, Schemas, Visit } from './types.ts' */

const testLookMs = 500;

/** Of a receiver, so many pages are looked through for its first webhook. */
const pagesMax = 20;

/** The host that a webhook goes to. @param {{ url: string }} failed */
const receiverOf = ({ url }) => (URL.canParse(url) ? new URL(url).host : url);

/** The webhooks of a receiver, or of all. @param {string} receiver @returns {FeedOptions<FailedWebhook>} */
const listOf = (receiver) => ({
  async read({ limit, ...page }, signal) {
    /** @type {FailedWebhook[]} */
    const items = [];
    let query = { limit, ...page };
    for (let pages = 0; ; pages += 1) {
      const { callbacks, next_cursor: cursor } = await ask((http) =>
        http.GET('/api/callbacks', { params: { query }, signal }),
      );
      const wanted = callbacks.filter((each) => receiver === '' || receiverOf(each) === receiver);
      items.push(...wanted.map((each) => ({ ...each, created_at: each.failed_at })));
      if (items.length > 0 || cursor === null || pages === pagesMax) return { items, cursor };
      query = { limit, cursor };
    }
  },
  idOf: (failed) => failed.job_id,
  pageSize: 100,
  polledItems: 50,
  // Of one receiver several pages may be looked through.
  pollMs: receiver === '' ? 5000 : 30_000,
});

/** Every webhook of a receiver up to `max`. @param {string} receiver @param {number} max @param {AbortSignal} signal */
async function allOf(receiver, max, signal) {
  const { read } = listOf(receiver);
  /** @type {FailedWebhook[]} */
  const found = [];
  /** @type {string | null | undefined} */
  let cursor;
  while (cursor !== null && found.length < max) {
    const page = await read({ limit: 100, ...(cursor && { cursor }) }, signal);
    found.push(...page.items);
    cursor = page.cursor;
  }
  return found;
}

/** @param {Visit} visit */
export function WebhooksView({ query, navigate }) {
  const [receiver] = useState(() => query.get('receiver') ?? '');
  const feed = useFeed(listOf(receiver));
  const { chosen, toggle, clear } = useSelection();
  const [sent, setSent] = useState(/** @type {ReadonlySet<string>} */ (new Set()));
  // What was sent again is in the list once more if that failed too: as a later failure.
  const failed = feed.items.filter((each) => !sent.has(keyOf(each)));
  const wanted = failed.filter(({ job_id: id }) => chosen.size === 0 || chosen.has(id));
  /** @type {BulkAction} */
  const again = {
    label: chosen.size === 0 ? 'Deliver all again' : `Deliver ${wanted.length} again`,
    title: (count) => `Deliver ${count} webhooks again?`,
    text: 'Each gets a new series of attempts, with the same bytes.',
    button: 'Deliver them',
    items: async (max, signal) => (chosen.size === 0 ? await allOf(receiver, max, signal) : wanted),
    act: async ({ job_id: id }) => {
      await ask((http) => http.POST('/api/jobs/{id}/callbacks/redeliver', byId(id)));
      setSent((before) => new Set([...before, ...failed.filter((each) => each.job_id === id).map(keyOf)]));
    },
  };
  return html`<div class="view page">
    <header class="page-head title-line"><h1>Webhooks</h1></header>
    <div class="stack">
      ${has('POST /api/callbacks/test') && h(TestCard, {})}
      ${card(
        'Not delivered',
        { class: 'failed-webhooks', actions: h(Bulk, { actions: failed.length === 0 ? [] : [again], onDone: clear }) },
        (receiver !== '' || failed.length > 0) && receiverForm({ receiver, failed, navigate }),
        html`<ul class="job-list" aria-label="Webhooks that were not delivered, the latest first">
          ${failed.map((each) => rowOf(each, chosen.has(each.job_id), (isOn) => toggle([each.job_id], isOn)))}
        </ul>`,
        feedEnd(feed, receiver === '' ? noFailures : noneOfReceiver),
      )}
    </div>
  </div>`;
}

/** @param {FailedWebhook} failed */
const keyOf = ({ job_id: id, failed_at: at }) => `${id} ${at}`;

/** @param {{ receiver: string, failed: readonly FailedWebhook[], navigate: Navigate }} props */
function receiverForm({ receiver, failed, navigate }) {
  const names = [...new Set([...(receiver === '' ? [] : [receiver]), ...failed.map(receiverOf)])].toSorted();
  return html`<form class="filters" aria-label="Filter">
    <label class="field inline"><span>Receiver</span>
      <select name="receiver" onChange=${withTexts((texts) => navigate(pathWith('/webhooks', texts)))}>
        <option value="">Every receiver</option>
        ${names.map((name) => html`<option value=${name} selected=${name === receiver}>${name}</option>`)}
      </select></label>
  </form>`;
}

const noneOfReceiver = () =>
  emptyState(
    'Every webhook to this receiver was delivered',
    'Choose another receiver, or all of them.',
    html`<a class="button" href="#/webhooks">Every receiver</a>`,
  );

const noFailures = () => emptyState('Every webhook was delivered', 'One whose last attempt fails is shown here.');

/** @param {FailedWebhook} failed @param {boolean} isChosen @param {(isOn: boolean) => void} onChoice */
function rowOf({ job_id: id, hash, url, failed_at: at, attempts, status_code: status, error }, isChosen, onChoice) {
  const reason = error ?? (status === null ? 'no answer' : `HTTP ${status}`);
  return html`<li key=${id}>
    ${choiceBox(`Choose the webhook of ${hash}`, isChosen, onChoice)}
    <span class="webhook-of"><a class="break" href=${`#/jobs/${id}`}>${hash}</a>
      <code class="break soft">${url}</code></span>
    <span class="fault">${reason}</span>
    <span class="soft">${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}, ${ago(at)}</span>
  </li>`;
}

/** @type {readonly Field[]} */
const fields = [['url', 'Address', '/url', '', { placeholder: 'https://example.com/hooks/media', type: 'url' }]];

function TestCard() {
  const begin = useLatest();
  const form = useForm(fields);
  const [test, setTest] = useState(/** @type {Schemas['CallbackTest'] | null} */ (null));
  const send = async (/** @type {AbortSignal} */ signal) => {
    setTest(null);
    let latest = await ask((http) => http.POST('/api/callbacks/test', { body: { url: form.text('url') } }));
    while (latest.status === 'pending' && !signal.aborted) {
      setTest(latest);
      await new Promise((resolve) => setTimeout(resolve, testLookMs));
      const { event_id: id } = latest;
      latest = await ask((http) => http.GET('/api/callbacks/test/{id}', { ...byId(id), signal }));
    }
    if (!signal.aborted) setTest(latest);
  };
  const onSubmit = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!form.isComplete()) return;
    const signal = begin();
    void send(signal).catch((problem) => !signal.aborted && form.refuse(problem));
  };
  return card(
    'Try a receiver',
    { class: 'test' },
    html`<p class="soft">The address gets one signed event, <code>webhook.test</code>.</p>`,
    html`<form ref=${form.form} class="line-form" novalidate onSubmit=${onSubmit}>
      ${fields.map((field) => form.field(field))}
      <button type="submit" class="button" disabled=${test?.status === 'pending'}>Send a test</button>
    </form>`,
    form.summary,
    html`<p role="status" data-status=${test?.status ?? ''}>${test && outcomeOf(test)}</p>`,
  );
}

/** @param {Schemas['CallbackTest']} test */
function outcomeOf({ status, status_code: code, error, duration_ms: ms }) {
  if (status === 'pending') return 'It is being sent …';
  if (status === 'sent') return `Delivered: HTTP ${code} after ${ms} ms.`;
  return `Not delivered: ${error ?? 'no answer'}.`;
}

import { ask, byId, session } from './api.js';
import { html, useLoaded } from './base.js';
import { announce, confirmation } from './dialogs.js';
import { dateTimeText } from './format.js';
import { action, ago, card, emptyState, isBusy, tableOf, whenLoaded } from './parts.js';

// The named API keys, for administrators: what each may do, and the button that revokes it. A session makes no keys.

/** @import { Schemas } from './types.ts' */

const pageSize = 100;
const columns = ['Name', 'Rights', 'Bounds', 'Expires', 'Last used', 'Action'];
const howToMake = html`<p class="soft foot">
  To make a key for the media of one prefix, run${' '}
  <code>reelwright keys make NAME --right read --right submit --hash-prefix PREFIX</code>. It is printed once.
</p>`;

/** Every key, by name. @param {AbortSignal} signal */
async function readKeys(signal) {
  /** @type {Schemas['Key'][]} */
  const keys = [];
  /** @type {string | null} */
  let cursor = null;
  do {
    const query = { limit: pageSize, ...(cursor === null ? {} : { cursor }) };
    /** @type {Schemas['KeyList']} */
    const page = await ask((http) => http.GET('/api/keys', { params: { query }, signal }));
    keys.push(...page.keys);
    cursor = page.next_cursor;
  } while (cursor !== null);
  return keys;
}

export function KeysView() {
  const loaded = useLoaded(readKeys, []);
  return html`<div class="view page">
    <header class="page-head title-line"><h1>Keys</h1></header>
    <div class="stack" aria-busy=${isBusy(loaded)}>
      ${whenLoaded(loaded, (keys) => (keys.length === 0 ? none : [keysCard(keys, loaded.reload), howToMake]))}
    </div>
  </div>`;
}

const none = emptyState(
  'No named keys',
  'Programs and people use a key of API_KEY, which may do everything.',
  howToMake,
);

/** @param {Schemas['Key'][]} keys @param {() => Promise<unknown>} reload */
function keysCard(keys, reload) {
  const rows = keys.map((key) => [
    html`${key.name} <code>${key.key_id}</code>`,
    key.rights.join(', '),
    boundsOf(key),
    key.expires_at === null ? 'never' : dateTimeText(key.expires_at),
    key.last_used_at === null ? 'never' : ago(key.last_used_at),
    key.origin === 'file'
      ? 'from a file'
      : action('Revoke', () => revoke(key, reload), 'small', `revoke-${key.key_id}`),
  ]);
  return card('All named keys', {}, tableOf('All named keys', columns, rows));
}

/** The bounds of a key in words; '' where it has none. @param {Schemas['Key']} key */
function boundsOf({ hash_prefix: hash, source_prefix: source, profiles, priority_max: priority }) {
  return [
    ...(hash === null ? [] : [`hashes ${hash}…`]),
    ...(source === null ? [] : [`sources ${source}…`]),
    ...(profiles === null ? [] : [`profiles ${profiles.join(', ')}`]),
    ...(priority === 0 ? [] : [`priority up to ${priority}`]),
  ].join('; ');
}

/** @param {Schemas['Key']} key @param {() => Promise<unknown>} reload */
async function revoke({ key_id: id, name }, reload) {
  const isOwn = session()?.key_id === id ? ' This session is of this key and ends too.' : '';
  const text = `Within five seconds every server refuses it, and its sessions end. It cannot be brought back.${isOwn}`;
  if (!(await confirmation({ title: `Revoke ${name}?`, text, action: 'Revoke the key' }))) return;
  await ask((http) => http.DELETE('/api/keys/{id}', byId(id)));
  announce(`${name} was revoked.`);
  await reload();
}

import { h, render } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { has, may, resume, root, session, signIn, signOut, statusOf, textOf, whenSignedOut } from './api.js';
import { html } from './base.js';
import { announce, closeDialogs, Dialog, Toasts } from './dialogs.js';
import { addFiles, chosenOptions, stopFiles, useDrop } from './dropped.js';
import { HomeView } from './home-view.js';
import { ImagesView } from './images-view.js';
import { JobView } from './job-view.js';
import { JobsView } from './jobs-view.js';
import { KeysView } from './keys-view.js';
import { MediaView } from './media-view.js';
import { MediumView } from './medium-view.js';
import { PoolsView } from './pools-view.js';
import { ProfileView } from './profile-view.js';
import { ProfilesView } from './profiles-view.js';
import { Reach } from './reach.js';
import { RolloutForm } from './rollout-form.js';
import { RolloutView } from './rollout-view.js';
import { RolloutsView } from './rollouts-view.js';
import { SubmitView } from './submit-view.js';
import { UsageView } from './usage-view.js';
import { WebhooksView } from './webhooks-view.js';

// The console: the sign-in, and one view at a time by the fragment of the address (`#/jobs?status=failed`).

/** @import { ComponentChildren, Place, Shown, VNode, Visit } from './types.ts' */

const tabs = /** @type {const} */ ([
  ['home', 'Overview', '/', 'GET /api/overview'],
  ['media', 'Media', '/media', null],
  ['jobs', 'Jobs', '/jobs', null],
  ['new', 'Submit', '/new', null],
  ['images', 'Images', '/images', null],
  ['webhooks', 'Webhooks', '/webhooks', 'GET /api/callbacks'],
  ['pools', 'Pools', '/pools', 'GET /api/pools'],
  ['rollouts', 'Rollouts', '/rollouts', 'GET /api/rollouts'],
  ['profiles', 'Profiles', '/profiles', 'GET /api/profiles'],
  ['usage', 'Usage', '/usage', 'GET /api/usage'],
  ['keys', 'Keys', '/keys', 'GET /api/keys'],
]);

/** Whether the server has what a tab shows, and the session the right. @param {string} tab @param {string | null} route */
const isShown = (tab, route) => (route === null || has(route)) && (tab !== 'keys' || may('admin'));

/** The text as it is where it is not encoded. @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The view of an address, and the tab that it belongs to. @param {string} path @param {Visit} known @returns {Shown} */
function shownAt(path, known) {
  const [, name = '', id] = path.split('/');
  if (name === 'jobs' && id) return { tab: 'jobs', title: 'Job', view: h(JobView, { ...known, id }) };
  if (name === 'jobs') return { tab: 'jobs', title: 'Jobs', view: h(JobsView, known) };
  if (name === 'media' && id)
    return { tab: 'media', title: decoded(id), view: h(MediumView, { ...known, hash: decoded(id) }) };
  if (name === 'new') return { tab: 'new', title: 'Submit', view: h(SubmitView, known) };
  if (name === 'images') return { tab: 'images', title: 'Images', view: h(ImagesView, known) };
  if (name === '' && has('GET /api/overview')) return { tab: 'home', title: 'Overview', view: h(HomeView, known) };
  return shownToOperators(name, id, known) ?? { tab: 'media', title: 'Media', view: h(MediaView, known) };
}

/**
 * Views of operators: keys, webhooks, usage, pools, rollouts and profiles.
 *
 * @param {string} name @param {string | undefined} id @param {Visit} known @returns {Shown | null}
 */
function shownToOperators(name, id, known) {
  if (name === 'keys') return { tab: name, title: 'Keys', view: h(KeysView, {}) };
  if (name === 'webhooks') return { tab: name, title: 'Webhooks', view: h(WebhooksView, known) };
  if (name === 'pools') return { tab: name, title: 'Pools', view: h(PoolsView, {}) };
  if (name === 'usage') return { tab: name, title: 'Usage', view: h(UsageView, {}) };
  if (name === 'profiles' && id)
    return { tab: name, title: decoded(id), view: h(ProfileView, { profile: decoded(id) }) };
  if (name === 'profiles') return { tab: name, title: 'Profiles', view: h(ProfilesView, {}) };
  if (name === 'check') return { tab: 'profiles', title: 'Profile', view: h(ProfileView, { profile: null }) };
  if (name !== 'rollouts') return null;
  if (id === 'new') return { tab: name, title: 'Start a rollout', view: h(RolloutForm, known) };
  if (id) return { tab: name, title: 'Rollout', view: h(RolloutView, { id }) };
  return { tab: name, title: 'Rollouts', view: h(RolloutsView, {}) };
}

/** @param {string} hash */
const pathOf = (hash) => hash.slice(1).split('?')[0] ?? '';

/** The name of the field of the view that has the focus; null for none. */
const focusedName = () => document.activeElement?.closest('#main [name]')?.getAttribute('name') ?? null;

/** The place that the address names; `navigate` leads to another one, or to the same once more. */
function usePlace() {
  const [place, setPlace] = useState(/** @type {Place} */ ({ hash: location.hash, visit: 0, focused: null }));
  const show = () =>
    setPlace((before) => {
      const { hash } = location;
      const focused = pathOf(hash) === pathOf(before.hash) ? focusedName() : null;
      return { hash, visit: before.visit + 1, focused };
    });
  useEffect(() => {
    window.addEventListener('hashchange', show);
    return () => window.removeEventListener('hashchange', show);
  }, []);
  const navigate = (/** @type {string} */ path) => {
    if (location.hash === `#${path}`) show();
    else location.hash = path;
  };
  return { place, navigate };
}

function Console() {
  const [isSignedIn, setSignedIn] = useState(false);
  const [isResuming, setResuming] = useState(true);
  const [reason, setReason] = useState('');
  const { place, navigate } = usePlace();
  whenSignedOut((text) => {
    closeDialogs();
    stopFiles();
    setReason(text);
    setSignedIn(false);
  });
  const enter = async (/** @type {string} */ key) => {
    setReason('');
    try {
      await signIn(key);
      setSignedIn(true);
    } catch (problem) {
      setReason(statusOf(problem) === 401 ? 'This is not an API key of the server.' : textOf(problem));
    }
  };
  const begin = async () => {
    const key = demoKey;
    demoKey = '';
    if (key !== '') await enter(key);
    else if (await resume()) setSignedIn(true);
    setResuming(false);
  };
  useEffect(() => void begin(), []);
  useDrop(isSignedIn && has('POST /api/uploads'), (files) => {
    if (!isSignedIn || files.length === 0) return;
    if (!has('POST /api/uploads')) {
      announce('This server takes no uploads.', 'fault');
      return;
    }
    addFiles(files, chosenOptions);
    if (pathOf(location.hash) !== '/new') navigate('/new');
  });

  const query = new URLSearchParams(place.hash.split('?')[1] ?? '');
  const { tab, title, view } = shownAt(pathOf(place.hash), { navigate, query });
  const key = `${place.hash} ${place.visit}`;
  useLayoutEffect(() => {
    document.body.dataset['state'] = isSignedIn ? 'in' : isResuming ? 'resuming' : 'out';
    document.title = isSignedIn ? `${title} · Reelwright` : 'Reelwright';
    closeDialogs();
    if (isSignedIn) focusIn(place.focused);
    else document.getElementById('key')?.focus();
  }, [isSignedIn, isResuming, key]);
  return html`
    ${header(tab, isSignedIn)}
    ${isSignedIn && html`<${Reach} />`}
    <main id="main" tabindex="-1">${isSignedIn && html`<${Held} key=${key}>${view}<//>`}</main>
    <${Entrance} key=${String(isSignedIn)} reason=${reason} enter=${enter} />
    <div class="drop-overlay" aria-hidden="true"><p>Drop files to upload and submit them</p></div>
    <${Dialog} /><${Toasts} />`;
}

/** A view of its own for each visit. @param {{ children: ComponentChildren }} props */
const Held = ({ children }) => html`${children}`;

/** Readers of the page begin with the new view, but who has changed a filter of a list goes on there. @param {string | null} name */
function focusIn(name) {
  for (const link of document.querySelectorAll('#tabs a[aria-current]'))
    link.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  const same = name === null ? null : document.querySelector(`#main [name="${CSS.escape(name)}"]`);
  const target = same instanceof HTMLElement ? same : document.getElementById('main');
  target?.focus({ preventScroll: true });
}

/** @param {Event} event */
function skip(event) {
  event.preventDefault();
  document.getElementById('main')?.focus();
}

/** @param {string} current @param {boolean} isSignedIn */
function header(current, isSignedIn) {
  const links = tabs.map(
    ([tab, text, path, route]) =>
      html`<a href=${`#${path}`} data-tab=${tab} hidden=${!isShown(tab, route)}
        aria-current=${isSignedIn && tab === current ? 'page' : null}>${text}</a>`,
  );
  return html`
    <a class="skip" href="#main" onClick=${skip}>Skip to the content</a>
    <header class="top">
      <a class="brand" href="#/"><img src="../favicon.ico" alt="" width="24" height="24" /> Reelwright</a>
      <nav id="tabs" aria-label="Views">${links}</nav>
      <div class="top-end">
        <span id="drop-hint" class="soft" hidden=${!has('POST /api/uploads')}>Drop files<span> anywhere</span></span>
        <a class="soft-link" href="../docs">API</a>
        <button type="button" class="button small" id="sign-out" title=${`Signed in as ${session()?.key_name}`}
          onClick=${() => void signOut()}>Sign out</button>
      </div>
    </header>`;
}

/** @param {{ reason: string, enter: (key: string) => Promise<void> }} props */
function Entrance({ reason, enter }) {
  const [isEntering, setEntering] = useState(false);
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));
  const onSubmit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setEntering(true);
    const key = input.current?.value.trim() ?? '';
    // The page keeps nothing of it, in the field neither.
    if (input.current !== null) input.current.value = '';
    await enter(key);
    setEntering(false);
    input.current?.focus();
  };
  return html`<main class="entrance">
    <form class="sign-in" id="sign-in" autocomplete="off" onSubmit=${onSubmit}>
      <h1><img src="../favicon.ico" alt="" width="32" height="32" /> Reelwright</h1>
      <p class="soft">The console of <span id="server" class="mono">${root.host}</span></p>
      <label for="key">API key</label>
      <input id="key" ref=${input} type="password" autocomplete="off" spellcheck="false" required
        aria-describedby="key-hint" />
      <p class="hint" id="key-hint">
        Exchanged for a session and not kept. The session ends 15 minutes after the last page of the console is closed,
        and after a day at most. The demo prints an address that signs in.
      </p>
      <p class="fault" id="sign-in-fault" role="alert" hidden=${reason === ''}>${reason}</p>
      <button type="submit" class="button primary" id="sign-in-button" disabled=${isEntering}>Sign in</button>
    </form>
  </main>`;
}

/**
 * The demo on this machine prints an address with its key in the fragment, which browsers send nowhere. It is taken out
 * of the address at once; any other host's is ignored. '' for none.
 */
function takeDemoKey() {
  const { hash } = location;
  if (!hash.startsWith('#key=')) return '';
  history.replaceState(null, '', `${location.pathname}#/`);
  return ['127.0.0.1', 'localhost', '[::1]'].includes(root.hostname) ? hash.slice('#key='.length) : '';
}

let demoKey = takeDemoKey();
const place = document.getElementById('app');
if (place !== null) render(h(Console, {}), place);

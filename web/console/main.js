import { has, root, signIn, signOut, whenSignedOut } from './api.js';
import { announce, closeDialogs, h } from './dom.js';
import { imagesView } from './images-view.js';
import { jobView } from './job-view.js';
import { jobsView } from './jobs-view.js';
import { mediaView } from './media-view.js';
import { mediumView } from './medium-view.js';
import { renewTimes } from './parts.js';
import { poolsView } from './pools-view.js';
import { profileView } from './profile-view.js';
import { profilesView } from './profiles-view.js';
import { rolloutForm } from './rollout-form.js';
import { rolloutView } from './rollout-view.js';
import { rolloutsView } from './rollouts-view.js';
import { submitView } from './submit-view.js';

// The console: the sign-in, and one view at a time by the fragment of the address (`#/jobs?status=failed`).

const element = (id) => document.getElementById(id);
const main = element('main');
let view = null;
let shownPath = '';
let isSignedIn = false;
/** A file that was dropped, for the form. */
let dropped = null;

const navigate = (path) => {
  if (location.hash === `#${path}`) show();
  else location.hash = path;
};

/** The text as it is where it is not encoded. */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** @returns what a view is made of, and the tab that it belongs to */
function viewOf(path, query) {
  const [, name = '', id] = path.split('/');
  const known = { navigate, query };
  if (name === 'jobs' && id) return { tab: 'jobs', title: 'Job', make: () => jobView({ ...known, id }) };
  if (name === 'jobs') return { tab: 'jobs', title: 'Jobs', make: () => jobsView(known) };
  if (name === 'media' && id) {
    const hash = decoded(id);
    return { tab: 'media', title: hash, make: () => mediumView({ ...known, hash }) };
  }
  if (name === 'new') {
    const file = dropped;
    dropped = null;
    return { tab: 'new', title: 'Submit', make: () => submitView({ ...known, file }) };
  }
  const operating = operatingViewOf(name, id, known);
  if (operating !== null) return operating;
  if (name === 'images') return { tab: 'images', title: 'Images', make: () => imagesView(known) };
  return { tab: 'media', title: 'Media', make: () => mediaView(known) };
}

/** Views of operators: pools, rollouts and profiles. */
function operatingViewOf(name, id, known) {
  if (name === 'pools') return { tab: name, title: 'Pools', make: () => poolsView() };
  if (name === 'profiles') {
    const profile = id ? decoded(id) : null;
    if (profile === null) return { tab: name, title: 'Profiles', make: () => profilesView() };
    return { tab: name, title: profile, make: () => profileView({ ...known, profile }) };
  }
  if (name === 'check')
    return { tab: 'profiles', title: 'Profile', make: () => profileView({ ...known, profile: null }) };
  if (name !== 'rollouts') return null;
  if (id === 'new') return { tab: name, title: 'Start a rollout', make: () => rolloutForm(known) };
  if (id) return { tab: name, title: 'Rollout', make: () => rolloutView({ ...known, id }) };
  return { tab: name, title: 'Rollouts', make: () => rolloutsView() };
}

function show() {
  if (!isSignedIn) return;
  closeDialogs();
  const [path, search = ''] = location.hash.slice(1).split('?');
  const focused = path === shownPath && main.contains(document.activeElement) ? document.activeElement.name : undefined;
  shownPath = path;
  const { tab, title, make } = viewOf(path, new URLSearchParams(search));
  view?.destroy();
  view = make();
  main.replaceChildren(view.node);
  document.title = `${title} · Reelwright`;
  for (const link of document.querySelectorAll('#tabs a')) {
    if (link.dataset.tab !== tab) {
      link.removeAttribute('aria-current');
      continue;
    }
    link.setAttribute('aria-current', 'page');
    link.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }
  // Readers of the page begin with the new view, but who has changed a filter of a list goes on there.
  const same = focused ? main.querySelector(`[name="${CSS.escape(focused)}"]`) : null;
  (same ?? main).focus({ preventScroll: true });
}

async function enter(key) {
  const [fault, button] = [element('sign-in-fault'), element('sign-in-button')];
  fault.hidden = true;
  button.disabled = true;
  try {
    await signIn(key);
    isSignedIn = true;
    element('key').value = '';
    document.body.dataset.state = 'in';
    element('drop-hint').hidden = !has('POST /api/uploads');
    for (const link of document.querySelectorAll('#tabs a[data-needs]')) link.hidden = !has(link.dataset.needs);
    show();
  } catch (problem) {
    fault.textContent = problem.status === 401 ? 'This is not an API key of the server.' : problem.message;
    fault.hidden = false;
    element('key').focus();
  } finally {
    button.disabled = false;
  }
}

whenSignedOut((reason) => {
  isSignedIn = false;
  closeDialogs();
  view?.destroy();
  view = null;
  main.replaceChildren();
  document.body.dataset.state = 'out';
  document.title = 'Reelwright';
  element('sign-in-fault').textContent = reason;
  element('sign-in-fault').hidden = reason === '';
  element('key').focus();
});

element('sign-in').addEventListener('submit', (event) => {
  event.preventDefault();
  void enter(element('key').value.trim());
});
element('sign-out').addEventListener('click', () => signOut());
window.addEventListener('hashchange', show);
// Its address is for pages without this script: here a fragment names a view.
document.querySelector('.skip').addEventListener('click', (event) => {
  event.preventDefault();
  main.focus();
});
setInterval(renewTimes, 5000);

let dragged = 0;
const setDragged = (count) => {
  dragged = Math.max(0, count);
  document.body.toggleAttribute('data-dragged', dragged > 0 && isSignedIn && has('POST /api/uploads'));
};
/** Text that is dragged into a field is the browser's. */
const onFiles = (name, run) =>
  window.addEventListener(name, (event) => event.dataTransfer.types.includes('Files') && run(event));
onFiles('dragenter', () => setDragged(dragged + 1));
onFiles('dragleave', () => setDragged(dragged - 1));
onFiles('dragover', (event) => event.preventDefault());
onFiles('drop', (event) => {
  event.preventDefault();
  setDragged(0);
  const [file] = event.dataTransfer.files;
  if (!isSignedIn || file === undefined) return;
  if (!has('POST /api/uploads')) {
    announce('This server takes no uploads.', 'fault');
    return;
  }
  if (view.takeFile) {
    view.takeFile(file);
    return;
  }
  dropped = file;
  navigate('/new');
});

/**
 * The demo on this machine prints an address with its key in the fragment, which browsers send nowhere. It is taken out
 * of the address at once; any other host's is ignored.
 */
function takeDemoKey() {
  const given = /^#key=([\w-]{16,})$/.exec(location.hash)?.[1];
  if (location.hash.startsWith('#key=')) history.replaceState(null, '', `${location.pathname}#/media`);
  return ['127.0.0.1', 'localhost', '[::1]'].includes(root.hostname) ? given : undefined;
}

const demoKey = takeDemoKey();
if (demoKey) void enter(demoKey);
else element('key').focus();
element('server').textContent = root.host;
document.body.append(h('div', { id: 'toasts', role: 'status', 'aria-live': 'polite' }));

import { api, has } from './api.js';
import { announce, h } from './dom.js';
import { bytesText, jobTypes } from './format.js';
import { field, showFaults } from './form.js';
import { card } from './parts.js';
import { hashFor, uploadFile } from './upload.js';

// The form that submits a job. What is wrong stands at its field, as the server says it.

const typeTexts = {
  'video:full': 'Stream, cover and preview of a video',
  'video:transcode': 'Stream of a video (HLS and DASH)',
  'video:cover': 'Cover image of a video',
  'video:preview': 'Short animated preview of a video',
  'image:thumbnail': 'Sizes and formats of an image',
};

const optionExamples = {
  'video:full': { transcode: { encrypt: true } },
  'video:transcode': { encrypt: true },
  'video:cover': {},
  'video:preview': {},
  'image:thumbnail': { outputs: [{ variant: 'thumb', width: 300, format: 'webp' }] },
};

/** The types that make a stream, and so have a profile. */
const streamTypes = ['video:full', 'video:transcode'];

/** A choice of the profiles that there are; the rules of the service choose one until a person does. */
function profileChoice(signal) {
  const select = h('select', { name: 'profile' }, h('option', { value: '' }, 'As the rules choose'));
  if (has('GET /api/profiles'))
    void api.profiles(signal).then(
      ({ profiles }) => select.append(...profiles.map(({ name }) => h('option', { value: name }, name))),
      () => undefined,
    );
  return select;
}

/** `file`: one that was dropped on another view. @returns `{node, destroy()}` */
export function submitView({ navigate, file }) {
  const stopping = new AbortController();
  const type = h(
    'select',
    { name: 'type' },
    jobTypes.map((name) => h('option', { value: name }, `${name}: ${typeTexts[name].toLowerCase()}`)),
  );
  const plain = { autocomplete: 'off', spellcheck: 'false' };
  const fields = {
    type: field({ label: 'Type', input: type, pointers: ['/type'] }),
    source: field({
      label: 'Source',
      hint: 'The key of an object in the source bucket.',
      input: h('input', { name: 'source', placeholder: 'uploads/movie.mp4', ...plain }),
      pointers: ['/source'],
    }),
    hash: field({
      label: 'Media hash',
      hint: 'Names the results: letters, digits, and . _ ~ -',
      input: h('input', { name: 'hash', placeholder: 'movie-1', ...plain }),
      pointers: ['/hash'],
    }),
    options: field({
      label: 'Options (JSON)',
      hint: 'Empty: the defaults. The API reference lists the options of each type.',
      input: h('textarea', { name: 'options', rows: 6, class: 'mono', ...plain }),
      pointers: ['/options'],
    }),
    profile: field({
      label: 'Profile',
      hint: 'How its stream is encoded.',
      input: profileChoice(stopping.signal),
      pointers: ['/X-Profile'],
    }),
    callback: field({
      label: 'Webhook address',
      hint: 'Optional: a signed POST when the job has ended.',
      input: h('input', {
        name: 'callback_url',
        type: 'url',
        placeholder: 'https://example.com/hooks/media',
        ...plain,
      }),
      pointers: ['/callback_url'],
    }),
  };
  const all = Object.values(fields);
  const summary = h('p', { class: 'fault', role: 'alert', hidden: true });
  const submit = h('button', { type: 'submit', class: 'button primary' }, 'Submit the job');

  let example = '';
  const showOptions = () => {
    fields.profile.node.hidden = !has('GET /api/profiles') || !streamTypes.includes(type.value);
    const { input } = fields.options;
    // What a person wrote stays.
    if (input.value.trim() !== '' && input.value !== example) return;
    const options = optionExamples[type.value];
    example = Object.keys(options).length === 0 ? '' : JSON.stringify(options, null, 2);
    input.value = example;
  };
  let isTypeChosen = false;
  type.addEventListener('change', () => {
    isTypeChosen = true;
    showOptions();
  });
  showOptions();

  const fail = (text, faults = []) => {
    const rest = showFaults(all, faults);
    const shown = faults.length > 0 && rest.length === 0 ? 'Correct the marked fields.' : [text, ...rest].join(' ');
    summary.textContent = shown;
    summary.hidden = false;
  };
  const readBody = () => {
    const text = fields.options.input.value.trim();
    const callback = fields.callback.input.value.trim();
    const options = text === '' ? {} : { options: JSON.parse(text) };
    return {
      type: type.value,
      hash: fields.hash.input.value.trim(),
      source: fields.source.input.value.trim(),
      ...options,
      ...(callback === '' ? {} : { callback_url: callback }),
    };
  };
  const onSubmit = async (event) => {
    event.preventDefault();
    summary.hidden = true;
    showFaults(all, []);
    let body;
    try {
      body = readBody();
    } catch (error) {
      fail('', [{ pointer: '/options', detail: `this is not JSON: ${error.message}` }]);
      return;
    }
    submit.disabled = true;
    try {
      const {
        job_id: id,
        status,
        notice,
      } = await api.submit(body, fields.profile.node.hidden ? '' : fields.profile.input.value);
      announce(status === 'queued' ? 'The job was submitted.' : 'An equal job exists.');
      // Such as: the equal job has another profile than this request names.
      if (notice) announce(notice.detail);
      navigate(`/jobs/${id}`);
    } catch (problem) {
      const isSource = problem.code === 'source_missing' || problem.code === 'source_too_large';
      fail(problem.message, isSource ? [{ pointer: '/source', detail: problem.message }] : problem.faults);
    } finally {
      submit.disabled = false;
    }
  };

  let madeHash = '';
  const onUploaded = (source, { name, type: contentType }) => {
    fields.source.input.value = source;
    const hash = fields.hash.input;
    // The hash of an earlier file would name another media.
    if (hash.value.trim() === '' || hash.value === madeHash) {
      madeHash = hashFor(name);
      hash.value = madeHash;
    }
    // A cover needs a video, so audio is a stream alone.
    const typeOf = { image: 'image:thumbnail', audio: 'video:transcode' };
    if (!isTypeChosen) type.value = typeOf[contentType.split('/')[0]] ?? 'video:full';
    showOptions();
    if (!form.contains(document.activeElement)) submit.focus();
  };
  const upload = has('POST /api/uploads') ? uploadCard({ onUploaded, signal: stopping.signal }) : null;
  const form = h(
    'form',
    { class: 'form', novalidate: true, onsubmit: onSubmit },
    all.map(({ node }) => node),
    summary,
    submit,
  );
  const node = h(
    'div',
    { class: 'view page narrow' },
    h('header', { class: 'page-head' }, h('h1', {}, 'Submit a job')),
    h('div', { class: 'stack' }, upload?.node, card('Job', {}, form)),
  );
  if (file) void upload?.take(file);
  return { node, takeFile: upload?.take, destroy: () => stopping.abort() };
}

/** @returns `{node, take(file)}`; a file that is taken ends the upload of another one */
function uploadCard({ onUploaded, signal }) {
  const state = h('p', { class: 'soft', role: 'status' }, 'Drop a file anywhere on this page, or choose one.');
  const bar = h('progress', { class: 'upload-bar', max: 1, value: 0, 'aria-label': 'Upload', hidden: true });
  const input = h('input', { type: 'file', 'aria-label': 'File to upload', accept: 'video/*,audio/*,image/*' });
  let upload = new AbortController();
  const take = async (chosen) => {
    upload.abort();
    const own = new AbortController();
    upload = own;
    const ending = AbortSignal.any([signal, own.signal]);
    input.disabled = true;
    bar.hidden = false;
    const began = Date.now();
    const onProgress = (share) => {
      bar.value = share;
      const rate = (share * chosen.size) / Math.max(0.5, (Date.now() - began) / 1000);
      state.textContent = `${chosen.name}: ${Math.round(share * 100)} % of ${bytesText(chosen.size)}, ${bytesText(rate)} a second`;
    };
    try {
      const source = await uploadFile(chosen, { signal: ending, onProgress });
      state.textContent = `${chosen.name} is uploaded. Check the fields below, then submit the job.`;
      onUploaded(source, chosen);
    } catch (problem) {
      const texts = (problem.faults ?? []).map(({ pointer, detail }) => `${pointer.slice(1)} ${detail}.`);
      if (!ending.aborted) state.textContent = ['The upload failed.', problem.message, ...texts].join(' ');
    } finally {
      if (upload === own) input.disabled = false;
    }
  };
  input.addEventListener('change', () => input.files[0] && void take(input.files[0]));
  return { node: card('Upload', {}, h('div', { class: 'upload' }, input, bar, state)), take };
}

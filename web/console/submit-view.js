import { h } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ReelwrightError } from '#clients/typescript/src/errors.ts';
import { ask, faultsOf, findProfiles, has, textOf } from './api.js';
import { html, useLoaded, useStopping } from './base.js';
import { announce } from './dialogs.js';
import { plainText, useForm } from './form.js';
import { bytesText, jobTypes } from './format.js';
import { card } from './parts.js';
import { hashFor, uploadFile } from './upload.js';

// The form that submits a job. What is wrong stands at its field, as the server says it.

/** @import { Field, JobType, MakeInput, Submission, SubmitValues, Visit } from './types.ts' */

/** @type {Record<JobType, string>} */
const typeTexts = {
  'video:full': 'stream, cover and preview of a video',
  'video:transcode': 'stream of a video (HLS and DASH)',
  'video:cover': 'cover image of a video',
  'video:preview': 'short animated preview of a video',
  'image:thumbnail': 'sizes and formats of an image',
};

/** @type {Record<JobType, object>} */
const optionExamples = {
  'video:full': { transcode: { encrypt: true } },
  'video:transcode': { encrypt: true },
  'video:cover': {},
  'video:preview': {},
  'image:thumbnail': { outputs: [{ variant: 'thumb', width: 300, format: 'webp' }] },
};

/** The types that make a stream, and so have a profile. @type {JobType[]} */
const streamTypes = ['video:full', 'video:transcode'];

/** @param {JobType} type */
function exampleOf(type) {
  const options = optionExamples[type];
  return Object.keys(options).length === 0 ? '' : JSON.stringify(options, null, 2);
}

/** A cover needs a video, so audio is a stream alone. @param {string} contentType @returns {JobType} */
function typeFor(contentType) {
  const [kind] = contentType.split('/');
  return kind === 'image' ? 'image:thumbnail' : kind === 'audio' ? 'video:transcode' : 'video:full';
}

const optionsHint = 'Empty: the defaults. The API reference lists the options of each type.';
const example = { placeholder: 'https://example.com/hooks/media', type: 'url' };
/** @type {readonly (Field & { 0: keyof SubmitValues })[]} */
const allFields = [
  ['type', 'Type', '/type'],
  ['source', 'Source', '/source', 'The key of an object in the source bucket.', { placeholder: 'uploads/movie.mp4' }],
  ['hash', 'Media hash', '/hash', 'Names the results: letters, digits, and . _ ~ -', { placeholder: 'movie-1' }],
  ['options', 'Options (JSON)', '/options', optionsHint],
  ['profile', 'Profile', '/X-Profile', 'How its stream is encoded.'],
  ['callback_url', 'Webhook address', '/callback_url', 'Optional: a signed POST when the job has ended.', example],
];
/** @param {JobType} type */
const hasProfile = (type) => has('GET /api/profiles') && streamTypes.includes(type);

const firstOptions = exampleOf('video:full');
/** @type {SubmitValues} */
const firstValues = { type: 'video:full', options: firstOptions, source: '', hash: '', profile: '', callback_url: '' };

/** With another type the example of options changes; what a person wrote stays. @param {SubmitValues} values @param {JobType} type */
const withType = (values, type) => ({
  ...values,
  type,
  options: ['', exampleOf(values.type)].includes(values.options.trim()) ? exampleOf(type) : values.options,
});

/** @param {SubmitValues} values @returns {Submission} @throws SyntaxError for options that are not JSON */
function submissionOf({ type, hash, source, options, callback_url }) {
  const callback = callback_url.trim();
  const body = {
    type,
    hash: hash.trim(),
    source: source.trim(),
    ...(options.trim() === '' ? {} : { options: JSON.parse(options) }),
    ...(callback === '' ? {} : { callback_url: callback }),
  };
  return body;
}

/** `file`: one that was dropped on the page. @param {Visit} visit */
export function SubmitView({ navigate, file }) {
  const [values, setValues] = useState(firstValues);
  const fields = allFields.filter(([name]) => name !== 'profile' || hasProfile(values.type));
  const form = useForm(fields);
  const [isSending, setSending] = useState(false);
  const isTypeChosen = useRef(false);
  const madeHash = useRef('');
  const { data: known } = useLoaded(findProfiles, []);

  const submit = async () => {
    form.show([]);
    setSending(true);
    try {
      const body = submissionOf(values);
      const header = hasProfile(values.type) && values.profile !== '' ? { 'X-Profile': values.profile } : {};
      const {
        job_id: id,
        status,
        ...answer
      } = await ask((http) => http.POST('/api/jobs', { body, params: { header } }));
      announce(status === 'queued' ? 'The job was submitted.' : 'This was submitted before; here is that job.');
      // Such as: the equal job has another profile than this request names.
      if ('notice' in answer && answer.notice) announce(answer.notice.detail);
      navigate(`/jobs/${id}`);
    } catch (problem) {
      const code = problem instanceof ReelwrightError ? problem.code : '';
      if (problem instanceof SyntaxError)
        form.show(
          [{ pointer: '/options', detail: `this is not JSON: ${problem.message}` }],
          'The options are not JSON.',
        );
      else if (code === 'source_missing' || code === 'source_too_large')
        form.show([{ pointer: '/source', detail: textOf(problem) }], textOf(problem));
      else form.refuse(problem);
    } finally {
      setSending(false);
    }
  };
  const onUploaded = (/** @type {string} */ source, /** @type {File} */ { name, type }) => {
    const made = hashFor(name);
    setValues((before) => {
      // The hash of an earlier file would name another media.
      const isFree = before.hash.trim() === '' || before.hash === madeHash.current;
      if (isFree) madeHash.current = made;
      const typed = isTypeChosen.current ? before : withType(before, typeFor(type));
      return { ...typed, source, hash: isFree ? made : before.hash };
    });
    const element = form.form.current;
    if (element?.contains(document.activeElement)) return;
    element?.querySelector('button')?.focus();
  };
  const onSubmit = (/** @type {Event} */ event) => {
    event.preventDefault();
    void submit();
  };
  const onInput = (/** @type {Event} */ { target }) => {
    const isField =
      target instanceof HTMLInputElement ||
      target instanceof HTMLSelectElement ||
      target instanceof HTMLTextAreaElement;
    if (!isField) return;
    const { name, value } = target;
    const type = name === 'type' ? jobTypes.find((each) => each === value) : undefined;
    if (type !== undefined) isTypeChosen.current = true;
    setValues((before) => (type === undefined ? { ...before, [name]: value } : withType(before, type)));
  };
  return html`<div class="view page narrow">
    <header class="page-head"><h1>Submit a job</h1></header>
    <div class="stack">
      ${has('POST /api/uploads') && h(UploadCard, { onUploaded, file })}
      ${card(
        'Job',
        {},
        html`<form ref=${form.form} class="form" novalidate onSubmit=${onSubmit} onInput=${onInput}>
          ${fields.map((field) => form.field(field, inputOf(field[0], values, known?.profiles ?? [])))}
          ${form.summary}
          <button type="submit" class="button primary" disabled=${isSending}>Submit the job</button>
        </form>`,
      )}
    </div>
  </div>`;
}

/** @param {keyof SubmitValues} name @param {SubmitValues} values @param {{ name: string }[]} profiles @returns {MakeInput} */
function inputOf(name, values, profiles) {
  const value = values[name];
  if (name === 'options')
    return (attributes) =>
      html`<textarea ...${plainText} ...${attributes} rows="6" class="mono" value=${value}></textarea>`;
  if (name !== 'type' && name !== 'profile')
    return (attributes) => html`<input ...${plainText} ...${attributes} value=${value} />`;
  const options =
    name === 'type'
      ? jobTypes.map((type) => html`<option value=${type}>${type}: ${typeTexts[type]}</option>`)
      : ['', ...profiles.map((profile) => profile.name)].map(
          (text) => html`<option value=${text}>${text === '' ? 'As the rules choose' : text}</option>`,
        );
  return (attributes) => html`<select ...${attributes} value=${value}>${options}</select>`;
}

const firstState = 'Drop a file anywhere on this page, or choose one.';

/**
 * A file that is taken ends the upload of another one.
 *
 * @param {{ onUploaded: (source: string, file: File) => void, file: File | null }} props
 */
function UploadCard({ onUploaded, file }) {
  const signal = useStopping();
  const upload = useRef(new AbortController());
  const uploaded = useRef(onUploaded);
  uploaded.current = onUploaded;
  const [state, setState] = useState(firstState);
  const [share, setShare] = useState(/** @type {number | null} */ (null));
  const [isRunning, setRunning] = useState(false);

  const take = async (/** @type {File} */ chosen) => {
    upload.current.abort();
    const own = new AbortController();
    upload.current = own;
    const ending = AbortSignal.any([signal, own.signal]);
    setRunning(true);
    setShare(0);
    const began = Date.now();
    const onProgress = (/** @type {number} */ sent) => {
      if (ending.aborted) return;
      setShare(sent);
      const rate = (sent * chosen.size) / Math.max(0.5, (Date.now() - began) / 1000);
      const done = `${Math.round(sent * 100)} % of ${bytesText(chosen.size)}`;
      setState(`${chosen.name}: ${done}, ${bytesText(rate)} a second`);
    };
    try {
      const { source } = await uploadFile(chosen, { signal: ending, onProgress });
      if (ending.aborted) return;
      setState(`${chosen.name} is uploaded. Check the fields below, then submit the job.`);
      uploaded.current(source, chosen);
    } catch (problem) {
      if (ending.aborted) return;
      const texts = faultsOf(problem).map(({ pointer, detail }) => `${pointer.slice(1)} ${detail}.`);
      setState(['The upload failed.', textOf(problem), ...texts].join(' '));
    } finally {
      if (upload.current === own) setRunning(false);
    }
  };
  useEffect(() => {
    if (file !== null) void take(file);
  }, [file]);
  const choose = (/** @type {Event} */ { currentTarget }) => {
    const chosen = currentTarget instanceof HTMLInputElement ? currentTarget.files?.[0] : undefined;
    if (chosen !== undefined) void take(chosen);
  };
  return card(
    'Upload',
    {},
    html`<div class="upload">
      <input type="file" aria-label="File to upload" accept="video/*,audio/*,image/*" disabled=${isRunning}
        onChange=${choose} />
      <progress class="upload-bar" max="1" value=${share ?? 0} aria-label="Upload" hidden=${share === null}></progress>
      <p class="soft" role="status">${state}</p>
    </div>`,
  );
}
